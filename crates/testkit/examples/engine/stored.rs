//! The same runs with a store: what `async` adds to a step, how often `sync` flushes, how fast runs resume.

use crate::load::{self, Instantly, surroundings};
use crate::table::{Stopwatch, Table, Took, float};
use crate::{Done, Failed, server_runtime};
use onecall_engine::decide::{Input, decide};
use onecall_engine::driver::{Stopped, begin, drive};
use onecall_engine::evaluate::{Evaluator, PlanEvaluator};
use onecall_engine::evolve::evolve;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{Journal, NewRun};
use onecall_engine::state::State;
use onecall_journal::{MemoryStore, Options, SqliteJournal};
use onecall_workflow::plan::Plan;
use onecall_workflow::policy::Durability;
use onecall_workflow::stored::{read_plan, write_plan};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

const AT_ONCE: u64 = 64;
const STEPS: usize = 20;
const ROUNDS: usize = 5;

/// A SQLite store in a folder of its own.
pub(crate) struct Store {
    folder: TempDir,
    journal: Arc<SqliteJournal>,
}

impl Store {
    pub(crate) fn open() -> Result<Self, Failed> {
        let folder = tempfile::tempdir_in(".")?;
        let journal = opened(&folder, load::NOW)?;
        Ok(Self { folder, journal })
    }
}

fn opened(folder: &TempDir, now: Timestamp) -> Result<Arc<SqliteJournal>, Failed> {
    let options = Options::new(folder.path().join("runs.db"), now);
    Ok(Arc::new(SqliteJournal::open(options)?))
}

pub(crate) fn measure(table: &mut Table) -> Done {
    let plan = load::chain(STEPS)?;
    let memory = Arc::new(MemoryStore::default().open(load::NOW, Duration::from_secs(10)));
    let mut floor = driven(&plan, &memory, Durability::Async, 3_200)?;
    let steps = 3_200 * STEPS as u64;

    let mut store = Store::open()?;
    let mut with_async = driven(&plan, &store.journal, Durability::Async, 3_200)?;
    // Neighbours of the machine only ever add to it, so the least counts.
    for _ in 1..ROUNDS {
        let memory = Arc::new(MemoryStore::default().open(load::NOW, Duration::from_secs(10)));
        floor = floor.least(driven(&plan, &memory, Durability::Async, 3_200)?);
        store = Store::open()?;
        with_async = with_async.least(driven(&plan, &store.journal, Durability::Async, 3_200)?);
    }
    table.tell(
        "a step in memory, 64 runs at once",
        floor.cpu_us(steps),
        "us CPU",
    );
    table.at_most(
        "a step: what `async` adds",
        with_async.cpu_us(steps) - floor.cpu_us(steps),
        10.0,
        "us CPU",
    );
    table.tell("  the whole step", with_async.wall_us(steps), "us wall");
    let counts = store.journal.counts();
    let size = float(counts.requests) / float(counts.groups.max(1));
    table.tell("  appends in a transaction", size, "");

    let store = Store::open()?;
    let with_sync = driven(&plan, &store.journal, Durability::Sync, 640)?;
    let counts = store.journal.counts();
    table.at_most(
        "`sync`: flushes a group",
        float(counts.flushes) / float(counts.groups.max(1)),
        1.0,
        "",
    );
    let steps = 640 * STEPS as u64;
    table.tell(
        "`sync`: flushes a step, 64 runs at once",
        float(counts.flushes) / float(steps),
        "",
    );
    table.tell("`sync`: a step", with_sync.cpu_us(steps), "us CPU");
    table.tell("  the same", with_sync.wall_us(steps), "us wall");
    resume(table, &plan)
}

/// Runs in lanes of which each drives one run after the other.
fn driven<J: Journal + 'static>(
    plan: &Arc<Plan>,
    journal: &Arc<J>,
    durability: Durability,
    runs: u64,
) -> Result<Took, Failed> {
    let runtime = server_runtime()?;
    let watch = Stopwatch::start();
    runtime.block_on(async {
        let mut lanes = JoinSet::new();
        for lane in 0..AT_ONCE {
            let (plan, journal) = (Arc::clone(plan), Arc::clone(journal));
            lanes.spawn(async move {
                for number in 0..runs / AT_ONCE {
                    let run = RunId::new(format!("{lane}-{number}"));
                    let journal = Arc::clone(&journal) as Arc<dyn Journal>;
                    let world = Instantly::new();
                    stored_run(&plan, run, journal, durability, world).await?;
                }
                Ok::<(), Failed>(())
            });
        }
        while let Some(lane) = lanes.join_next().await {
            lane??;
        }
        // What is put off, such as compacting runs that have ended, is part of their price.
        while journal.maintain(load::NOW).await? {}
        Ok::<(), Failed>(())
    })?;
    Ok(watch.stop())
}

/// Creates a run in the store and drives it to its rest.
async fn stored_run(
    plan: &Arc<Plan>,
    run: RunId,
    journal: Arc<dyn Journal>,
    durability: Durability,
    world: Arc<Instantly>,
) -> Result<Stopped, Failed> {
    let evaluator: Arc<dyn Evaluator> = Arc::new(PlanEvaluator::default());
    let mut state = State::new(run, Arc::clone(plan));
    let first = load::start(load::input());
    let events = begin(&mut state, load::NOW, first, &evaluator).await;
    journal.create(new_run(&state, durability), events).await?;
    let (_sender, inputs) = mpsc::channel(1);
    let around = surroundings(world, Some(journal), durability);
    Ok(drive(state, Vec::new(), inputs, around).await?)
}

fn new_run(state: &State, durability: Durability) -> NewRun {
    let (text, hash) = write_plan(&state.plan);
    NewRun {
        plan_hash: hash,
        plan: text.into(),
        durability,
        mark: state.mark(),
        ..NewRun::new(state.run.clone(), "bench", load::NOW)
    }
}

/// Runs that ask their question, wait for ten seconds and are given to the store.
pub(crate) async fn wait_and_park(
    store: &Store,
    plan: &Arc<Plan>,
    name: &str,
    count: u64,
) -> Result<(), Failed> {
    let (_later, is_later) = watch::channel(true);
    let mut runs = JoinSet::new();
    for number in 0..count {
        let journal = Arc::clone(&store.journal) as Arc<dyn Journal>;
        let run = RunId::new(format!("{name}-{number}"));
        let world = Arc::new(Instantly {
            answer: Some(load::answer()),
            is_later: is_later.clone(),
        });
        let plan = Arc::clone(plan);
        runs.spawn(async move {
            let stopped = stored_run(
                &plan,
                run.clone(),
                Arc::clone(&journal),
                Durability::Async,
                world,
            );
            match stopped.await? {
                Stopped::Parked { due } => Ok(journal.park(&run, due).await?),
                other => Err(Failed::from(format!("not parked: {other:?}"))),
            }
        });
        if runs.len() as u64 >= AT_ONCE
            && let Some(parked) = runs.join_next().await
        {
            parked??;
        }
    }
    while let Some(parked) = runs.join_next().await {
        parked??;
    }
    Ok(())
}

/// Runs whose process died before their last call was answered are claimed, folded and called again.
fn resume(table: &mut Table, plan: &Arc<Plan>) -> Done {
    let count = 1_000;
    let Store { folder, journal } = Store::open()?;
    let runtime = server_runtime()?;
    runtime.block_on(async {
        for number in 0..count {
            let run = RunId::new(format!("run-{number}"));
            half_done(plan, run, &*journal).await?;
        }
        Ok::<(), Failed>(())
    })?;
    drop(journal);
    let later = load::NOW.plus(Duration::from_mins(1));
    let journal = opened(&folder, later)?;
    let watch = Stopwatch::start();
    let resumed = runtime.block_on(take_up(&*journal, later))?;
    let took = watch.stop();
    table.exact(
        "runs of 20 steps taken up after a crash",
        &format!("{resumed} of {count}"),
        resumed == count,
    );
    table.at_most("  all of them", took.wall.as_secs_f64(), 1.0, "s wall");
    table.tell("  the same", took.cpu.as_secs_f64(), "s CPU");
    Ok(())
}

/// All steps but the last have ended; the last is in flight.
async fn half_done(plan: &Arc<Plan>, run: RunId, journal: &dyn Journal) -> Result<(), Failed> {
    let mut state = State::new(run, Arc::clone(plan));
    let mut events = decide(
        &mut state,
        load::NOW,
        load::start(load::input()),
        &PlanEvaluator::default(),
    );
    while let Some(call) = state.calls.keys().next().copied()
        && (call.step as usize) + 1 < STEPS
    {
        let outcome = onecall_engine::event::Outcome::Returned(load::answer());
        let ended = Input::Ended { call, outcome };
        events.extend(decide(
            &mut state,
            load::NOW,
            ended,
            &PlanEvaluator::default(),
        ));
    }
    let new = new_run(&state, Durability::Async);
    Ok(journal.create(new, events).await?)
}

/// Claims what is claimable until nothing is, and decides what waking up means for each.
async fn take_up(journal: &dyn Journal, now: Timestamp) -> Result<u64, Failed> {
    let mut resumed = 0;
    let mut plans: BTreeMap<String, Arc<Plan>> = BTreeMap::new();
    loop {
        let claimable = journal.claimable(now).await?;
        if claimable.is_empty() {
            return Ok(resumed);
        }
        for run in claimable {
            let Some(stored) = journal.claim(&run, now).await? else {
                continue;
            };
            let plan = match plans.get(&stored.plan_hash) {
                Some(plan) => Arc::clone(plan),
                None => Arc::new(read_plan(&stored.plan)?),
            };
            plans.insert(stored.plan_hash.clone(), Arc::clone(&plan));
            let mut state = State::new(run, plan);
            for event in &stored.events {
                evolve(&mut state, event);
            }
            decide(&mut state, now, Input::Resume, &PlanEvaluator::default());
            resumed += u64::from(state.calls.len() == 1);
        }
    }
}
