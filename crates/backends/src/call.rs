//! One call as its caller describes it, and what reaches the caller while it runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use onecall_mcp::{Arguments, Exact, RpcError, meta};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::limits::{LOGGED_BYTES_MAX, PROGRESS_BYTES_MAX};
use crate::pages::PageSink;

/// Whose call it is, where a backend keeps one connection for each client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallerId(pub Arc<str>);

/// The token that a caller showed, to be exchanged for one of a backend. It is never passed on as it is, and it is
/// printed, logged and stored nowhere.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CallerToken(Arc<str>);

impl CallerToken {
    pub fn new(token: &str) -> Self {
        Self(token.into())
    }

    /// The token itself, for the token server alone.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CallerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CallerToken(•••)")
    }
}

/// Who sends a request, where it is known.
#[derive(Clone, Debug, Default)]
pub struct Requester {
    pub id: Option<CallerId>,
    /// What it showed.
    pub token: Option<CallerToken>,
    /// Hears that a page it was sent to is done with.
    pub pages: Option<PageSink>,
}

/// One `tools/call`. Dropping the future of a call cancels it at the backend.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name the backend itself uses.
    pub tool: String,
    pub arguments: Arguments,
    /// Goes into `_meta` beside what the protocol wants there.
    pub meta: Map<String, Value>,
    /// Beside the backend's own time-out: the earlier one ends the call.
    pub timeout: Option<Duration>,
    /// Whoever calls gives it up after this time. A wait for a connection and a free place ends shortly before, to say
    /// that nothing was sent.
    pub unsent_timeout: Option<Duration>,
    pub progress: Option<ProgressSink>,
    /// Takes what the backend logs for this call, where it is known to be for this call.
    pub messages: Option<MessageSink>,
    /// What the caller can put to a person and call again: a modern backend may answer
    /// `input_required`.
    pub takes: Takes,
    /// Takes questions that a legacy backend asks while the call runs.
    pub asker: Option<QuestionSink>,
    /// Told of pages that a legacy backend sent the caller to, when they are done with.
    pub pages: Option<PageSink>,
    /// Answers to an earlier `input_required`.
    pub input_responses: Option<IndexMap<String, Exact>>,
    /// State of an earlier `input_required`, as it came.
    pub request_state: Option<String>,
    pub caller: Option<CallerId>,
    /// What the caller showed, where it is known who calls.
    pub token: Option<CallerToken>,
}

/// Kinds of questions that a caller can put to a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takes {
    pub forms: bool,
    pub pages: bool,
}

impl Takes {
    pub const ALL: Self = Self {
        forms: true,
        pages: true,
    };
}

/// Progress of one call. A full channel drops the message: progress never delays a call.
pub type ProgressSink = mpsc::Sender<Progress>;

/// Log messages of one call. A full channel drops the message.
pub type MessageSink = mpsc::Sender<Logged>;

/// Questions of one call, which are rare: boxed, so that a channel without any is small. A full channel refuses the
/// question.
pub type QuestionSink = mpsc::Sender<Box<Question>>;

/// The parameters of `notifications/progress`, as received. Little room is taken for each in a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress(Exact);

/// The parameters of `notifications/message`, as received, and as text alone: many of them may wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    pub level: Box<str>,
    pub params: Box<str>,
}

/// A request of a backend to the caller, alive while its call runs.
#[derive(Debug)]
pub struct Question {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    pub params: Exact,
    /// Takes what the caller answers; dropping it refuses the question.
    pub reply: oneshot::Sender<Answered>,
}

/// The result object or the error that a question is answered with, as the caller wrote it.
pub type Answered = Result<Exact, RpcError>;

impl Call {
    pub fn new(tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self {
            tool: tool.into(),
            arguments: arguments.into(),
            meta: Map::new(),
            timeout: None,
            unsent_timeout: None,
            progress: None,
            messages: None,
            takes: Takes::default(),
            asker: None,
            pages: None,
            input_responses: None,
            request_state: None,
            caller: None,
            token: None,
        }
    }

    /// Adds the idempotency key.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.meta
            .insert(meta::IDEMPOTENCY_KEY.to_owned(), json!(key));
        self
    }
}

impl Progress {
    /// `None` where nothing is said of how far it is, or the numbers themselves are too long.
    pub(crate) fn read(params: Exact) -> Option<Self> {
        if !params.value().get("progress").is_some_and(Value::is_number) {
            return None;
        }
        if params.text().len() <= PROGRESS_BYTES_MAX {
            return Some(Self(params));
        }
        let numbers = ["progress", "total"].into_iter();
        let numbers = numbers.filter_map(|key| Some((key, params.field(key)?)));
        let numbers = Exact::object(numbers.filter(|(_, number)| number.value().is_number()));
        (numbers.text().len() <= PROGRESS_BYTES_MAX).then_some(Self(numbers))
    }

    pub fn params(&self) -> &Exact {
        &self.0
    }

    pub fn made(&self) -> f64 {
        let made = self.0.value().get("progress").and_then(Value::as_f64);
        made.unwrap_or_default()
    }

    pub fn total(&self) -> Option<f64> {
        self.0.value().get("total").and_then(Value::as_f64)
    }

    pub fn message(&self) -> Option<&str> {
        self.0.value().get("message").and_then(Value::as_str)
    }
}

impl Logged {
    /// `None` where it has no level, or what is kept of a long one is too long as well.
    pub(crate) fn read(params: &Exact) -> Option<Self> {
        let level = params.value().get("level")?.as_str()?;
        let (text, bytes) = (params.text(), params.text().len());
        let logged = |params: &str| Self {
            level: level.into(),
            params: params.into(),
        };
        if bytes <= LOGGED_BYTES_MAX {
            return Some(logged(text));
        }
        let data =
            format!("a message of {bytes} bytes, left out: {LOGGED_BYTES_MAX} are passed on");
        let kept = ["level", "logger"].into_iter();
        let kept = kept.filter_map(|key| Some((key, params.field(key)?)));
        let rest = Exact::object(kept.chain([("data", Value::from(data).into())]));
        (rest.text().len() <= LOGGED_BYTES_MAX).then(|| logged(rest.text()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn exact(text: String) -> Exact {
        Exact::from_raw(&RawValue::from_string(text).unwrap()).unwrap()
    }

    #[test]
    fn of_a_long_log_message_it_is_told_that_there_was_one() {
        let said = |params: Value| Logged::read(&params.into());
        let short = json!({ "level": "info", "data": "d", "own": [1] });
        let logged = said(short.clone()).unwrap();
        assert_eq!(
            (&*logged.level, &*logged.params),
            ("info", &*short.to_string())
        );
        let long = "x".repeat(LOGGED_BYTES_MAX);
        let much = json!({ "data": long, "logger": "l", "level": "error", "own": [1] });
        let bytes = much.to_string().len();
        let data = format!("a message of {bytes} bytes, left out: 65536 are passed on");
        let logged = said(much).unwrap();
        let told = json!({ "level": "error", "logger": "l", "data": data });
        assert_eq!(
            (&*logged.level, &*logged.params),
            ("error", &*told.to_string())
        );
        assert_eq!(said(json!({ "level": "info", "logger": long })), None);
        assert_eq!(said(json!({ "data": 1 })), None);
    }

    #[test]
    fn of_progress_that_says_much_the_numbers_are_told() {
        let long = "x".repeat(PROGRESS_BYTES_MAX);
        let said = |params: Value| Progress::read(params.into()).map(|own| own.0.text().to_owned());
        let short = json!({ "progress": 1, "message": "m", "own": [1] });
        assert_eq!(said(short.clone()), Some(short.to_string()));
        let much = json!({ "message": long, "progress": 1, "total": 2, "own": [1] });
        assert_eq!(said(much).unwrap(), r#"{"progress":1,"total":2}"#);
        assert_eq!(said(json!({ "progress": "1" })), None);
        let digits = format!(r#"{{"progress":1.{}}}"#, "0".repeat(PROGRESS_BYTES_MAX));
        assert_eq!(Progress::read(exact(digits)), None);
    }
}
