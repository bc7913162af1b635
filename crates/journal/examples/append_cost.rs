//! Prints what an append costs: CPU time beside wall time, groups and flushes, for 64 runs at once, beside what SQLite
//! itself takes for the same bytes; and how long it takes to claim and read the runs that a dead process left.
//! `cargo run --release -p onecall-journal --example append_cost [-- RUNS STEPS]`

use anyhow::Context;
use onecall_engine::event::{Event, Outcome, What};
use onecall_engine::identity::{RunId, Slot, Timestamp};
use onecall_engine::journal::{Append, Journal, Mark, NewRun, Phase};
use onecall_journal::{MemoryStore, Options, SqliteJournal};
use onecall_workflow::policy::Durability;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const AT_ONCE: u64 = 64;

#[derive(Clone, Copy)]
struct Load {
    runs: u64,
    steps: u64,
    durability: Durability,
    /// The last append ends the run.
    ends: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse().context("RUNS and STEPS are numbers"))
        .collect::<Result<_, _>>()?;
    let runs = numbers.first().copied().unwrap_or(2_000);
    let steps = numbers.get(1).copied().unwrap_or(20);
    let of = |durability| Load {
        runs,
        steps,
        durability,
        ends: true,
    };
    print(&format!(
        "{runs} runs of {steps} appends, {AT_ONCE} at once"
    ));

    let memory = Arc::new(MemoryStore::default().open(now(), Duration::from_secs(10)));
    let floor = measure(&memory, of(Durability::Async)).await?;
    print(&line("memory", &floor, &floor));
    drop(memory);
    let bare = bare(of(Durability::Async))?;
    print(&format!(
        "bare     {:6.2} us CPU an insert of the same bytes, {AT_ONCE} in a transaction, nothing else done",
        bare.cpu_us
    ));

    for (name, durability) in [("async", Durability::Async), ("sync", Durability::Sync)] {
        let folder = tempfile::tempdir_in(".")?;
        let journal = Arc::new(SqliteJournal::open(Options::new(
            folder.path().join("runs.db"),
            now(),
        ))?);
        let cost = measure(&journal, of(durability)).await?;
        let counts = journal.counts();
        print(&line(name, &cost, &floor));
        print(&format!(
            "         {:.2} times the bare insert",
            (cost.cpu_us - floor.cpu_us) / bare.cpu_us
        ));
        print(&format!(
            "         {} groups, {:.1} appends a group, {:.3} flushes an append",
            counts.groups,
            ratio(counts.requests, counts.groups),
            ratio(counts.flushes, counts.requests)
        ));
    }
    print(&resume(of(Durability::Async)).await?);
    Ok(())
}

/// The floor: SQLite alone, one thread, the same bytes in a table and an index like the log's.
fn bare(load: Load) -> anyhow::Result<Cost> {
    let folder = tempfile::tempdir_in(".")?;
    let connection = rusqlite::Connection::open(folder.path().join("bare.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE TABLE log (number INTEGER PRIMARY KEY, run INTEGER, first INTEGER, events BLOB);
         CREATE UNIQUE INDEX log_order ON log (run, first);",
    )?;
    let bytes = serde_json::to_vec(&[ended(1), started(1)])?;
    let (began, cpu) = (Instant::now(), cpu_time());
    for group in 0..load.runs * load.steps / AT_ONCE {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut insert = connection
            .prepare_cached("INSERT INTO log (run, first, events) VALUES (?1, ?2, ?3)")?;
        for run in 0..AT_ONCE {
            let run = group / load.steps * AT_ONCE + run;
            insert.execute(rusqlite::params![run, group % load.steps, bytes])?;
        }
        connection.execute_batch("COMMIT")?;
    }
    let inserts = float(load.runs * load.steps / AT_ONCE * AT_ONCE);
    Ok(Cost {
        cpu_us: cpu_time().saturating_sub(cpu).as_secs_f64() * 1e6 / inserts,
        wall_us: began.elapsed().as_secs_f64() * 1e6 / inserts,
    })
}

/// What the next process does with the runs of a dead one before it can go on with them.
async fn resume(load: Load) -> anyhow::Result<String> {
    let load = Load {
        runs: 1_000,
        ends: false,
        ..load
    };
    let folder = tempfile::tempdir_in(".")?;
    let options = Options::new(folder.path().join("runs.db"), now());
    let left = SqliteJournal::open(options.clone())?;
    for number in 0..load.runs {
        one_run(&left, load, &number.to_string()).await?;
    }
    drop(left);
    let (started, cpu) = (Instant::now(), cpu_time());
    let journal = SqliteJournal::open(options)?;
    let (mut runs, mut events) = (0_u64, 0);
    loop {
        let claimable = journal.claimable(now()).await?;
        if claimable.is_empty() {
            break;
        }
        for run in claimable {
            let claimed = journal.claim(&run, now()).await?;
            events += claimed.map_or(0, |run| run.events.len());
            runs += 1;
        }
    }
    Ok(format!(
        "resume   {runs} runs, {events} events: {} ms wall, {} ms CPU",
        started.elapsed().as_millis(),
        cpu_time().saturating_sub(cpu).as_millis()
    ))
}

struct Cost {
    cpu_us: f64,
    wall_us: f64,
}

fn line(name: &str, cost: &Cost, floor: &Cost) -> String {
    format!(
        "{name:8} {:6.2} us CPU an append ({:.2} above memory), {:6.2} us wall",
        cost.cpu_us,
        cost.cpu_us - floor.cpu_us,
        cost.wall_us
    )
}

async fn measure<J: Journal + 'static>(journal: &Arc<J>, load: Load) -> anyhow::Result<Cost> {
    let (started, cpu) = (Instant::now(), cpu_time());
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|lane| {
            let journal = Arc::clone(journal);
            tokio::spawn(async move {
                for number in 0..load.runs / AT_ONCE {
                    one_run(&*journal, load, &format!("{lane}-{number}")).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    // What is put off, such as compacting runs that have ended, is part of their price.
    while journal.maintain(now()).await? {}
    let appends = float(load.runs / AT_ONCE * AT_ONCE * load.steps);
    Ok(Cost {
        cpu_us: cpu_time().saturating_sub(cpu).as_secs_f64() * 1e6 / appends,
        wall_us: started.elapsed().as_secs_f64() * 1e6 / appends,
    })
}

async fn one_run(journal: &dyn Journal, load: Load, name: &str) -> anyhow::Result<()> {
    let id = RunId::new(name);
    let new = NewRun {
        plan_hash: "plan".to_owned(),
        durability: load.durability,
        mark: mark(Phase::Running),
        ..NewRun::new(id.clone(), "bench", now())
    };
    journal.create(new, vec![started(0)]).await?;
    for step in 1..load.steps {
        let is_last = load.ends && step + 1 == load.steps;
        let append = Append {
            run: id.clone(),
            first: step * 2 - 1,
            events: vec![ended(step), started(step)],
            durability: load.durability,
            mark: mark(if is_last {
                Phase::Completed
            } else {
                Phase::Running
            }),
            at: now(),
        };
        journal.append(append).await?;
    }
    Ok(())
}

fn mark(phase: Phase) -> Mark {
    Mark {
        phase,
        due: Some(now()),
        failure: None,
    }
}

fn started(step: u64) -> Event {
    Event {
        at: now(),
        what: What::AttemptStarted {
            call: slot(step).attempt(0),
            arguments: Arc::new(json!({"query": "a question of some length", "limit": 10})),
            key: format!("run-{step}-0-0123456789abcdef"),
            deadline: Some(now()),
            carried: None,
        },
    }
}

fn ended(step: u64) -> Event {
    let result: Value = json!({
        "content": [{"type": "text", "text": "an answer of some length, such as a title and a link"}],
        "structuredContent": {"title": "a title", "url": "https://example.org/a/page", "score": 0.75},
        "isError": false
    });
    Event {
        at: now(),
        what: What::AttemptEnded {
            call: slot(step).attempt(0),
            outcome: Outcome::Returned(Arc::new(result)),
        },
    }
}

fn slot(step: u64) -> Slot {
    Slot::of_step(u32::try_from(step).unwrap_or(u32::MAX))
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

fn ratio(part: u64, whole: u64) -> f64 {
    float(part) / float(whole.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::print_stdout, reason = "printing is what this program is for")]
fn print(line: &str) {
    println!("{line}");
}
