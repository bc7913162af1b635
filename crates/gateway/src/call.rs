//! `tools/call`: a call becomes a request of the runtime; a run that was started is followed until it rests.

use crate::interrupt::{Interrupt, Watch};
use crate::limits::LABELS_MAX;
use crate::progress::Progress;
use crate::server::{Shared, passed_on};
use onecall_engine::failure::Code;
use onecall_mcp::{RpcError, code, meta};
use onecall_runtime::calls::{Moved, Reply, Request, RunHandle};
use onecall_runtime::publish::{PublishedWorkflow, Target};
use onecall_runtime::result;
use onecall_runtime::runs::Standing;
use onecall_workflow::policy::OnDisconnect;
use rmcp::model::ProgressToken;
use rmcp::service::{Peer, RoleServer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who calls, and how they can be reached.
pub(crate) struct Caller {
    pub(crate) progress: Option<ProgressToken>,
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) watch: Watch,
}

/// Calls a published tool; the answer is a tool result, or an error of the protocol.
pub(crate) async fn call(
    shared: &Shared,
    params: Value,
    caller: Caller,
) -> Result<Value, RpcError> {
    let request = read(params)?;
    let workflow = workflow_of(shared, &request.tool);
    let name = request.tool.clone();
    let reply = match &workflow {
        // A run must not be left half created, so its start is never interrupted.
        Some(_) => shared.runtime.call(request).await,
        None => tokio::select! {
            reply = shared.runtime.call(request) => reply,
            interrupt = gone(&caller.watch) => return Err(interrupted(interrupt)),
        },
    };
    match reply {
        Reply::Result(value) => Ok(Arc::unwrap_or_clone(value)),
        Reply::Rpc {
            code,
            message,
            data,
        } => Err(RpcError {
            code,
            message,
            data,
        }),
        Reply::UnknownTool => Err(RpcError::invalid_params(format!(
            "no tool is named `{name}` here"
        ))),
        Reply::Started(handle) => follow(handle, caller, workflow.as_deref()).await,
    }
}

fn workflow_of(shared: &Shared, tool: &str) -> Option<Arc<PublishedWorkflow>> {
    let published = Arc::clone(&shared.runtime.published().borrow());
    match &published.find(tool)?.target {
        Target::Workflow(workflow) => Some(Arc::clone(workflow)),
        Target::Backend { .. } => None,
    }
}

/// A call that is passed through goes on while the server leaves.
async fn gone(watch: &Watch) -> Interrupt {
    loop {
        match watch.interrupted().await {
            Interrupt::Leaving => std::future::pending::<()>().await,
            interrupt @ (Interrupt::Cancelled | Interrupt::Gone) => return interrupt,
        }
    }
}

/// Nobody reads this: the client has cancelled the request, or has gone.
fn interrupted(interrupt: Interrupt) -> RpcError {
    let message = match interrupt {
        Interrupt::Cancelled => "the call was cancelled",
        Interrupt::Gone => "the client has gone",
        Interrupt::Leaving => "the server is leaving",
    };
    RpcError::new(code::INTERNAL, message)
}

fn read(mut params: Value) -> Result<Request, RpcError> {
    let Some(Value::String(tool)) = params.get("name") else {
        return Err(RpcError::invalid_params(
            "`name` must be the name of a tool",
        ));
    };
    let mut request = Request::new(tool.clone(), Value::Object(Map::new()));
    request.meta = passed_on(&params);
    request.labels = labels(request.meta.get(meta::LABELS))?;
    match params.get_mut("arguments").map(Value::take) {
        None | Some(Value::Null) => {}
        Some(arguments @ Value::Object(_)) => request.arguments = arguments,
        Some(_) => return Err(RpcError::invalid_params("`arguments` must be an object")),
    }
    Ok(request)
}

fn labels(given: Option<&Value>) -> Result<BTreeMap<String, String>, RpcError> {
    let fault =
        || RpcError::invalid_params(format!("`{}` must be an object of strings", meta::LABELS));
    let Some(given) = given else {
        return Ok(BTreeMap::new());
    };
    let object = given.as_object().ok_or_else(fault)?;
    if object.len() > LABELS_MAX {
        let text = format!("`{}` holds more than {LABELS_MAX} labels", meta::LABELS);
        return Err(RpcError::invalid_params(text));
    }
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    object
        .iter()
        .map(|label| text(label).ok_or_else(fault))
        .collect()
}

/// Follows a run for its caller.
async fn follow(
    mut handle: RunHandle,
    caller: Caller,
    workflow: Option<&PublishedWorkflow>,
) -> Result<Value, RpcError> {
    let declares_output = workflow.is_some_and(PublishedWorkflow::declares_output);
    let token = caller.progress.clone();
    let mut progress = token.map(|token| Progress::new(token, caller.peer.clone()));
    loop {
        let moved = tokio::select! {
            moved = handle.moved() => moved,
            interrupt = caller.watch.interrupted() => {
                return leave(&handle, interrupt, workflow).await;
            }
        };
        match moved {
            Moved::Events(seen) => {
                if let Some(progress) = &mut progress {
                    progress.tell(&seen.events, &seen.steps).await;
                }
            }
            Moved::Rests(standing) => return Ok(rested(&standing, declares_output)),
        }
    }
}

async fn leave(
    handle: &RunHandle,
    interrupt: Interrupt,
    workflow: Option<&PublishedWorkflow>,
) -> Result<Value, RpcError> {
    let outlives = workflow
        .is_some_and(|workflow| workflow.workflow.policy.on_disconnect == OnDisconnect::Continue);
    match interrupt {
        Interrupt::Cancelled if outlives => {}
        Interrupt::Cancelled => handle.cancel("the client cancelled the call").await,
        Interrupt::Gone => {}
        Interrupt::Leaving => {
            let declares_output = workflow.is_some_and(PublishedWorkflow::declares_output);
            let text = format!(
                "the server is stopping and run `{}` goes on without it; ask for its result later",
                handle.id
            );
            let code = Code::PendingRunning;
            return Ok(result::unfinished(&handle.id, code, text, declares_output));
        }
    }
    Err(interrupted(interrupt))
}

/// The answer for a run that has ended, or that only a person can move on.
fn rested(standing: &Standing, declares_output: bool) -> Value {
    if let Some(result) = &standing.result {
        return Value::clone(result);
    }
    let run = &standing.run;
    if !standing.held.is_empty() {
        let text = format!(
            "run `{run}` is held: {}; a person decides with \
             `onecall runs answer {run} STEP --retry | --result JSON | --fail`",
            standing.held.join("; ")
        );
        return result::unfinished(run, Code::UnknownOutcomeHeld, text, declares_output);
    }
    let mut text = format!("run `{run}` waits for a person.");
    for question in &standing.questions {
        let (step, message) = (&question.step, &question.message);
        text = format!(
            "{text} Step `{step}` asks: {message} Answer with `onecall runs answer {run} {step}`."
        );
    }
    result::unfinished(run, Code::PendingInput, text, declares_output)
}
