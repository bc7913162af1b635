//! A world on tokio's clock, a journal that remembers every append, and an observer that remembers nothing.

use futures::future::BoxFuture;
use onecall_engine::driver::Observer;
use onecall_engine::event::{Event, Outcome};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Append, Command, Filter, Journal, JournalError, NewRun, OpenRun, Order, StoredPlan, StoredRun,
    Summary,
};
use onecall_engine::state::State;
use onecall_engine::world::{ToolCall, World};
use onecall_workflow::policy::Durability;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// What a tool does, by step.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    Answers(Duration),
    Fails(Duration),
    /// At once, with more than is evaluated on an async thread.
    Large,
    Never,
    Panics,
}

/// What a tool that fails repeats in its error.
pub(crate) const SECRET: &str = "hunter22-token";

pub(crate) struct Clockwork {
    pub(crate) tools: BTreeMap<&'static str, Tool>,
    pub(crate) started: Instant,
    pub(crate) calls: AtomicU32,
    /// Calls whose future was dropped before it ended.
    pub(crate) dropped: Arc<AtomicU32>,
}

impl Clockwork {
    pub(crate) fn new(tools: &[(&'static str, Tool)]) -> Arc<Self> {
        Arc::new(Self {
            tools: tools.iter().copied().collect(),
            started: Instant::now(),
            calls: AtomicU32::new(0),
            dropped: Arc::default(),
        })
    }
}

struct Dropped(Option<Arc<AtomicU32>>);

impl Dropped {
    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(count) = self.0.take() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

const EPOCH: Timestamp = Timestamp::from_millis(1_785_231_000_000);

impl World for Clockwork {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let tool = self.tools[call.step.as_str()];
        let mut guard = Dropped(Some(Arc::clone(&self.dropped)));
        Box::pin(async move {
            let mut text = String::new();
            let is_error = match tool {
                Tool::Answers(after) => {
                    tokio::time::sleep(after).await;
                    false
                }
                Tool::Fails(after) => {
                    tokio::time::sleep(after).await;
                    SECRET.clone_into(&mut text);
                    true
                }
                Tool::Large => {
                    text = "x".repeat(100 * 1024);
                    false
                }
                Tool::Never => std::future::pending().await,
                Tool::Panics => panic!("a fault in the world"),
            };
            guard.disarm();
            Outcome::Returned(Arc::new(json!({
                "content": [{ "type": "text", "text": text }],
                "isError": is_error,
            })))
        })
    }

    fn now(&self) -> Timestamp {
        EPOCH.plus(self.started.elapsed())
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let deadline = self.started + at.since(EPOCH);
        Box::pin(tokio::time::sleep_until(deadline))
    }
}

/// Remembers appends; the rest of a journal is not asked for here.
#[derive(Debug, Default)]
pub(crate) struct Remembers {
    pub(crate) appends: Mutex<Vec<Append>>,
    /// Which tries to append find no room, the first being 0.
    pub(crate) full: Vec<u32>,
    /// It is full of open runs, rather than out of disk.
    pub(crate) is_memory: bool,
    pub(crate) tries: AtomicU32,
}

impl Remembers {
    pub(crate) fn kinds(&self) -> Vec<Vec<&'static str>> {
        let appends = self.appends.lock().unwrap();
        let kinds = |append: &Append| {
            let events = append.events.iter();
            events.map(|event| event.what.kind()).collect()
        };
        appends.iter().map(kinds).collect()
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

fn answer<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Journal for Remembers {
    fn create(&self, _: NewRun, _: Vec<Event>) -> Answer<'_, ()> {
        answer(())
    }
    fn append(&self, append: Append) -> Answer<'_, ()> {
        let number = self.tries.fetch_add(1, Ordering::SeqCst);
        if self.full.contains(&number) {
            let error = if self.is_memory {
                JournalError::OpenRunsFull { bytes_max: 1 }
            } else {
                JournalError::Full("no space left on device".into())
            };
            return Box::pin(std::future::ready(Err(error)));
        }
        let mut appends = self.appends.lock().unwrap();
        let next: usize = appends.iter().map(|append| append.events.len()).sum();
        assert_eq!(append.first, next as u64, "events out of order");
        appends.push(append);
        answer(())
    }
    fn load<'a>(&'a self, run: &'a RunId) -> Answer<'a, Option<StoredRun>> {
        let appends = self.appends.lock().unwrap();
        let events: Vec<Event> = appends
            .iter()
            .flat_map(|append| append.events.clone())
            .collect();
        let summary = Summary {
            event_count: events.len() as u64,
            ..Summary::new(run.clone(), "driven", EPOCH)
        };
        answer(Some(StoredRun {
            summary,
            plan: "".into(),
            plan_hash: String::new(),
            durability: Durability::Async,
            events,
        }))
    }
    fn list(&self, _: Filter) -> Answer<'_, Vec<Summary>> {
        answer(Vec::new())
    }
    fn open_runs(&self, _: Timestamp) -> Answer<'_, Vec<OpenRun>> {
        answer(Vec::new())
    }
    fn rebind<'a>(&'a self, _: &'a RunId, _: StoredPlan, _: Timestamp) -> Answer<'a, bool> {
        answer(false)
    }
    fn claimable(&self, _: Timestamp) -> Answer<'_, Vec<RunId>> {
        answer(Vec::new())
    }
    fn claim<'a>(&'a self, _: &'a RunId, _: Timestamp) -> Answer<'a, Option<StoredRun>> {
        answer(None)
    }
    fn park<'a>(&'a self, _: &'a RunId, _: Option<Timestamp>) -> Answer<'a, ()> {
        answer(())
    }
    fn heartbeat(&self, _: Timestamp) -> Answer<'_, ()> {
        answer(())
    }
    fn tell(&self, _: Command) -> Answer<'_, ()> {
        answer(())
    }
    fn commands(&self, _: Timestamp) -> Answer<'_, Vec<Command>> {
        answer(Vec::new())
    }
    fn give_back<'a>(&'a self, _: &'a RunId) -> Answer<'a, ()> {
        answer(())
    }
    fn told<'a>(&'a self, _: &'a RunId) -> Answer<'a, Vec<Order>> {
        answer(Vec::new())
    }
    fn secret(&self, _: &str) -> [u8; 32] {
        [0; 32]
    }
    fn keep<'a>(&'a self, _: &'a str, _: &'a Value) -> Answer<'a, ()> {
        answer(())
    }
    fn kept<'a>(&'a self, _: &'a str) -> Answer<'a, Option<Value>> {
        answer(None)
    }
}

pub(crate) struct Blind;

impl Observer for Blind {
    fn saw(&self, _: &State, _: &[Event]) {}
}
