//! Requests that are passed through to a backend, and what the backend asks of the client on the way: a modern client
//! carries the questions itself, with the backend's state sealed in ours; a handshake client is asked in its session.

use crate::call::{Caller, interrupted};
use crate::interrupt::{Interrupt, Watch};
use crate::limits::{PROGRESS_AHEAD_MAX, QUESTIONS_AHEAD_MAX, ROUNDS_MAX};
use crate::offers;
use crate::seal::{self, BackendState, Purpose};
use crate::server::Shared;
use onecall_mcp::{Era, InputRequired, RpcError, code, method};
use onecall_runtime::calls::{Passing, Progress, Question, Reply, Request, Takes};
use rmcp::model::{CustomRequest, ProgressNotificationParam, ServerRequest};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// What a client carries back from an earlier answer.
pub(crate) struct Carried {
    pub(crate) state: Option<Value>,
    pub(crate) responses: Option<Value>,
}

impl Carried {
    pub(crate) fn take(params: &mut Value) -> Self {
        let mut take = |key: &str| {
            params
                .as_object_mut()
                .and_then(|params| params.shift_remove(key))
        };
        Self {
            state: take("requestState"),
            responses: take("inputResponses"),
        }
    }
}

/// What became of a request at its backend.
pub(crate) enum Answer {
    Done(Value),
    Asks(InputRequired),
}

/// A request on its way to a backend.
pub(crate) enum Sent<'a> {
    Call(&'a Request),
    Offer { name: &'a str, params: Value },
}

/// Sends a request until its backend has no more to ask, or only the client can carry the question.
pub(crate) async fn exchange(
    shared: &Shared,
    caller: &Caller,
    sent: Sent<'_>,
    digest: &str,
    carried: Carried,
) -> Result<Value, RpcError> {
    let mut passing = opened(shared, caller, digest, carried)?;
    for _ in 0..ROUNDS_MAX {
        let answer = match &sent {
            Sent::Call(request) => call(shared, request, caller, passing.clone()).await?,
            Sent::Offer { name, params } => {
                offers::send(shared, name, params, caller, passing.clone()).await?
            }
        };
        let asked = match answer {
            Answer::Done(result) => return Ok(result),
            Answer::Asks(asked) => asked,
        };
        may_ask(&asked, &caller.capabilities)?;
        if caller.era == Era::Modern {
            return Ok(input_required(shared, caller, digest, asked));
        }
        passing.input_responses = Some(put(caller, asked.requests).await?);
        passing.request_state = asked.request_state;
    }
    let text = format!("the backend asked more than {ROUNDS_MAX} times");
    Err(RpcError::new(code::INTERNAL, text))
}

fn opened(
    shared: &Shared,
    caller: &Caller,
    digest: &str,
    carried: Carried,
) -> Result<Passing, RpcError> {
    let refused = |reason: &str| RpcError::invalid_params(format!("`requestState` {reason}"));
    let mut passing = Passing {
        capabilities: Some(caller.capabilities.clone()),
        takes: caller.takes,
        ..Passing::default()
    };
    if caller.era == Era::Legacy {
        return Ok(passing);
    }
    passing.input_responses = match carried.responses {
        None => None,
        Some(Value::Object(responses)) => Some(responses),
        Some(_) => {
            return Err(RpcError::invalid_params(
                "`inputResponses` must be an object",
            ));
        }
    };
    if let Some(state) = carried.state {
        let text = state.as_str().unwrap_or_default();
        let opened: Option<BackendState> = shared.sealer.unseal(Purpose::BackendState, text);
        let opened = opened.ok_or_else(|| refused("is not one this server gave"))?;
        if opened.expires < seal::now() {
            return Err(refused("has expired"));
        }
        if opened.principal.as_deref() != caller.principal.name() {
            return Err(refused("belongs to another caller"));
        }
        if opened.digest != digest {
            return Err(refused("belongs to another call"));
        }
        passing.request_state = opened.state;
        passing.input_responses.get_or_insert_default();
    }
    Ok(passing)
}

fn input_required(shared: &Shared, caller: &Caller, digest: &str, asked: InputRequired) -> Value {
    let state = BackendState {
        state: asked.request_state,
        principal: caller.principal.name().map(str::to_owned),
        expires: seal::expiry(),
        digest: digest.to_owned(),
    };
    let mut result = json!({
        "resultType": "input_required",
        "requestState": shared.sealer.seal(Purpose::BackendState, &state),
    });
    if !asked.requests.is_empty() {
        result["inputRequests"] = Value::Object(asked.requests);
    }
    result
}

/// A backend may ask only for what the client declared.
fn may_ask(asked: &InputRequired, capabilities: &Value) -> Result<(), RpcError> {
    let mut missing = Map::new();
    for request in asked.requests.values() {
        let Some(needed) = request["method"].as_str().and_then(needed) else {
            let text = "the backend asks for something that no client can give";
            return Err(RpcError::new(code::INTERNAL, text));
        };
        if capabilities.get(needed).is_none() {
            missing.insert(needed.to_owned(), json!({}));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let text = "the backend asks for something that the client does not offer";
    let data = json!({ "requiredCapabilities": missing });
    Err(RpcError::new(code::MISSING_CAPABILITY, text).with_data(data))
}

/// The capability that a client must have declared to be asked so.
fn needed(name: &str) -> Option<&'static str> {
    match name {
        method::ELICIT => Some("elicitation"),
        method::SAMPLE => Some("sampling"),
        method::ROOTS_LIST => Some("roots"),
        _ => None,
    }
}

/// Puts a question of a legacy backend to the client of its call; one that cannot be put is refused by dropping it.
async fn put_live(caller: &Caller, question: Question) {
    let declared = |needed: &str| caller.capabilities.get(needed).is_some();
    if !needed(&question.method).is_some_and(declared) {
        return;
    }
    let asked = json!({ "method": question.method, "params": question.params });
    let requests = Map::from_iter([(String::new(), asked)]);
    if let Ok(mut answers) = put(caller, requests).await
        && let Some(answer) = answers.shift_remove("")
    {
        let _ = question.reply.send(answer);
    }
}

/// Puts a backend's questions to a handshake client, one after the other.
async fn put(
    caller: &Caller,
    requests: Map<String, Value>,
) -> Result<Map<String, Value>, RpcError> {
    let Some(peer) = &caller.peer else {
        return Err(RpcError::new(code::INTERNAL, "the client cannot be asked"));
    };
    let mut answers = Map::new();
    for (key, mut request) in requests {
        let name = request["method"].as_str().unwrap_or_default().to_owned();
        let request = CustomRequest::new(name, Some(request["params"].take()));
        let asking = peer.send_request(ServerRequest::CustomRequest(request));
        let answer = tokio::select! {
            answer = asking => answer,
            interrupt = gone(&caller.watch) => return Err(interrupted(interrupt)),
        };
        let failed = |error: &dyn std::fmt::Display| {
            RpcError::new(
                code::INTERNAL,
                format!("the client did not answer: {error}"),
            )
        };
        let answer = answer.map_err(|error| failed(&error))?;
        answers.insert(
            key,
            serde_json::to_value(answer).map_err(|error| failed(&error))?,
        );
    }
    Ok(answers)
}

/// Calls a backend's tool for a client.
async fn call(
    shared: &Shared,
    request: &Request,
    caller: &Caller,
    passing: Passing,
) -> Result<Answer, RpcError> {
    let mut request = request.clone();
    let name = request.tool.clone();
    request.passing = passing;
    match called(shared, request, caller).await? {
        Reply::Result(value) => Ok(Answer::Done(Arc::unwrap_or_clone(value))),
        Reply::Asks(asked) => Ok(Answer::Asks(asked)),
        Reply::Rpc {
            code,
            message,
            data,
        } => Err(RpcError {
            code,
            message,
            data,
        }),
        Reply::UnknownTool => Err(unknown(&name)),
        // The tool became a workflow in this very moment; its run goes on by itself.
        Reply::Started(handle) => {
            let text = format!("`{name}` is a workflow now; its run is `{}`", handle.id);
            Err(RpcError::new(code::INTERNAL, text))
        }
    }
}

pub(crate) fn unknown(tool: &str) -> RpcError {
    RpcError::invalid_params(format!("no tool is named `{tool}` here"))
}

/// One call, its progress passed on while it lasts.
async fn called(shared: &Shared, mut request: Request, caller: &Caller) -> Result<Reply, RpcError> {
    if caller.peer.is_none() {
        // Nothing is said to this client on the way, and its call ends with its connection.
        return Ok(Box::pin(shared.runtime.call(request)).await);
    }
    let (sink, mut progress) = mpsc::channel(PROGRESS_AHEAD_MAX);
    request.passing.progress = caller.progress.is_some().then_some(sink);
    let (asker, mut questions) = mpsc::channel(QUESTIONS_AHEAD_MAX);
    if caller.era == Era::Legacy && request.passing.takes != Takes::default() {
        request.passing.asker = Some(asker);
    }
    let mut calling = Box::pin(shared.runtime.call(request));
    let reply = loop {
        tokio::select! {
            biased;
            Some(made) = progress.recv() => tell(caller, made).await,
            Some(question) = questions.recv() => put_live(caller, question).await,
            reply = &mut calling => break reply,
            interrupt = gone(&caller.watch) => return Err(interrupted(interrupt)),
        }
    };
    while let Ok(made) = progress.try_recv() {
        tell(caller, made).await;
    }
    Ok(reply)
}

async fn tell(caller: &Caller, made: Progress) {
    let (Some(token), Some(peer)) = (caller.progress.clone(), &caller.peer) else {
        return;
    };
    let mut param = ProgressNotificationParam::new(token, made.progress);
    param.total = made.total;
    param.message = made.message;
    // A client that no longer listens is told nothing; its call ends by itself.
    let _ = peer.notify_progress(param).await;
}

/// A request that is passed through goes on while the server leaves.
async fn gone(watch: &Watch) -> Interrupt {
    loop {
        match watch.interrupted().await {
            Interrupt::Leaving => std::future::pending::<()>().await,
            interrupt @ (Interrupt::Cancelled | Interrupt::Gone) => return interrupt,
        }
    }
}
