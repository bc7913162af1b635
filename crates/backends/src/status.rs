//! What can be seen of a backend from outside, as plain data.

use std::time::Duration;

use serde_json::Value;

use onecall_workflow::name::BackendName;

#[derive(Clone, Debug)]
pub struct BackendStatus {
    pub name: BackendName,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    pub state: BackendState,
    /// The revision spoken, while connected.
    pub revision: Option<&'static str>,
    /// What the server says of itself, while connected.
    pub server_info: Option<Value>,
    /// What the server wants its callers to know, while connected.
    pub instructions: Option<String>,
    /// Tools last listed; `None` until a list was read.
    pub tools: Option<usize>,
    pub in_flight: usize,
    pub connects: u64,
    /// The last lines of a child's stderr, while connected.
    pub stderr: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendState {
    /// Nobody has needed it yet.
    Idle,
    Connecting,
    Ready,
    /// Connected, but it answers nothing; calls fail at once until a probe is answered.
    Silent {
        reason: String,
    },
    Down {
        reason: String,
        retry_in: Duration,
    },
    Stopped,
}
