//! Calls that are passed through to a backend, and what the backend asks meanwhile. A question reaches the client
//! that made the call and nobody else: on the stream of that call in a session, as `input_required` in the modern
//! era, with the backend's state sealed inside ours.

use crate::auth::Principal;
use crate::call::{Caller, gone, interrupted};
use crate::limits::ROUNDS_MAX;
use crate::seal::{self, BackendState, Purpose};
use crate::server::Shared;
use onecall_mcp::{Era, InputRequired, Mode, QuestionShape, RpcError, answer, code, method};
use onecall_runtime::calls::{Question, Reply, Request, Takes};
use rmcp::model::{CustomRequest, ServerRequest};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

/// Limit: questions of one call that wait for their client.
const QUESTIONS_MAX: usize = 8;

/// What a modern client brings back.
pub(crate) struct Back {
    pub(crate) state: Option<Value>,
    pub(crate) responses: Option<Value>,
    pub(crate) digest: String,
}

/// Makes the call; a session is asked as often as the backend asks.
pub(crate) async fn call(
    shared: &Shared,
    mut request: Request,
    caller: &Caller,
    back: Back,
) -> Result<Reply, RpcError> {
    request.takes = Takes {
        forms: caller.shows_forms,
        pages: caller.shows_pages,
    };
    match caller.era {
        Era::Modern => modern(shared, request, caller, back).await,
        Era::Legacy => legacy(shared, request, caller).await,
    }
}

async fn modern(
    shared: &Shared,
    mut request: Request,
    caller: &Caller,
    back: Back,
) -> Result<Reply, RpcError> {
    if let Some(state) = &back.state {
        let opened = open(shared, state, &back.digest, &caller.principal)?;
        request.request_state = opened.state;
        request.input_responses = match back.responses {
            None => Some(Map::new()),
            Some(Value::Object(responses)) => Some(responses),
            Some(_) => {
                let text = "`inputResponses` must be an object";
                return Err(RpcError::invalid_params(text));
            }
        };
    }
    let reply = tokio::select! {
        reply = shared.runtime.call(request) => reply,
        interrupt = gone(&caller.watch) => return Err(interrupted(interrupt)),
    };
    Ok(match reply {
        Reply::Asks(asked) => {
            let state = BackendState {
                state: asked.request_state,
                principal: caller.principal.name().map(str::to_owned),
                expires: seal::expiry(),
                digest: back.digest,
            };
            let sealed = shared.sealer.seal(Purpose::BackendState, &state);
            Reply::Result(std::sync::Arc::new(json!({
                "resultType": "input_required",
                "inputRequests": asked.requests,
                "requestState": sealed,
            })))
        }
        other => other,
    })
}

fn open(
    shared: &Shared,
    state: &Value,
    digest: &str,
    principal: &Principal,
) -> Result<BackendState, RpcError> {
    let refused = |reason: &str| Err(RpcError::invalid_params(format!("`requestState` {reason}")));
    let text = state.as_str().unwrap_or_default();
    let opened: Option<BackendState> = shared.sealer.unseal(Purpose::BackendState, text);
    let Some(opened) = opened else {
        return refused("is not one this server gave");
    };
    if opened.expires < seal::now() {
        return refused("has expired");
    }
    if opened.principal.as_deref() != principal.name() {
        return refused("belongs to another caller");
    }
    if opened.digest != digest {
        return refused("belongs to another call");
    }
    Ok(opened)
}

async fn legacy(shared: &Shared, mut request: Request, caller: &Caller) -> Result<Reply, RpcError> {
    let (sink, mut questions) = mpsc::channel(QUESTIONS_MAX);
    if request.takes != Takes::default() {
        request.asker = Some(sink);
    }
    for _ in 0..ROUNDS_MAX {
        let calling = shared.runtime.call(request.clone());
        tokio::pin!(calling);
        let reply = loop {
            tokio::select! {
                reply = &mut calling => break reply,
                Some(question) = questions.recv() => put(caller, question).await,
                interrupt = gone(&caller.watch) => return Err(interrupted(interrupt)),
            }
        };
        let Reply::Asks(asked) = reply else {
            return Ok(reply);
        };
        let (answers, state) = answers(caller, asked).await;
        request.input_responses = Some(answers);
        request.request_state = state;
    }
    let text = format!("the backend asked more than {ROUNDS_MAX} times");
    Err(RpcError::new(code::INTERNAL, text))
}

/// Puts a question of a legacy backend to the client of its call; one that cannot be put is refused by dropping it.
async fn put(caller: &Caller, question: Question) {
    if question.method != method::ELICIT || !fits(caller, &question.params) {
        return;
    }
    if let Some(answer) = elicit(caller, question.params).await {
        let _ = question.reply.send(answer);
    }
}

/// Asks all that a modern backend wants to know, one after the other.
async fn answers(caller: &Caller, asked: InputRequired) -> (Map<String, Value>, Option<String>) {
    let mut answers = Map::new();
    for (key, request) in asked.requests {
        let params = request.get("params").cloned().unwrap_or_default();
        let is_question = request.get("method").and_then(Value::as_str) == Some(method::ELICIT);
        let given = if is_question && fits(caller, &params) {
            elicit(caller, params).await
        } else {
            None
        };
        answers.insert(key, given.unwrap_or_else(|| answer("cancel", None)));
    }
    (answers, asked.request_state)
}

fn fits(caller: &Caller, params: &Value) -> bool {
    match QuestionShape::read(params).mode {
        Mode::Form => caller.shows_forms,
        Mode::Url => caller.shows_pages,
    }
}

async fn elicit(caller: &Caller, params: Value) -> Option<Value> {
    let request = CustomRequest::new(method::ELICIT, Some(params));
    let request = ServerRequest::CustomRequest(request);
    let answer = caller.peer.send_request(request).await;
    let answer = answer
        .inspect_err(|error| tracing::warn!(%error, "the client could not ask"))
        .ok()?;
    serde_json::to_value(answer).ok()
}
