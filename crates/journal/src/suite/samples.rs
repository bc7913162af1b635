//! Runs, events and marks to try a store with.

use onecall_engine::event::{AnswerAction, Event, Outcome, What};
use onecall_engine::identity::{CallId, RunId, Timestamp};
use onecall_engine::journal::{Append, Command, Journal, JournalError, Mark, NewRun, Order, Phase};
use onecall_workflow::policy::Durability;
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + seconds * 1_000)
}

pub(crate) fn id(name: &str) -> RunId {
    RunId::new(name)
}

pub(crate) fn new_run(name: &str) -> NewRun {
    NewRun {
        version: Some("2".to_owned()),
        plan_hash: "h1".to_owned(),
        plan: Arc::from("{\"ir\":1}"),
        ..NewRun::new(id(name), "greet", at(0))
    }
}

pub(crate) fn mark(phase: Phase) -> Mark {
    Mark {
        phase,
        due: None,
        failure: None,
    }
}

pub(crate) fn note(text: impl Into<String>) -> Event {
    Event {
        at: at(0),
        what: What::Note { text: text.into() },
    }
}

pub(crate) fn returned(value: Value) -> Event {
    Event {
        at: at(1),
        what: What::AttemptEnded {
            call: CallId {
                step: 0,
                item: Some(3),
                attempt: 1,
            },
            outcome: Outcome::Returned(Arc::new(value)),
        },
    }
}

pub(crate) fn append(name: &str, first: u64, events: Vec<Event>) -> Append {
    Append {
        run: id(name),
        first,
        events,
        durability: Durability::Async,
        mark: mark(Phase::Running),
        at: at(first),
    }
}

pub(crate) fn ending(name: &str, first: u64, seconds: u64) -> Append {
    Append {
        mark: mark(Phase::Completed),
        at: at(seconds),
        ..append(name, first, vec![note("end")])
    }
}

pub(crate) fn cancel(name: &str) -> Command {
    Command {
        run: id(name),
        what: Order::Cancel {
            reason: "enough".to_owned(),
        },
    }
}

pub(crate) fn answer(name: &str, step: &str) -> Command {
    Command {
        run: id(name),
        what: Order::Answer {
            step: step.to_owned(),
            round: Some(1),
            action: AnswerAction::Accept,
            content: Some(serde_json::json!({"ok": true})),
        },
    }
}

/// A run with one event.
pub(crate) async fn start(journal: &Arc<dyn Journal>, name: &str) {
    journal
        .create(new_run(name), vec![note("start")])
        .await
        .unwrap();
}

pub(crate) async fn events_of(journal: &Arc<dyn Journal>, name: &str) -> Vec<Event> {
    journal.load(&id(name)).await.unwrap().unwrap().events
}

/// The refusal as text, so that tests can compare it.
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, JournalError>) -> String {
    result.unwrap_err().to_string()
}
