//! All the engine wants from outside: call a tool, tell the time, wait.
//! Questions need no method: they stand in the state, and answers arrive as inputs.

use crate::event::Outcome;
use crate::identity::{CallId, RunId, Timestamp};
use futures::future::BoxFuture;
use onecall_workflow::plan::BoundTool;
use serde_json::Value;
use std::sync::Arc;

pub trait World: Send + Sync {
    /// Makes a call. Dropping the future cancels it.
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome>;
    fn now(&self) -> Timestamp;
    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()>;
}

/// One call to make.
#[derive(Clone, Debug)]
pub struct ToolCall {
    pub run: RunId,
    pub id: CallId,
    pub step: String,
    pub tool: Arc<BoundTool>,
    pub arguments: Arc<Value>,
    /// Goes out in `_meta`, so that a backend can tell a repeated call.
    pub key: String,
    pub deadline: Option<Timestamp>,
}
