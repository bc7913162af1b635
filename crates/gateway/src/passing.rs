//! Requests that are passed through to a backend, and what the backend asks of the client on the way: a modern client
//! carries the questions itself, with the backend's state sealed in ours, or with the name of the call that is held
//! for it; a handshake client is asked in its session.

use crate::answer::Answer;
use crate::call::{Caller, digest_of, interrupted};
use crate::held::{self, Held};
use crate::interrupt::Interrupt;
use crate::limits::{MESSAGES_AHEAD_MAX, PROGRESS_AHEAD_MAX, QUESTIONS_AHEAD_MAX, ROUNDS_MAX};
use crate::logging::Log;
use crate::offers;
use crate::pages;
use crate::seal::{self, BackendState, Purpose};
use crate::server::Shared;
use onecall_mcp::{Era, InputRequired, RpcError, code, meta, method};
use onecall_runtime::calls::{Passing, Progress, Question, Reply, Request, Takes};
use onecall_runtime::result;
use rmcp::model::{CustomRequest, ProgressNotificationParam, ServerRequest};
use serde_json::{Map, Value, json};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// What a client carries back from an earlier answer.
pub(crate) struct Carried {
    pub(crate) state: Option<Value>,
    pub(crate) responses: Option<Value>,
}

impl Carried {
    /// A first call carries nothing.
    pub(crate) const NOTHING: Self = Self {
        state: None,
        responses: None,
    };

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
pub(crate) enum Came {
    Done(Answer),
    Asks(InputRequired),
    /// It asks in the middle, and only a modern client can answer.
    Waits(Held),
    /// It wants these pages visited first.
    Pages(Map<String, Value>),
}

/// A request on its way to a backend.
pub(crate) enum Sent<'a> {
    Call(&'a Request),
    Offer { name: &'a str, params: Value },
}

impl Sent<'_> {
    /// What ties a sealed state to this very request.
    fn digest(&self) -> String {
        match self {
            Self::Call(request) => digest_of(request),
            Self::Offer { name, params } => {
                let key = match *name {
                    method::PROMPTS_GET => "name",
                    _ => "uri",
                };
                let subject = params[key].as_str().unwrap_or_default();
                seal::digest(name, subject, &params["arguments"])
            }
        }
    }
}

/// Sends a request until its backend has no more to ask, or only the client can carry the question.
pub(crate) async fn exchange(
    shared: &Shared,
    caller: &Caller,
    sent: Sent<'_>,
    carried: Carried,
) -> Result<Answer, RpcError> {
    let Opened {
        mut passing,
        mut held,
        pages,
    } = opened(shared, caller, &sent, carried)?;
    if pages && let Some(refused) = pages::refused(passing.input_responses.take(), &sent)? {
        return Ok(refused);
    }
    for _ in 0..ROUNDS_MAX {
        let came = match (&sent, held.take()) {
            (_, Some(name)) => go_on(shared, caller, name, passing.input_responses.take()).await,
            (Sent::Call(request), None) => call(shared, request, caller, passing.clone()).await,
            (Sent::Offer { name, params }, None) => {
                offers::send(shared, name, params, caller, passing.clone()).await
            }
        };
        let asked = match came.or_else(|error| pages::wanted(error, caller))? {
            Came::Done(answer) => return Ok(answer),
            Came::Asks(asked) => asked,
            Came::Waits(waiting) => {
                return hold(shared, caller, &sent, waiting).map(Answer::Ours);
            }
            Came::Pages(requests) => {
                let state = BackendState {
                    pages: true,
                    ..state_of(caller, &sent, None, None)
                };
                return Ok(Answer::Ours(input_required(shared, &state, requests)));
            }
        };
        may_ask(&asked, caller)?;
        if caller.era == Era::Modern {
            let state = state_of(caller, &sent, asked.request_state, None);
            let asking = input_required(shared, &state, asked.requests);
            return Ok(Answer::Ours(asking));
        }
        passing.input_responses = Some(put(caller, asked.requests).await?);
        passing.request_state = asked.request_state;
    }
    let text = format!("the backend asked more than {ROUNDS_MAX} times");
    Err(RpcError::new(code::INTERNAL, text))
}

/// What the client carried back, opened.
struct Opened {
    passing: Passing,
    /// The call that waits for what came back.
    held: Option<u64>,
    /// What came back says whether pages were visited.
    pages: bool,
}

fn opened(
    shared: &Shared,
    caller: &Caller,
    sent: &Sent<'_>,
    carried: Carried,
) -> Result<Opened, RpcError> {
    let refused = |reason: &str| RpcError::invalid_params(format!("`requestState` {reason}"));
    let mut passing = Passing {
        capabilities: Some(caller.capabilities.clone()),
        takes: caller.takes,
        ..Passing::default()
    };
    let (mut held, mut pages) = (None, false);
    if caller.era == Era::Legacy {
        return Ok(Opened {
            passing,
            held,
            pages,
        });
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
        if opened.digest != sent.digest() {
            return Err(refused("belongs to another call"));
        }
        passing.request_state = opened.state;
        let responses = passing.input_responses.get_or_insert_default();
        if !shared.spent.admits(text, opened.expires, responses) {
            return Err(refused(
                "was answered otherwise; call again to be asked anew",
            ));
        }
        held = opened.held;
        pages = opened.pages;
    }
    Ok(Opened {
        passing,
        held,
        pages,
    })
}

fn state_of(
    caller: &Caller,
    sent: &Sent<'_>,
    state: Option<String>,
    held: Option<u64>,
) -> BackendState {
    BackendState {
        state,
        held,
        pages: false,
        principal: caller.principal.name().map(str::to_owned),
        expires: seal::expiry(),
        digest: sent.digest(),
    }
}

fn input_required(shared: &Shared, state: &BackendState, requests: Map<String, Value>) -> Value {
    let mut result = json!({
        "resultType": "input_required",
        "requestState": shared.sealer.seal(Purpose::BackendState, state),
    });
    if !requests.is_empty() {
        result["inputRequests"] = Value::Object(requests);
    }
    result
}

/// Holds a call until its client comes back with the answer.
fn hold(
    shared: &Shared,
    caller: &Caller,
    sent: &Sent<'_>,
    waiting: Held,
) -> Result<Value, RpcError> {
    let requests = waiting.requests();
    let Some(name) = shared.held.keep(waiting) else {
        let text = "the backend asks, and too many calls wait for their clients; try again later";
        return Err(RpcError::new(code::INTERNAL, text));
    };
    let state = state_of(caller, sent, None, Some(name));
    Ok(input_required(shared, &state, requests))
}

/// Gives the answer to the call that waits for it, and follows it on.
async fn go_on(
    shared: &Shared,
    caller: &Caller,
    name: u64,
    responses: Option<Map<String, Value>>,
) -> Result<Came, RpcError> {
    let Some(waiting) = shared.held.take(name) else {
        let text = "`requestState` belongs to a call that no longer waits; call the tool again";
        return Err(RpcError::invalid_params(text));
    };
    match responses.and_then(|mut responses| responses.shift_remove(held::KEY)) {
        Some(answer) => follow(caller, waiting.answered(answer)).await,
        None => Ok(Came::Waits(waiting)),
    }
}

/// What a client must have declared to be asked so.
enum Needed {
    Form,
    Page,
    Other(&'static str),
}

impl Needed {
    /// `None` where no client can be asked so.
    fn of(name: &str, params: &Value) -> Option<Self> {
        match (name, &params["mode"]) {
            (method::ELICIT, Value::Null) => Some(Self::Form),
            (method::ELICIT, mode) => match mode.as_str()? {
                "form" => Some(Self::Form),
                "url" => Some(Self::Page),
                _ => None,
            },
            (method::SAMPLE, _) => Some(Self::Other("sampling")),
            (method::ROOTS_LIST, _) => Some(Self::Other("roots")),
            _ => None,
        }
    }

    fn is_declared(&self, caller: &Caller) -> bool {
        match self {
            Self::Form => caller.takes.forms,
            Self::Page => caller.takes.pages,
            Self::Other(name) => caller.capabilities.get(name).is_some(),
        }
    }

    /// Adds it to an object of capabilities.
    fn write(&self, capabilities: &mut Value) {
        match self {
            Self::Form => capabilities["elicitation"]["form"] = json!({}),
            Self::Page => capabilities["elicitation"]["url"] = json!({}),
            Self::Other(name) => capabilities[name] = json!({}),
        }
    }
}

/// A backend may ask only for what the client declared.
fn may_ask(asked: &InputRequired, caller: &Caller) -> Result<(), RpcError> {
    let mut missing = Value::Null;
    for request in asked.requests.values() {
        let name = request["method"].as_str().unwrap_or_default();
        let Some(needed) = Needed::of(name, &request["params"]) else {
            let text = "the backend asks for something that no client can give";
            return Err(RpcError::new(code::INTERNAL, text));
        };
        if !needed.is_declared(caller) {
            needed.write(&mut missing);
        }
    }
    if missing.is_null() {
        return Ok(());
    }
    let text = "the backend asks for something that the client does not offer";
    let data = json!({ "requiredCapabilities": missing });
    Err(RpcError::new(code::MISSING_CAPABILITY, text).with_data(data))
}

/// Whether the client of a call has said that it takes such a question.
fn takes(caller: &Caller, question: &Question) -> bool {
    let needed = Needed::of(&question.method, &question.params);
    needed.is_some_and(|needed| needed.is_declared(caller))
}

/// A page as handshake clients take it: with a name, which modern backends no longer give.
fn named_page(name: &str, params: &mut Value) {
    if name == method::ELICIT && params["mode"] == "url" && params["elicitationId"].is_null() {
        params["elicitationId"] = Value::from(format!("{:032x}", rand::random::<u128>()));
    }
}

/// Puts a question of a legacy backend to the handshake client of its call; without an answer it is refused.
async fn put_live(caller: &Caller, question: Question) {
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
        let mut params = request["params"].take();
        named_page(&name, &mut params);
        let request = CustomRequest::new(name, Some(params));
        let asking = peer.send_request(ServerRequest::CustomRequest(request));
        let answer = tokio::select! {
            answer = asking => answer,
            interrupt = caller.watch.interrupted() => return Err(interrupted(interrupt)),
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

/// A call at its backend, and what comes from there meanwhile. Dropping it cancels the call.
pub(crate) struct Calling {
    tool: String,
    /// The tool is read-only or idempotent.
    is_harmless: bool,
    reply: Pin<Box<dyn Future<Output = Reply> + Send>>,
    progress: mpsc::Receiver<Progress>,
    messages: mpsc::Receiver<Value>,
    questions: mpsc::Receiver<Box<Question>>,
    /// How often it may ask yet.
    rounds: usize,
}

impl std::fmt::Debug for Calling {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Calling");
        shown.field("tool", &self.tool).finish_non_exhaustive()
    }
}

impl Calling {
    /// The same call, which goes on while nobody follows it.
    pub(crate) fn driven(self) -> Self {
        let driven = AbortOnDropHandle::new(tokio::spawn(self.reply));
        let reply = async move {
            driven.await.unwrap_or_else(|fault| {
                let text = format!("the call was lost: {fault}");
                Reply::Rpc(RpcError::new(code::INTERNAL, text))
            })
        };
        Self {
            reply: Box::pin(reply),
            ..self
        }
    }
}

/// Calls a backend's tool for a client.
async fn call(
    shared: &Shared,
    request: &Request,
    caller: &Caller,
    passing: Passing,
) -> Result<Came, RpcError> {
    let mut request = request.clone();
    let tool = request.tool.clone();
    request.passing = passing;
    if caller.peer.is_none() && caller.takes == Takes::default() {
        // Nothing is said to this client on the way, and its call ends with its connection.
        let mut calling = Box::pin(shared.runtime.call(request));
        return tokio::select! {
            biased;
            reply = &mut calling => came_of(&tool, reply),
            () = caller.watch.leaving.cancelled() => {
                let is_harmless = shared.runtime.is_harmless(&tool);
                left(Interrupt::Leaving, &tool, is_harmless)
            }
        };
    }
    let (sink, progress) = mpsc::channel(PROGRESS_AHEAD_MAX);
    request.passing.progress = caller.progress.is_some().then_some(sink);
    let (sink, messages) = mpsc::channel(MESSAGES_AHEAD_MAX);
    if let Some(level) = caller.log_level {
        request.passing.messages = Some(sink);
        let level = Value::from(level.as_str());
        request.meta.insert(meta::LOG_LEVEL.to_owned(), level);
    }
    request.passing.pages = pages::told(caller);
    let (asker, questions) = mpsc::channel(QUESTIONS_AHEAD_MAX);
    request.passing.asker = (caller.takes != Takes::default()).then_some(asker);
    let runtime = shared.runtime.clone();
    let calling = Calling {
        is_harmless: runtime.is_harmless(&tool),
        tool,
        reply: Box::pin(async move { runtime.call(request).await }),
        progress,
        messages,
        questions,
        rounds: ROUNDS_MAX,
    };
    follow(caller, calling).await
}

/// Follows a call to its end, or to a question that its client must carry.
async fn follow(caller: &Caller, mut calling: Calling) -> Result<Came, RpcError> {
    let reply = loop {
        tokio::select! {
            biased;
            Some(made) = calling.progress.recv() => tell(caller, made).await,
            Some(message) = calling.messages.recv() => log(caller, message).await,
            Some(question) = calling.questions.recv() => {
                // One that is not put is refused by dropping it.
                if calling.rounds == 0 || !takes(caller, &question) {
                    continue;
                }
                calling.rounds -= 1;
                match caller.era {
                    // A backend may give up on its question and end the call.
                    Era::Legacy => tokio::select! {
                        () = put_live(caller, *question) => {}
                        reply = &mut calling.reply => break reply,
                    },
                    Era::Modern => return Ok(Came::Waits(Held::new(calling, *question))),
                }
            }
            reply = &mut calling.reply => break reply,
            interrupt = caller.watch.interrupted() => return {
                left(interrupt, &calling.tool, calling.is_harmless)
            },
        }
    };
    while let Ok(made) = calling.progress.try_recv() {
        tell(caller, made).await;
    }
    while let Ok(message) = calling.messages.try_recv() {
        log(caller, message).await;
    }
    came_of(&calling.tool, reply)
}

fn came_of(tool: &str, reply: Reply) -> Result<Came, RpcError> {
    match reply {
        Reply::Result(value) => Ok(Came::Done(Answer::Ours(Arc::unwrap_or_clone(value)))),
        Reply::Passed(result) => Ok(Came::Done(Answer::Passed(result))),
        Reply::Asks(asked) => Ok(Came::Asks(asked)),
        Reply::Rpc(error) => Err(error),
        Reply::UnknownTool => Err(unknown(tool)),
        // The tool became a workflow in this very moment; its run goes on by itself.
        Reply::Started(handle) => {
            let text = format!("`{tool}` is a workflow now; its run is `{}`", handle.id);
            Err(RpcError::new(code::INTERNAL, text))
        }
    }
}

pub(crate) fn unknown(tool: &str) -> RpcError {
    RpcError::invalid_params(format!("no tool is named `{tool}` here"))
}

async fn log(caller: &Caller, message: Value) {
    if let Some(log) = Log::new(caller) {
        log.pass(message).await;
    }
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

/// A call that nobody follows any more; dropping it cancels it at its backend.
fn left(interrupt: Interrupt, tool: &str, is_harmless: bool) -> Result<Came, RpcError> {
    match interrupt {
        Interrupt::Cancelled | Interrupt::Gone => Err(interrupted(interrupt)),
        Interrupt::Leaving => {
            let text = format!(
                "the server is leaving and no longer waits for `{tool}`, which may have acted"
            );
            let unknown = result::unanswered(text, is_harmless);
            Ok(Came::Done(Answer::Ours(unknown)))
        }
    }
}
