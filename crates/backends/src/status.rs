//! What can be seen of a backend from outside, as plain data, and the same as JSON for every face that shows it.

use std::time::Duration;

use serde_json::{Value, json};

use onecall_workflow::name::BackendName;

#[derive(Clone, Debug)]
pub struct BackendStatus {
    pub name: BackendName,
    /// `stdio`, `http` or `sse`; while connected what is spoken, else what the options say.
    pub transport: &'static str,
    pub state: BackendState,
    pub breaker: Breaker,
    /// `modern` or `legacy`, while connected.
    pub era: Option<&'static str>,
    /// The revision spoken, as the server named it, while connected.
    pub revision: Option<&'static str>,
    /// What the server says of itself, while connected.
    pub server_info: Option<Value>,
    /// What the server wants its callers to know, while connected.
    pub instructions: Option<String>,
    /// Tools last listed; `None` until a list was read.
    pub tools: Option<usize>,
    /// What was left out of the list, and why, and what else is odd about the server.
    pub remarks: Vec<String>,
    pub in_flight: usize,
    pub connects: u64,
    /// From request to answer, as a moving mean.
    pub latency: Option<Duration>,
    /// Why a call or a connection failed last, even if all is well since.
    pub last_error: Option<String>,
    /// The last lines of a child's stderr: of the one there is, or of the last one.
    pub stderr: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendState {
    /// Nobody has needed it yet.
    Idle,
    Connecting,
    Ready,
    /// Connected, but it answers nothing, or its circuit breaker is open; calls fail at once until a probe or a call is
    /// answered.
    Silent {
        reason: String,
    },
    Down {
        reason: String,
        /// It refused our credentials, or wants some.
        is_denied: bool,
        retry_in: Duration,
    },
    Stopped,
    /// The files have errors in what they say of it, so it is never connected.
    Invalid {
        reason: String,
    },
}

/// Whether calls are let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaker {
    Closed,
    /// Calls fail at once.
    Open,
    /// It is being tried whether calls can be let through again: by a probe or by one call, at which others still fail
    /// at once, or by a new connection, for which they wait.
    HalfOpen,
}

impl BackendState {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Silent { .. } => "silent",
            Self::Down { .. } => "down",
            Self::Stopped => "stopped",
            Self::Invalid { .. } => "invalid",
        }
    }

    /// Why it cannot be used now.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Silent { reason } | Self::Down { reason, .. } | Self::Invalid { reason } => {
                Some(reason)
            }
            Self::Idle | Self::Connecting | Self::Ready | Self::Stopped => None,
        }
    }
}

impl Breaker {
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

impl BackendStatus {
    pub fn to_json(&self) -> Value {
        let retry_in = match &self.state {
            BackendState::Down { retry_in, .. } => Some(millis(*retry_in)),
            _ => None,
        };
        json!({
            "name": self.name.as_str(),
            "transport": self.transport,
            "state": self.state.word(),
            "reason": self.state.reason(),
            "retry_in_ms": retry_in,
            "breaker": self.breaker.word(),
            "era": self.era,
            "revision": self.revision,
            "server": self.server_info,
            "tools": self.tools,
            "remarks": self.remarks,
            "in_flight": self.in_flight,
            "connects": self.connects,
            "latency_ms": self.latency.map(|latency| latency.as_secs_f64() * 1000.0),
            "last_error": self.last_error,
        })
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
