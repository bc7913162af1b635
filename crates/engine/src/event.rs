//! Events say what was decided, with its values. Only events are stored; folding them gives the state.
//! A stored event is never evaluated again, so its values are complete.

use crate::failure::Failure;
use crate::identity::{CallId, RunId, Slot, Timestamp};
use crate::inquiry::{AskedBy, Carried, Inquiry};
use crate::usage::{Spent, Usage};
use onecall_workflow::coerce::is_marked;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub at: Timestamp,
    pub what: What,
}

impl Event {
    /// Whether somebody is asked for something that must not be shown. What a backend asks is known only when it is
    /// asked.
    pub fn asks_for_a_secret(&self) -> bool {
        match &self.what {
            What::QuestionAsked {
                schema: Some(schema),
                ..
            } => is_marked(schema),
            What::CallAsked { request, .. } => is_marked(request),
            What::AttemptEnded { outcome, .. } => match outcome {
                Outcome::Asks(inquiry) => inquiry.requests.values().any(is_marked),
                Outcome::Returned(_) | Outcome::Failed { .. } | Outcome::Unknown(_) => false,
            },
            // What the schemas of the plan mark is known when the run begins.
            What::QuestionAsked { schema: None, .. }
            | What::RunStarted { .. }
            | What::AttemptStarted { .. }
            | What::Used { .. }
            | What::RetryAt { .. }
            | What::Mocked { .. }
            | What::ItemsAre { .. }
            | What::ItemEnded { .. }
            | What::StepEnded { .. }
            | What::AnswerRefused { .. }
            | What::QuestionAnswered { .. }
            | What::ClockStopped
            | What::ClockStarted { .. }
            | What::DefaultUsed { .. }
            | What::Held { .. }
            | What::HeldResolved { .. }
            | What::RemainingSkipped { .. }
            | What::CancelAsked { .. }
            | What::RunEnded { .. }
            | What::Note { .. } => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    RunStarted {
        input: Arc<Value>,
        seed: u64,
        deadline: Option<Timestamp>,
        /// What the run takes over from one that it repeats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Kept>,
    },
    /// A call is about to be made. Stored before it is.
    AttemptStarted {
        call: CallId,
        arguments: Arc<Value>,
        key: String,
        deadline: Option<Timestamp>,
        /// Answers to what the tool asked before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carried: Option<Arc<Carried>>,
    },
    /// The tool asks while its call is in flight.
    CallAsked {
        call: CallId,
        key: String,
        request: Arc<Value>,
    },
    AttemptEnded {
        call: CallId,
        outcome: Outcome,
    },
    /// A call reported what it cost.
    Used {
        call: CallId,
        usage: Usage,
        /// What the run has used up with it.
        total: Spent,
    },
    /// The next attempt of this slot waits until `due`.
    RetryAt {
        call: CallId,
        due: Timestamp,
    },
    /// The result of the step is written in the workflow; nothing is called.
    Mocked {
        step: u32,
        /// What the call would have been given, where there is one call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Arc<Value>>,
    },
    /// The items of a loop are known; its iterations may start.
    ItemsAre {
        step: u32,
        items: Arc<Vec<Value>>,
        deadline: Option<Timestamp>,
    },
    ItemEnded {
        step: u32,
        item: u32,
        status: Status,
        output: Output,
        failure: Option<Failure>,
    },
    StepEnded {
        step: u32,
        status: Status,
        output: Output,
        /// The output is the step's default.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        defaulted: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// Why it was skipped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    QuestionAsked {
        step: u32,
        /// Rises with every time the question is put.
        round: u32,
        message: String,
        schema: Option<Arc<Value>>,
        deadline: Option<Timestamp>,
        /// The backend that asks, where it is not the workflow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AskedBy>,
        /// A page to visit in place of a form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// An answer did not fit the schema; the question is put again.
    AnswerRefused {
        step: u32,
        round: u32,
        reason: String,
    },
    QuestionAnswered {
        step: u32,
        round: u32,
        answer: Answer,
        /// What goes back to the backend that asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<Arc<Value>>,
    },
    /// The run waits for people only; a default time-out stands still.
    ClockStopped,
    ClockStarted {
        deadline: Option<Timestamp>,
    },
    /// A default took the place of a value of the output.
    DefaultUsed {
        property: String,
        reason: String,
    },
    /// A call was sent and not answered; a person decides what happened.
    Held {
        slot: Slot,
        reason: String,
    },
    HeldResolved {
        slot: Slot,
        resolution: Resolution,
    },
    /// A question asked to skip what has not started yet.
    RemainingSkipped {
        step: u32,
    },
    CancelAsked {
        reason: String,
    },
    RunEnded {
        end: End,
    },
    /// Something that arrived too late to matter; kept and never applied.
    Note {
        text: String,
    },
}

/// Steps that an earlier run completed and that this one does not run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    pub run: RunId,
    pub steps: Vec<KeptStep>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptStep {
    pub step: u32,
    pub output: Output,
    /// Its last result, as the backend sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Arc<Value>>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool result as the backend sent it.
    Returned(Arc<Value>),
    /// A definite failure. `result` is the tool result where the tool itself reported the error.
    Failed {
        failure: Failure,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Arc<Value>>,
    },
    /// The tool asks before it goes on; nothing has happened yet that a repeated call would not.
    Asks(Arc<Inquiry>),
    /// Sent and not answered.
    Unknown(Lost),
}

impl Outcome {
    /// The tool result, where the tool gave one.
    pub fn result(&self) -> Option<&Arc<Value>> {
        match self {
            Self::Returned(result) => Some(result),
            Self::Failed { result, .. } => result.as_ref(),
            Self::Asks(_) | Self::Unknown(_) => None,
        }
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Crash => "the process that made the call died",
            Self::Connection { reason } => reason,
            Self::Deadline => "the time of the step was over",
            Self::Cancelled => "the run was ended meanwhile",
        })
    }
}

/// How an answer was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// The process died while the call was in flight.
    Crash,
    Connection {
        reason: String,
    },
    /// The deadline passed while the call was in flight.
    Deadline,
    /// The run was ended while the call was in flight.
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    Running,
    Completed,
    Failed,
    Skipped,
    Cancelled,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn is_ended(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Completed | Self::Failed | Self::Skipped | Self::Cancelled => true,
        }
    }
}

/// The output of a step or an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    Nothing,
    /// The structured content of its last result, which is not stored twice.
    Structured,
    Value(Arc<Value>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub action: AnswerAction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// Nobody answered; the default response stands in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defaulted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAction {
    Accept,
    Decline,
    Cancel,
    Timeout,
    /// Something that a run cannot take as an answer; the content is a text that says why. It counts as an invalid
    /// answer under every schema.
    Invalid,
}

impl AnswerAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
            Self::Timeout => "timeout",
            Self::Invalid => "invalid",
        }
    }
}

impl Answer {
    /// Why it cannot be taken as an answer, if it cannot.
    pub fn problem(&self) -> Option<String> {
        let reason = self.content.as_ref().and_then(Value::as_str);
        let reason = reason.unwrap_or("it cannot be read");
        (self.action == AnswerAction::Invalid).then(|| reason.to_owned())
    }
}

/// What a person decided about a call whose outcome is unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// Make the call again, under the same key.
    Retry,
    /// It happened, and this is its result.
    Result(Value),
    /// It did not happen, or it does not matter: the attempt failed.
    Fail,
}

/// How a run ended. Completed, failed, cancelled and timed out are different ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Completed {
        output: Arc<Value>,
        /// The step whose result this is, where the workflow declares no output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_step: Option<u32>,
        /// The run completed and yet its result is an error: a required output is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
    Failed {
        failure: Failure,
        partial: Arc<Value>,
    },
    TimedOut {
        failure: Failure,
        partial: Arc<Value>,
    },
    Cancelled {
        failure: Failure,
        partial: Arc<Value>,
    },
}

macro_rules! kinds {
    ($($name:ident = $text:literal;)*) => {
        impl What {
            /// Every kind of event.
            pub const KINDS: &'static [&'static str] = &[$($text,)*];

            /// The kind of event, for tables and filters.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$name { .. } => $text,)* }
            }
        }
    };
}

kinds! {
    RunStarted = "run_started";
    AttemptStarted = "attempt_started";
    CallAsked = "call_asked";
    AttemptEnded = "attempt_ended";
    Used = "used";
    RetryAt = "retry_at";
    Mocked = "mocked";
    ItemsAre = "items_are";
    ItemEnded = "item_ended";
    StepEnded = "step_ended";
    QuestionAsked = "question_asked";
    AnswerRefused = "answer_refused";
    QuestionAnswered = "question_answered";
    ClockStopped = "clock_stopped";
    ClockStarted = "clock_started";
    DefaultUsed = "default_used";
    Held = "held";
    HeldResolved = "held_resolved";
    RemainingSkipped = "remaining_skipped";
    CancelAsked = "cancel_asked";
    RunEnded = "run_ended";
    Note = "note";
}
