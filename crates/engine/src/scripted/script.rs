//! What a scripted world does: the answers of its tools and people, and what else happens to a run.

use crate::event::{Answer, AnswerAction, Lost, Outcome, Resolution};
use crate::failure::{Code, Failure};
use crate::identity::{RunId, Timestamp};
use crate::inquiry::Inquiry;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Everything outside of one run.
#[derive(Clone, Debug)]
pub struct Script {
    pub run: RunId,
    /// When the run starts.
    pub start: Timestamp,
    pub seed: u64,
    /// Answers of tools, in order; the last one stands for all that follow.
    /// Looked up by `step[item]`, then by step, then by tool as the step refers to it.
    pub tools: BTreeMap<String, Vec<Reply>>,
    /// Answers of people by step, one each time the question is put; then silence.
    pub people: BTreeMap<String, Vec<Response>>,
    /// What else happens, by time since the start.
    pub incidents: Vec<(Duration, Incident)>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            run: RunId::new("run"),
            start: Timestamp::from_millis(1_785_231_000_000),
            seed: 0,
            tools: BTreeMap::new(),
            people: BTreeMap::new(),
            incidents: Vec::new(),
        }
    }
}

/// One answer of a tool.
#[derive(Clone, Debug)]
pub struct Reply {
    pub after: Duration,
    pub kind: ReplyKind,
    /// The answer arrives again, each time this much later.
    pub again: Vec<Duration>,
    /// The answer arrives even when nobody waits for it any more.
    pub is_stubborn: bool,
}

#[derive(Clone, Debug)]
pub enum ReplyKind {
    /// A tool result, which may say `isError`.
    Returns(Value),
    /// A definite failure.
    Fails(Failure),
    /// The connection breaks after the call was sent.
    Lost(String),
    /// The tool asks before it goes on.
    Asks(Inquiry),
    /// The tool asks `{method, params}` in the middle of the call; the reply comes once it is answered.
    AsksMeanwhile(Value),
    /// No answer, ever.
    Silence,
}

impl ReplyKind {
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Returns(result) => Some(Outcome::Returned(Arc::new(result.clone()))),
            Self::Fails(failure) => Some(Outcome::Failed {
                failure: failure.clone(),
                result: None,
            }),
            Self::Lost(reason) => Some(Outcome::Unknown(Lost::Connection {
                reason: reason.clone(),
            })),
            Self::Asks(inquiry) => Some(Outcome::Asks(Arc::new(inquiry.clone()))),
            Self::AsksMeanwhile(_) | Self::Silence => None,
        }
    }
}

impl Reply {
    pub fn new(kind: ReplyKind) -> Self {
        Self {
            after: Duration::ZERO,
            kind,
            again: Vec::new(),
            is_stubborn: false,
        }
    }

    /// A result with structured content.
    pub fn structured(content: &Value) -> Self {
        let text = content.to_string();
        Self::new(ReplyKind::Returns(json!({
            "content": [{ "type": "text", "text": text }],
            "structuredContent": content,
        })))
    }

    /// A result of one text block.
    pub fn text(text: &str) -> Self {
        let content = json!([{ "type": "text", "text": text }]);
        Self::new(ReplyKind::Returns(json!({ "content": content })))
    }

    /// A result that says `isError`.
    pub fn error(text: &str) -> Self {
        let content = json!([{ "type": "text", "text": text }]);
        Self::new(ReplyKind::Returns(
            json!({ "content": content, "isError": true }),
        ))
    }

    pub fn failure(code: Code, message: &str) -> Self {
        Self::new(ReplyKind::Fails(Failure::new(code, message)))
    }

    #[must_use]
    pub fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }
}

/// One answer of a person.
#[derive(Clone, Debug)]
pub struct Response {
    pub after: Duration,
    pub answer: Answer,
}

impl Response {
    pub fn new(action: AnswerAction, content: Option<Value>) -> Self {
        let answer = Answer {
            action,
            content,
            defaulted: false,
        };
        Self {
            after: Duration::ZERO,
            answer,
        }
    }

    #[must_use]
    pub fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }
}

/// Something that happens to a run from outside, asked for or not.
#[derive(Clone, Debug)]
pub enum Incident {
    Cancel {
        reason: String,
    },
    /// An answer nobody was asked for at this moment.
    Answer {
        step: String,
        answer: Answer,
    },
    /// A person decides about a held call.
    Resolve {
        step: String,
        item: Option<u32>,
        resolution: Resolution,
    },
    /// The process dies, and another goes on this much later.
    Crash {
        down: Duration,
    },
}

impl Script {
    /// The answers for a call, and the name they were found under.
    pub(super) fn replies(
        &self,
        step: &str,
        item: Option<u32>,
        tool: &str,
    ) -> Option<(String, &[Reply])> {
        let of_item = item.map(|item| format!("{step}[{item}]"));
        let names = of_item
            .into_iter()
            .chain([step.to_owned(), tool.to_owned()]);
        names
            .into_iter()
            .find_map(|name| Some((name.clone(), self.tools.get(&name)?.as_slice())))
    }
}
