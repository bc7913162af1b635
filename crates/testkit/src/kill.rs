//! The real program, killed at random moments. Servers are started on one store, given calls and killed with
//! SIGKILL; the next one goes on with what they left. At the end one is stopped for longer than its lease (`stop`). The ledger of the demo backends is the outside witness.
//! What is compared with what is in `judge`.

mod client;
mod judge;
mod process;
mod stop;
mod workflows;

use crate::sim::dice::Dice;
use client::Client;
use futures::executor::block_on;
use onecall_engine::event::AnswerAction;
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::{Command, Filter, Journal, JournalError, Order, Phase, Summary};
use process::Server;
use serde_json::json;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Calls that each server is given.
const CALLS: u64 = 9;

/// A server is killed at the latest this long after its first call.
const WINDOW_MS: u64 = 600;

/// How long the last server may take to bring everything to rest.
const DRAIN: Duration = Duration::from_mins(1);

/// Fewer than this, and the test has not tested much: kills with a call in flight, and runs completed, for each
/// kill.
const IN_FLIGHT_MIN: f64 = 0.5;
const COMPLETED_MIN: f64 = 6.0;

pub type Fault = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Debug)]
pub struct Options {
    /// The binary `onecall`.
    pub program: PathBuf,
    pub kills: u64,
    pub seed: u64,
}

impl Options {
    /// Reads `--program FILE [--kills N] [--seed S]`. Without a seed the clock gives one.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            program: PathBuf::new(),
            kills: 50,
            seed: u64::from(now_since_epoch().subsec_nanos()),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("`{word}` needs a value"))?;
            let number = || value.parse().map_err(|_| format!("`{value}` is no number"));
            match *word {
                "--program" => options.program = PathBuf::from(value),
                "--kills" => options.kills = number()?,
                "--seed" => options.seed = number()?,
                _ => return Err(format!("`{word}` is no option")),
            }
        }
        if options.program.as_os_str().is_empty() {
            return Err("`--program FILE` is missing".to_owned());
        }
        Ok(options)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub seed: u64,
    pub kills: u64,
    /// Kills that met at least one call in flight.
    pub in_flight: u64,
    /// Kills after which a server that was already up took over.
    pub taken_over: u64,
    pub runs: u64,
    pub completed: u64,
    pub held: u64,
    pub lost: u64,
    pub doubled: u64,
    /// Callers that waited while their runs were parked or taken over.
    pub waited: u64,
    /// What was lost or doubled, in words.
    pub faults: Vec<String>,
    pub took: Duration,
}

impl Report {
    pub fn is_good(&self) -> bool {
        self.faults.is_empty() && self.shortfalls().is_empty()
    }

    fn shortfalls(&self) -> Vec<String> {
        let at_least = |what: &str, got: u64, share: f64| {
            let wanted = float(self.kills) * share;
            (float(got) < wanted)
                .then(|| format!("{what}: {got}, and at least {wanted} are wanted"))
        };
        let checks = [
            at_least("kills with a call in flight", self.in_flight, IN_FLIGHT_MIN),
            at_least("completed runs", self.completed, COMPLETED_MIN),
        ];
        checks.into_iter().flatten().collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "kills {} · runs {} · completed {} · held {} · lost {} · doubled {}",
            self.kills, self.runs, self.completed, self.held, self.lost, self.doubled
        )?;
        write!(
            out,
            "seed {} · {} kills with a call in flight · {} taken over by a living server · {} callers waited · {:.1} s",
            self.seed,
            self.in_flight,
            self.taken_over,
            self.waited,
            self.took.as_secs_f64()
        )?;
        for line in self.faults.iter().chain(&self.shortfalls()) {
            write!(out, "\n  ✗ {line}")?;
        }
        Ok(())
    }
}

/// Kills servers until as many are dead as were asked for, brings everything to rest, and compares.
pub fn run(options: &Options) -> Result<Report, Fault> {
    let started = Instant::now();
    let ground = process::Ground::prepare(&options.program)?;
    let store = onecall_journal::open(onecall_journal::Options::new(&ground.store, now()))?;
    let mut world = World {
        ground,
        store,
        client: Client::default(),
        dice: Dice::new(options.seed),
        calls: 0,
        report: Report {
            seed: options.seed,
            ..Report::default()
        },
    };
    let mut next = None;
    while world.report.kills < options.kills {
        next = world.one_server(next)?;
    }
    let last = match next {
        Some(server) => server,
        None => world.server()?,
    };
    world.drain()?;
    drop(last);
    stop::stop(&world.ground, &mut world.client, &mut world.report)?;
    judge::judge(
        &mut world.report,
        &*world.store,
        &world.ground,
        &world.client,
    )?;
    world.report.took = started.elapsed();
    Ok(world.report)
}

struct World {
    ground: process::Ground,
    store: Arc<dyn Journal>,
    client: Client,
    dice: Dice,
    calls: u64,
    report: Report,
}

impl World {
    fn server(&mut self) -> Result<Server, Fault> {
        let durability = self.dice.pick(&["async", "sync"]);
        self.ground.serve(durability)
    }

    /// Gives one server its calls and kills it. Sometimes the next one is up before, and takes over at once.
    fn one_server(&mut self, up: Option<Server>) -> Result<Option<Server>, Fault> {
        let server = match up {
            Some(server) => server,
            None => self.server()?,
        };
        self.answer()?;
        let window = 50 + self.dice.below(WINDOW_MS);
        let end = Instant::now() + Duration::from_millis(window);
        for _ in 0..CALLS {
            let workflow = self.dice.pick(workflows::NAMES);
            let arguments = json!({
                "id": format!("c{}", self.calls),
                "ms": self.dice.below(250),
            });
            let delay = Duration::from_millis(self.dice.below(window * 2 / 3));
            self.calls += 1;
            self.client.call(&server.url, workflow, &arguments, delay);
        }
        let next = if self.dice.chance(25) {
            self.report.taken_over += 1;
            Some(self.server()?)
        } else {
            None
        };
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        server.kill()?;
        self.report.kills += 1;
        self.report.in_flight += u64::from(self.is_call_in_flight()?);
        self.client.hang_up();
        Ok(next)
    }

    fn is_call_in_flight(&self) -> Result<bool, Fault> {
        for run in self.list(&[Phase::Running])? {
            let Some(stored) = block_on(self.store.load(&run.id))? else {
                continue;
            };
            if !judge::fold(&stored)?.calls.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Answers whatever waits for a person, through the inbox of its run.
    fn answer(&self) -> Result<(), Fault> {
        for run in self.list(&[Phase::Waiting])? {
            let what = Order::Answer {
                step: "approve".to_owned(),
                round: None,
                action: AnswerAction::Accept,
                content: Some(json!({ "ok": true })),
            };
            match block_on(self.store.tell(Command { run: run.id, what })) {
                Ok(()) | Err(JournalError::Ended { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until every run has ended or is held.
    fn drain(&self) -> Result<(), Fault> {
        let end = Instant::now() + DRAIN;
        while Instant::now() < end {
            self.answer()?;
            if self.list(&[Phase::Running, Phase::Waiting])?.is_empty() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    fn list(&self, phases: &[Phase]) -> Result<Vec<Summary>, JournalError> {
        block_on(self.store.list(Filter {
            phases: phases.to_vec(),
            limit: judge::RUNS_MAX,
            ..Filter::default()
        }))
    }
}

fn now_since_epoch() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

fn now() -> Timestamp {
    Timestamp::default().plus(now_since_epoch())
}
