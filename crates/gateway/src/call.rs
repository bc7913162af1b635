//! `tools/call`: a call becomes a request of the runtime; a run that was started is followed. A call that carries
//! answers back attaches to the run that asked.

use crate::answer::Answer;
use crate::auth::Principal;
use crate::follow::{Terms, follow, goes_on};
use crate::interrupt::{Interrupt, Watch};
use crate::limits::{CLIENT_KEY_BYTES_MAX, LABEL_BYTES_MAX, LABELS_MAX};
use crate::logging::Level;
use crate::passing::{Carried, Sent};
use crate::server::{Shared, passed_on};
use crate::{ask, passing, result_tool, seal};
use onecall_engine::identity::RunId;
use onecall_mcp::{
    Arguments, Era, Exact, RpcError, ShapeError, Written, code, meta, method, to_the_digit,
};
use onecall_runtime::calls::{CallerToken, Reply, Request, Takes};
use onecall_runtime::publish::PublishedWorkflow;
use onecall_runtime::questions::{AnswerError, Follower};
use onecall_workflow::policy::OnDisconnect;
use rmcp::model::ProgressToken;
use rmcp::service::{Peer, RoleServer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who calls, and how they can be reached.
pub(crate) struct Caller {
    pub(crate) era: Era,
    /// Tells this client from others, where that is known.
    pub(crate) client: Option<String>,
    /// What it calls itself, for people.
    pub(crate) client_name: Option<String>,
    pub(crate) principal: Principal,
    /// What it showed, for backends whose tokens are exchanged for it.
    pub(crate) token: Option<CallerToken>,
    /// Trace context from headers.
    pub(crate) trace: Vec<(&'static str, String)>,
    pub(crate) progress: Option<ProgressToken>,
    /// Absent where the client hears nothing but the answer.
    pub(crate) peer: Option<Peer<RoleServer>>,
    pub(crate) watch: Watch,
    /// What the client can put to its person: forms, pages.
    pub(crate) takes: Takes,
    /// What the client declared, in the words of the protocol.
    pub(crate) capabilities: Value,
    /// The client declared the tasks extension.
    pub(crate) takes_tasks: bool,
    /// The client's revision knows links to resources in results.
    pub(crate) takes_links: bool,
    /// The client wants log messages from this level on.
    pub(crate) log_level: Option<Level>,
}

/// Calls a published tool, which may be a workflow; the answer is a tool result, or an error of the protocol. What goes
/// on to a backend is done in place, everything else in a future of its own: it is large, and would be moved with every
/// call.
pub(crate) async fn call(
    shared: &Shared,
    asked: Asked,
    caller: &Caller,
    workflow: Option<&Arc<PublishedWorkflow>>,
) -> Result<Answer, RpcError> {
    let Asked {
        mut request,
        carried,
    } = asked;
    complete(&mut request, caller);
    if let Some(workflow) = workflow {
        return Box::pin(call_workflow(shared, request, carried, caller, workflow)).await;
    }
    if request.tool == result_tool::NAME && result_tool::answers(&shared.runtime.current()) {
        return Box::pin(fetch(shared, &request, &carried, caller)).await;
    }
    passing::exchange(shared, caller, Sent::Call(request), carried).await
}

/// Adds what the caller is known by.
fn complete(request: &mut Request, caller: &Caller) {
    request.principal = caller.principal.name().map(str::to_owned);
    request.client.clone_from(&caller.client);
    request.token.clone_from(&caller.token);
    request.watches = caller.progress.is_some() || caller.log_level.is_some();
    if !request.meta.contains_key(meta::TRACE_PARENT) {
        let headers = caller.trace.iter();
        let headers = headers.map(|(name, text)| ((*name).to_owned(), Value::from(text.as_str())));
        request.meta.extend(headers);
    }
}

/// The tool that fetches the result of a run.
async fn fetch(
    shared: &Shared,
    request: &Request,
    carried: &Carried,
    caller: &Caller,
) -> Result<Answer, RpcError> {
    let arguments = request.arguments.to_value();
    let arguments = arguments.map_err(|fault| unreadable(&fault))?;
    let digest = digest_of(request);
    let told = result_tool::call(shared, &arguments, caller, digest, carried).await;
    told.map(Answer::Ours)
}

async fn call_workflow(
    shared: &Shared,
    request: Box<Request>,
    carried: Carried,
    caller: &Caller,
    workflow: &PublishedWorkflow,
) -> Result<Answer, RpcError> {
    let terms = Terms {
        may_be_task: shared.runtime.keeps(workflow),
        declares_output: workflow.declares_output(),
        cancels: workflow.workflow.policy.on_disconnect == OnDisconnect::Cancel,
        patience: shared.patience,
        digest: digest_of(&request),
    };
    if let Some(told) = carried_back(shared, &carried, caller, &terms).await {
        return told.map(Answer::Ours);
    }
    let name = request.tool.clone();
    // A run must not be left half created, so its start is never interrupted.
    match shared.runtime.call(request).await {
        Reply::Result(value) => Ok(Answer::Ours(Arc::unwrap_or_clone(value))),
        // It has become a tool of a backend in this very moment.
        Reply::Passed(result) => Ok(Answer::Passed(result)),
        Reply::Started(handle) => {
            let follower = Follower::new(shared.runtime.clone(), handle);
            let told = follow(shared, follower, caller, &terms).await;
            told.map(Answer::Ours)
        }
        Reply::Rpc(error) => Err(error),
        // It is no workflow any more, as of this very moment.
        Reply::Asks(_) | Reply::UnknownTool => Err(passing::unknown(&name)),
    }
}

/// Gives the answers that a call carries back to the run that asked, and follows it on. `None` where it carries none;
/// handshake clients know nothing of it.
pub(crate) async fn carried_back(
    shared: &Shared,
    carried: &Carried,
    caller: &Caller,
    terms: &Terms,
) -> Option<Result<Value, RpcError>> {
    let state = carried.state.as_ref()?;
    let responses = carried.responses.as_ref();
    match caller.era {
        Era::Modern => Some(answered(shared, state, responses, caller, terms).await),
        Era::Legacy => None,
    }
}

async fn answered(
    shared: &Shared,
    state: &Value,
    responses: Option<&Exact>,
    caller: &Caller,
    terms: &Terms,
) -> Result<Value, RpcError> {
    if responses.is_some_and(|responses| !responses.is_sound()) {
        let text = "`inputResponses` holds a number out of range, or half a character; a run takes neither";
        return Err(RpcError::invalid_params(text));
    }
    let responses = responses.map(Exact::value);
    let state = ask::open_state(&shared.sealer, state, &terms.digest, &caller.principal)?;
    let answers = ask::answers(&state, responses)?;
    let run = RunId::new(state.run);
    shared.runtime.lend(&run, caller.token.as_ref());
    // Together, since each may have to wait for its effect.
    let given = answers
        .into_iter()
        .map(|given| shared.runtime.answer(&run, given));
    let mut is_slow = false;
    for answered in futures::future::join_all(given).await {
        match answered {
            Ok(_) => {}
            // It is stored, and whoever drives the run takes it up.
            Err(AnswerError::Slow) => is_slow = true,
            // The call that asked was lost with its process: what is told of the held run says more.
            Err(AnswerError::NotAsked { .. }) if is_held(shared, &run).await => {}
            Err(error) => return Err(ask::refused(&error)),
        }
    }
    let attached = shared.runtime.attach(&run).await;
    let follower = attached.map_err(|error| RpcError::invalid_params(error.to_string()))?;
    if is_slow {
        return goes_on(shared, &follower, caller, terms).await;
    }
    follow(shared, follower, caller, terms).await
}

async fn is_held(shared: &Shared, run: &RunId) -> bool {
    let standing = shared.runtime.standing(run).await;
    standing.is_ok_and(|standing| !standing.held.is_empty())
}

/// Nobody reads this: the client has cancelled the request, or has gone.
pub(crate) fn interrupted(interrupt: Interrupt) -> RpcError {
    let message = match interrupt {
        Interrupt::Cancelled => "the call was cancelled",
        Interrupt::Gone => "the client has gone",
        Interrupt::Leaving => "the server is leaving",
    };
    RpcError::new(code::INTERNAL, message)
}

/// A call as its client asks for it.
pub(crate) struct Asked {
    pub(crate) request: Box<Request>,
    pub(crate) carried: Carried,
}

impl Asked {
    /// Reads the parameters of a call; its arguments stay as they came.
    pub(crate) fn read(mut params: Value, written: &Written) -> Result<Self, RpcError> {
        let carried = Carried::take(&mut params, written.responses.as_deref())?;
        let Some(Value::String(tool)) = params.get("name") else {
            return Err(RpcError::invalid_params(
                "`name` must be the name of a tool",
            ));
        };
        let arguments = written.arguments.as_deref();
        let request = requested(tool, arguments, passed_on(&params))?;
        Ok(Self { request, carried })
    }
}

/// A call of a tool with what goes on to whoever answers it.
pub(crate) fn requested(
    tool: &str,
    arguments: Option<&RawValue>,
    meta: Map<String, Value>,
) -> Result<Box<Request>, RpcError> {
    let arguments = match arguments {
        Some(raw) if raw.get() != "null" => {
            Arguments::from_raw(raw).map_err(|fault| unreadable(&fault))?
        }
        Some(_) | None => Value::Object(Map::new()).into(),
    };
    let mut request = Box::new(Request::new(tool, arguments));
    request.labels = labels(meta.get(meta::LABELS))?;
    request.client_key = client_key(meta.get(meta::IDEMPOTENCY_KEY))?;
    request.meta = meta;
    Ok(request)
}

fn unreadable(fault: &ShapeError) -> RpcError {
    RpcError::invalid_params(match fault {
        ShapeError::Wrong { .. } => "`arguments` must be an object".to_owned(),
        fault => format!("`arguments` cannot be read: {fault}"),
    })
}

/// What ties a sealed state to this very call.
pub(crate) fn digest_of(request: &Request) -> String {
    let text = request.arguments.text();
    let arguments = to_the_digit(text.get()).unwrap_or_else(|_| Value::from(text.get()));
    seal::digest(method::TOOLS_CALL, &request.tool, &arguments)
}

fn client_key(given: Option<&Value>) -> Result<Option<String>, RpcError> {
    match given {
        None => Ok(None),
        Some(Value::String(key)) if (1..=CLIENT_KEY_BYTES_MAX).contains(&key.len()) => {
            Ok(Some(key.clone()))
        }
        Some(_) => Err(RpcError::invalid_params(format!(
            "`{}` must be a text of 1 to {CLIENT_KEY_BYTES_MAX} bytes",
            meta::IDEMPOTENCY_KEY
        ))),
    }
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
    let text = |(key, value): (&String, &Value)| {
        let value = value.as_str().ok_or_else(fault)?;
        if is_label(key) && is_label(value) {
            return Ok((key.clone(), value.to_owned()));
        }
        let text = format!(
            "names and texts in `{}` are of at most {LABEL_BYTES_MAX} bytes, without control characters",
            meta::LABELS
        );
        Err(RpcError::invalid_params(text))
    };
    object.iter().map(text).collect()
}

/// Labels stand in every list of runs, so they are short and cannot act on a terminal.
fn is_label(text: &str) -> bool {
    text.len() <= LABEL_BYTES_MAX && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_are_short_plain_texts() {
        let long = "x".repeat(LABEL_BYTES_MAX + 1);
        for (given, is_taken) in [
            (json!({ "team": "data", "größe": "" }), true),
            (json!({ "team": 7 }), false),
            (json!({ "team": long }), false),
            (json!({ long: "data" }), false),
            (json!({ "a\u{1b}[31m": "data" }), false),
            (json!({ "team": "a\nb" }), false),
            (json!([]), false),
        ] {
            let read = labels(Some(&given));
            assert_eq!(read.is_ok(), is_taken, "{given}");
            if let Err(error) = read {
                assert_eq!(error.code, code::INVALID_PARAMS, "{given}");
            }
        }
    }
}
