//! Commands to runs: which event settles which order, so that a taken command is not lost with its taker.

use onecall_engine::event::What;
use onecall_engine::journal::{JournalError, Order};

/// The kind of an order, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Answer,
    Cancel,
    Resolve,
}

impl Kind {
    pub(crate) fn of(order: &Order) -> Self {
        match order {
            Order::Answer { .. } => Self::Answer,
            Order::Cancel { .. } => Self::Cancel,
            Order::Resolve { .. } => Self::Resolve,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Cancel => "cancel",
            Self::Resolve => "resolve",
        }
    }

    /// The kind of order whose effect an event shows: the oldest taken one of that kind is done with.
    pub(crate) fn settled_by(what: &What) -> Option<Self> {
        match what {
            What::QuestionAnswered { .. } | What::AnswerRefused { .. } => Some(Self::Answer),
            What::CancelAsked { .. } => Some(Self::Cancel),
            What::HeldResolved { .. } => Some(Self::Resolve),
            _ => None,
        }
    }
}

pub(crate) fn full() -> JournalError {
    JournalError::Store {
        action: "put another command into",
        cause: "too many commands wait for this run".into(),
    }
}
