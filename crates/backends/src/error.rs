//! Why a backend cannot be reached and why a call did not end with a result. A tool that reports
//! its own failure is a result, not an error. Which code a run sees is for those who run it.

use std::time::Duration;

use onecall_mcp::{RpcError, ShapeError, unread_result};
use serde_json::value::RawValue;

use onecall_workflow::name::BackendName;

use crate::stderr::{said, wrote};

/// A set of backends that cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("two backends are named `{0}`; give one of them another name")]
    SameName(BackendName),
    #[error("backend `{backend}`: `{url}` is not a usable URL: {reason}")]
    Url {
        backend: BackendName,
        url: String,
        reason: String,
    },
    #[error("backend `{backend}`: `{url}` is not a usable URL of a token server: {reason}")]
    TokenUrl {
        backend: BackendName,
        url: String,
        reason: String,
    },
    #[error("backend `{backend}`: header {reason}")]
    Header {
        backend: BackendName,
        reason: String,
    },
}

/// Why a connection was not made, or ended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("cannot start `{command}`: {reason}")]
    Spawn { command: String, reason: String },
    /// The reason tells exit status and the last lines of stderr.
    #[error("{0}")]
    Ended(String),
    /// With what a child wrote to stdout that was no message, and the last lines of its stderr.
    #[error("no connection within {} (`connect_timeout` sets how long it may take){}{}", seconds(*.after), wrote(.ignored.as_deref()), said(.stderr))]
    TimedOut {
        after: Duration,
        ignored: Option<String>,
        stderr: Vec<String>,
    },
    #[error("the server refused `{method}`: {error}")]
    Refused {
        method: &'static str,
        error: RpcError,
    },
    #[error("the server answered `{method}` with something unreadable: {fault}")]
    Malformed {
        method: &'static str,
        fault: ShapeError,
    },
    #[error("the server speaks no revision that we speak")]
    NoCommonRevision,
    #[error("the server refused us with HTTP status {0}")]
    Denied(u16),
    #[error("{0}")]
    Http(String),
}

/// Why a call did not end with a result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    #[error("no backend is named `{0}`")]
    UnknownBackend(BackendName),
    /// The call was never sent.
    #[error("backend `{backend}` cannot be reached: {reason}")]
    Unavailable {
        backend: BackendName,
        reason: String,
        retry_in: Option<Duration>,
    },
    /// `sent` tells whether the backend may have seen the call; it was then told to cancel.
    #[error("{}", late(backend, *after, *sent))]
    Timeout {
        backend: BackendName,
        after: Duration,
        sent: bool,
    },
    /// Sent and not answered: it may have taken effect.
    #[error("backend `{backend}` took the call, and what became of it is not known: {reason}")]
    UnknownOutcome {
        backend: BackendName,
        reason: String,
    },
    /// Answered with a protocol error.
    #[error("backend `{backend}` answered with an error: {error}")]
    Rpc {
        backend: BackendName,
        error: Box<RpcError>,
    },
    #[error("backend `{backend}` refused us with HTTP status {status}")]
    Denied { backend: BackendName, status: u16 },
    /// Answered with more than is allowed; the answer was not read.
    #[error("backend `{backend}` answered with {what}")]
    Limit { backend: BackendName, what: String },
    /// The arguments are over the limit; the call was never sent.
    #[error("the arguments for backend `{backend}` are {bytes} bytes long, {limit} are allowed")]
    ArgumentsTooLong {
        backend: BackendName,
        bytes: usize,
        limit: usize,
    },
    /// Every caller has a connection of its own, and all are in use; the call was never sent.
    #[error("backend `{backend}` is busy with the calls of {limit} clients, more are not allowed")]
    TooManyCallers { backend: BackendName, limit: usize },
    /// The call was never sent.
    #[error(
        "backend `{backend}` is called with a token of the caller, and no caller is here who shows one; call again, or answer the run as its owner"
    )]
    NoCaller { backend: BackendName },
    #[error("backend `{backend}` answered with something unreadable: {fault}")]
    Malformed {
        backend: BackendName,
        fault: ShapeError,
    },
    #[error("the backends have been shut down")]
    Stopped,
}

/// Why a request was refused that another server answers now. It did not act, and is asked anew in its own way.
pub(crate) const OTHER_ERA: &str =
    "the server speaks another revision than before; it is connected anew, so call again";

impl CallError {
    /// Refused since another revision is spoken now.
    pub(crate) fn is_other_era(&self) -> bool {
        matches!(self, Self::Unavailable { reason, .. } if reason == OTHER_ERA)
    }

    /// The backend can have acted on the call.
    pub fn may_have_acted(&self) -> bool {
        match self {
            Self::UnknownBackend(_)
            | Self::Unavailable { .. }
            | Self::ArgumentsTooLong { .. }
            | Self::TooManyCallers { .. }
            | Self::NoCaller { .. }
            | Self::Denied { .. }
            | Self::Stopped => false,
            Self::Timeout { sent, .. } => *sent,
            Self::UnknownOutcome { .. }
            | Self::Rpc { .. }
            | Self::Limit { .. }
            | Self::Malformed { .. } => true,
        }
    }
}

/// What a wire says of one request; the client adds whose it was.
#[derive(Clone, Debug)]
pub(crate) enum RequestError {
    NotSent(String),
    Lost(String),
    Rpc(RpcError),
    Denied(u16),
    Limit(String),
    /// What came back is nested deeper than messages may be; the result, where there is one, was not looked into.
    TooDeep {
        limit: usize,
        result: Option<Box<RawValue>>,
    },
    Malformed(ShapeError),
}

impl RequestError {
    /// What came back cannot be read.
    pub(crate) fn of_answer(text: &[u8], fault: ShapeError) -> Self {
        match fault {
            ShapeError::TooDeep { limit } => Self::TooDeep {
                limit,
                result: unread_result(text),
            },
            fault => Self::Malformed(fault),
        }
    }

    /// The code of a protocol error.
    pub(crate) fn rpc_code(&self) -> Option<i64> {
        match self {
            Self::Rpc(error) => Some(error.code),
            _ => None,
        }
    }

    /// What went wrong, in words alone.
    pub(crate) fn into_reason(self) -> String {
        match self {
            Self::NotSent(reason) | Self::Lost(reason) => reason,
            Self::Rpc(error) => error.to_string(),
            Self::Denied(status) => format!("it refused with HTTP status {status}"),
            Self::Limit(what) => format!("it answered with {what}"),
            Self::TooDeep { limit, .. } => format!("it answered with {}", deep(limit)),
            Self::Malformed(fault) => fault.to_string(),
        }
    }

    pub(crate) fn of_call(self, backend: &BackendName) -> CallError {
        let backend = backend.clone();
        match self {
            Self::NotSent(reason) => CallError::Unavailable {
                backend,
                reason,
                retry_in: None,
            },
            Self::Lost(reason) => CallError::UnknownOutcome { backend, reason },
            Self::Rpc(error) => CallError::Rpc {
                backend,
                error: Box::new(error),
            },
            Self::Denied(status) => CallError::Denied { backend, status },
            Self::Limit(what) => CallError::Limit { backend, what },
            Self::TooDeep { limit, .. } => CallError::Limit {
                backend,
                what: deep(limit),
            },
            Self::Malformed(fault) => CallError::Malformed { backend, fault },
        }
    }

    pub(crate) fn of_connect(self, method: &'static str) -> ConnectError {
        match self {
            Self::NotSent(reason) | Self::Lost(reason) => ConnectError::Ended(reason),
            Self::Rpc(error) => ConnectError::Refused { method, error },
            Self::Denied(status) => ConnectError::Denied(status),
            Self::Limit(what) => {
                ConnectError::Http(format!("the server answered `{method}` with {what}"))
            }
            Self::TooDeep { limit, .. } => {
                let what = deep(limit);
                ConnectError::Http(format!("the server answered `{method}` with {what}"))
            }
            Self::Malformed(fault) => ConnectError::Malformed { method, fault },
        }
    }
}

fn deep(limit: usize) -> String {
    format!("JSON nested deeper than {limit} levels")
}

fn late(backend: &BackendName, after: Duration, sent: bool) -> String {
    let after = seconds(after);
    if sent {
        return format!("backend `{backend}` did not answer within {after}");
    }
    format!(
        "backend `{backend}` had no connection or no free place within {after}; nothing was sent"
    )
}

/// `1.5 s`, for messages.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
