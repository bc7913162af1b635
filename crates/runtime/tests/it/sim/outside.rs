//! What the runtimes of the simulation meet: a backend by script, a clock that is paused, a store that is slow, cut off
//! or failing.

use crate::through::Hook;
use futures::future::BoxFuture;
use onecall_engine::event::{Lost, Outcome};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::JournalError;
use onecall_engine::world::{ToolCall, World};
use onecall_testkit::sim::dice::Dice;
use serde_json::json;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// Nothing does so much at one moment of the paused clock.
const AT_ONCE_MAX: u64 = 10_000;

/// When every scene begins, in milliseconds.
const START: u64 = 1_800_000_000_000;

/// Counts what happens without time passing.
#[derive(Debug)]
pub(super) struct Pulse(Mutex<(Instant, u64)>);

impl Default for Pulse {
    fn default() -> Self {
        Self(Mutex::new((Instant::now(), 0)))
    }
}

impl Pulse {
    pub(super) fn beat(&self, what: &str) {
        let now = Instant::now();
        let mut last = self.0.lock().unwrap();
        if last.0 != now {
            *last = (now, 0);
        }
        last.1 += 1;
        assert!(
            last.1 <= AT_ONCE_MAX,
            "{what} happens {AT_ONCE_MAX} times without time passing"
        );
    }
}

/// A task whose polls are counted.
pub(super) struct Counted<F> {
    name: String,
    pulse: Pulse,
    task: Pin<Box<F>>,
}

impl<F> Counted<F> {
    pub(super) fn new(name: String, task: F) -> Self {
        Self {
            name,
            pulse: Pulse::default(),
            task: Box::pin(task),
        }
    }
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.pulse.beat(&format!("a poll of {}", self.name));
        self.task.as_mut().poll(context)
    }
}

/// The backend and the clock.
#[derive(Debug)]
pub(super) struct Script {
    seed: u64,
    dice: Mutex<Dice>,
    start: Instant,
    pulse: Pulse,
    /// From now on every call succeeds at once.
    pub(super) is_calm: AtomicBool,
}

impl Script {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            dice: Mutex::new(Dice::of(&[seed, 1])),
            start: Instant::now(),
            pulse: Pulse::default(),
            is_calm: AtomicBool::new(false),
        }
    }

    pub(super) fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::SeqCst)
    }

    /// Random bits for ids and seeds of runs.
    pub(super) fn bits(self: &Arc<Self>) -> Arc<dyn Fn() -> u128 + Send + Sync> {
        let script = Arc::clone(self);
        Arc::new(move || {
            let mut dice = script.dice.lock().unwrap();
            u128::from(dice.next()) << 64 | u128::from(dice.next())
        })
    }

    /// Depends on the call alone and not on what else goes on.
    fn outcome(&self, call: &ToolCall) -> (u64, Outcome) {
        let result = json!({ "content": [{ "type": "text", "text": "1" }] });
        let returned = Outcome::Returned(Arc::new(result));
        if self.is_calm() {
            return (1, returned);
        }
        let run: u64 = call.run.as_str().bytes().map(u64::from).sum();
        let item = call.id.item.map_or(99, u64::from);
        let id = [
            self.seed,
            run,
            call.id.step.into(),
            item,
            call.id.attempt.into(),
        ];
        let mut dice = Dice::of(&id);
        let millis = dice.pick(&[0, 0, 1, 20, 900, 4_000, 11_000, 70_000]);
        let outcome = match dice.below(100) {
            0..45 => returned,
            45..80 => {
                let failure = Failure::new(Code::TransportUnavailable, "away");
                Outcome::Failed {
                    failure,
                    result: None,
                }
            }
            80..90 if call.tool.original == "careful" => {
                let reason = "reset".to_owned();
                Outcome::Unknown(Lost::Connection { reason })
            }
            _ => Outcome::Returned(Arc::new(json!({
                "content": [{ "type": "text", "text": "no" }],
                "isError": true,
            }))),
        };
        (millis, outcome)
    }
}

impl World for Script {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome> {
        let (millis, outcome) = self.outcome(&call);
        Box::pin(async move {
            if millis > 0 {
                sleep(Duration::from_millis(millis)).await;
            }
            outcome
        })
    }

    fn now(&self) -> Timestamp {
        self.pulse.beat("a look at the clock");
        Timestamp::from_millis(START + 1).plus(self.start.elapsed())
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(sleep(at.since(self.now())))
    }
}

/// The way of one process to the store.
#[derive(Clone)]
pub(super) struct Link(Arc<Line>);

pub(super) struct Line {
    dice: Mutex<Dice>,
    pulse: Pulse,
    /// Nothing comes through; whoever asks waits.
    is_cut: watch::Sender<bool>,
    pub(super) fails: AtomicBool,
    pub(super) parked: AtomicU64,
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Link")
    }
}

impl Link {
    pub(super) fn new(dice: Dice) -> Self {
        Self(Arc::new(Line {
            dice: Mutex::new(dice),
            pulse: Pulse::default(),
            is_cut: watch::Sender::new(false),
            fails: AtomicBool::new(false),
            parked: AtomicU64::new(0),
        }))
    }

    pub(super) fn cut(&self, is_cut: bool) {
        self.0.is_cut.send_replace(is_cut);
    }

    pub(super) fn fail(&self, fails: bool) {
        self.0.fails.store(fails, Ordering::SeqCst);
    }

    pub(super) fn parked(&self) -> u64 {
        self.0.parked.load(Ordering::SeqCst)
    }
}

impl Hook for Link {
    fn at(&self, request: &'static str, now: Timestamp) {
        let passed = now.since(Timestamp::from_millis(START));
        let is_of_the_scene = Duration::ZERO < passed && passed < Duration::from_hours(12);
        assert!(is_of_the_scene, "`{request}` uses another clock");
    }

    fn before(&self, request: &'static str) -> BoxFuture<'static, Result<(), JournalError>> {
        let line = Arc::clone(&self.0);
        Box::pin(async move {
            line.pulse.beat(&format!("the request `{request}`"));
            let mut is_cut = line.is_cut.subscribe();
            let _ = is_cut.wait_for(|is_cut| !is_cut).await;
            let (millis, fate) = {
                let mut dice = line.dice.lock().unwrap();
                let millis = dice.pick(&[None, None, None, None, Some(0), Some(1), Some(30)]);
                (millis, dice.below(100))
            };
            match millis {
                None => {}
                Some(0) => tokio::task::yield_now().await,
                Some(millis) => sleep(Duration::from_millis(millis)).await,
            }
            if line.fails.load(Ordering::SeqCst) && fate < 60 {
                return Err(match fate % 2 {
                    0 => JournalError::Full("no space left on device".into()),
                    _ => JournalError::Store {
                        action: "write to",
                        cause: "input/output error".into(),
                    },
                });
            }
            if request == "park" {
                line.parked.fetch_add(1, Ordering::SeqCst);
            }
            Ok(())
        })
    }
}
