//! All the engine wants from outside: call a tool, tell the time, wait.
//! Questions to people need no method: they stand in the state, and answers arrive as inputs.

use crate::event::Outcome;
use crate::identity::{CallId, RunId, Timestamp};
use crate::inquiry::Carried;
use futures::future::BoxFuture;
use onecall_workflow::plan::BoundTool;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

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
    /// Answers to what the tool asked before.
    pub carried: Option<Arc<Carried>>,
    /// Takes what the tool asks while the call is in flight.
    pub asker: Asker,
}

/// Puts questions of one call to the run.
#[derive(Clone, Debug)]
pub struct Asker {
    call: CallId,
    questions: mpsc::Sender<LiveQuestion>,
}

/// A question of a call in flight, on its way to the run.
#[derive(Debug)]
pub(crate) struct LiveQuestion {
    pub(crate) call: CallId,
    pub(crate) request: Value,
    pub(crate) reply: oneshot::Sender<Value>,
}

impl Asker {
    pub(crate) fn new(call: CallId, questions: mpsc::Sender<LiveQuestion>) -> Self {
        Self { call, questions }
    }

    /// Asks `{method, params}` and waits for the answer object. `None`: the run does not take the question,
    /// or ended before it was answered.
    pub async fn ask(&self, request: Value) -> Option<Value> {
        let (reply, answer) = oneshot::channel();
        let question = LiveQuestion {
            call: self.call,
            request,
            reply,
        };
        self.questions.send(question).await.ok()?;
        answer.await.ok()
    }
}
