//! Requests that are passed through to a backend, and what the backend asks of the client on the way: a modern client
//! carries the questions itself, with the backend's state sealed in ours, or with the name of the call that is held
//! for it; a handshake client is asked in its session.

mod asking;

use crate::answer::Answer;
use crate::call::{Caller, digest_of, interrupted};
use crate::held::{self, Held};
use crate::interrupt::Interrupt;
use crate::limits::{MESSAGES_AHEAD_MAX, PROGRESS_AHEAD_MAX, QUESTIONS_AHEAD_MAX, ROUNDS_MAX};
use crate::logging::{self, Log};
use crate::offers;
use crate::pages;
use crate::result_tool;
use crate::seal::{self, BackendState, Purpose};
use crate::server::Shared;
use asking::{may_ask, put, put_live, takes};
use indexmap::IndexMap;
use onecall_mcp::field::{INPUT_REQUESTS, INPUT_RESPONSES, REQUEST_STATE};
use onecall_mcp::{
    Era, Exact, Fields, InputRequired, RpcError, ShapeError, code, meta, method, to_the_digit,
};
use onecall_runtime::calls::{Logged, Passing, Progress, Question, Reply, Request, Takes};
use onecall_runtime::result;
use serde_json::Value;
use serde_json::value::RawValue;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// What a client carries back from an earlier answer.
pub(crate) struct Carried {
    pub(crate) state: Option<Value>,
    pub(crate) responses: Option<Exact>,
}

impl Carried {
    /// A first call carries nothing.
    pub(crate) const NOTHING: Self = Self {
        state: None,
        responses: None,
    };

    /// Of a call, whose answers stand beside its parameters.
    pub(crate) fn take(params: &mut Value, responses: Option<&RawValue>) -> Result<Self, RpcError> {
        let params = params.as_object_mut();
        let read = |raw| Exact::from_raw(raw).map_err(|fault| unreadable(&fault));
        Ok(Self {
            state: params.and_then(|params| params.shift_remove(REQUEST_STATE)),
            responses: responses.map(read).transpose()?,
        })
    }

    /// Of any other request, and what is left of its parameters.
    pub(crate) fn of(params: &Exact) -> (Self, Exact) {
        let carried = Self {
            state: params.value().get(REQUEST_STATE).cloned(),
            responses: params.field(INPUT_RESPONSES),
        };
        if carried.state.is_none() && carried.responses.is_none() {
            return (carried, params.clone());
        }
        (
            carried,
            params.without(REQUEST_STATE).without(INPUT_RESPONSES),
        )
    }
}

fn unreadable(fault: &ShapeError) -> RpcError {
    RpcError::invalid_params(format!("`inputResponses` cannot be read: {fault}"))
}

/// What became of a request at its backend.
pub(crate) enum Came {
    Done(Answer),
    Asks(InputRequired),
    /// It asks in the middle, and only a modern client can answer.
    Waits(Held),
    /// It wants these pages visited first.
    Pages(IndexMap<String, Exact>),
}

/// A request on its way to a backend.
pub(crate) enum Sent<'a> {
    Call(Box<Request>),
    Offer { name: &'a str, params: Exact },
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
                let subject = params.value()[key].as_str().unwrap_or_default();
                let arguments = params.field("arguments");
                let told = arguments.and_then(|own| to_the_digit(own.text()).ok());
                seal::digest(name, subject, &told.unwrap_or_default())
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
            (_, Some(name)) => {
                let responses = passing.input_responses.take();
                Box::pin(go_on(shared, caller, name, responses)).await
            }
            (Sent::Call(request), None) => call(shared, request, caller, passing.clone()).await,
            (Sent::Offer { name, params }, None) => {
                Box::pin(offers::send(shared, name, params, caller, passing.clone())).await
            }
        };
        let asked = match came.or_else(|error| pages::wanted(error, caller))? {
            Came::Done(answer) => return Ok(answer),
            Came::Asks(asked) => asked,
            Came::Waits(waiting) => {
                return hold(shared, caller, &sent, waiting);
            }
            Came::Pages(requests) => {
                let state = BackendState {
                    pages: true,
                    ..state_of(caller, &sent, None, None)
                };
                return Ok(input_required(shared, &state, asking(&requests)));
            }
        };
        may_ask(&asked, caller)?;
        if caller.era == Era::Modern {
            let state = state_of(caller, &sent, asked.request_state, None);
            return Ok(input_required(shared, &state, asked.fields));
        }
        let answers = Box::pin(put(shared, caller, &asked.requests)).await?;
        passing.input_responses = Some(answers);
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
        Some(responses) if responses.value().is_object() => {
            let fields = responses.fields();
            let answers = fields.iter().map(|(key, own)| {
                let own = Exact::from_raw(own).map_err(|fault| unreadable(&fault))?;
                Ok((key.to_owned(), own))
            });
            Some(answers.collect::<Result<_, RpcError>>()?)
        }
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

/// A result that asks, as the backend wrote it but for its state.
fn input_required(shared: &Shared, state: &BackendState, mut result: Fields) -> Answer {
    let state = shared.sealer.seal(Purpose::BackendState, state);
    result.set(REQUEST_STATE, &state);
    Answer::Asks(result)
}

/// A result of ours that asks this.
fn asking(requests: &IndexMap<String, Exact>) -> Fields {
    let mut result = Fields::default();
    result.set("resultType", "input_required");
    result.set(INPUT_REQUESTS, requests);
    result
}

/// Holds a call until its client comes back with the answer.
fn hold(
    shared: &Shared,
    caller: &Caller,
    sent: &Sent<'_>,
    waiting: Held,
) -> Result<Answer, RpcError> {
    let requests = waiting.requests();
    let Some(name) = shared.held.keep(waiting) else {
        let text = "the backend asks, and too many calls wait for their clients; try again later";
        return Err(RpcError::new(code::INTERNAL, text));
    };
    let state = state_of(caller, sent, None, Some(name));
    Ok(input_required(shared, &state, asking(&requests)))
}

/// Gives the answer to the call that waits for it, and follows it on.
async fn go_on(
    shared: &Shared,
    caller: &Caller,
    name: u64,
    responses: Option<IndexMap<String, Exact>>,
) -> Result<Came, RpcError> {
    let Some(waiting) = shared.held.take(name) else {
        let text = "`requestState` belongs to a call that no longer waits; call the tool again";
        return Err(RpcError::invalid_params(text));
    };
    match responses.and_then(|mut responses| responses.shift_remove(held::KEY)) {
        Some(answer) => follow(shared, caller, waiting.answered(answer)).await,
        None => Ok(Came::Waits(waiting)),
    }
}

/// A call at its backend, and what comes from there meanwhile. Dropping it cancels the call.
pub(crate) struct Calling {
    tool: String,
    /// The tool is read-only or idempotent.
    is_harmless: bool,
    reply: Pin<Box<dyn Future<Output = Reply> + Send>>,
    progress: mpsc::Receiver<Progress>,
    messages: mpsc::Receiver<Logged>,
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
    let tool = request.tool.as_str();
    let mut request = Box::new(request.clone());
    request.passing = passing;
    if caller.peer.is_none() && caller.takes == Takes::default() {
        // Nothing is said to this client on the way, and its call ends with its connection.
        return tokio::select! {
            biased;
            reply = shared.runtime.call(request) => came_of(tool, reply),
            () = caller.watch.leaving.cancelled() => {
                let is_harmless = shared.runtime.is_harmless(tool);
                left(Interrupt::Leaving, tool, is_harmless)
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
    request.passing.pages = pages::told(shared, caller);
    let (asker, questions) = mpsc::channel(QUESTIONS_AHEAD_MAX);
    request.passing.asker = (caller.takes != Takes::default()).then_some(asker);
    let runtime = shared.runtime.clone();
    let calling = Calling {
        is_harmless: runtime.is_harmless(tool),
        tool: tool.to_owned(),
        reply: Box::pin(async move { runtime.call(request).await }),
        progress,
        messages,
        questions,
        rounds: ROUNDS_MAX,
    };
    Box::pin(follow(shared, caller, calling)).await
}

/// Follows a call to its end, or to a question that its client must carry.
async fn follow(shared: &Shared, caller: &Caller, mut calling: Calling) -> Result<Came, RpcError> {
    let reply = loop {
        tokio::select! {
            biased;
            Some(made) = calling.progress.recv() => tell(shared, caller, &made).await,
            Some(message) = calling.messages.recv() => log(shared, caller, &message).await,
            Some(question) = calling.questions.recv() => {
                // One that is not put is refused by dropping it.
                if calling.rounds == 0 || !takes(caller, &question) {
                    continue;
                }
                calling.rounds -= 1;
                match caller.era {
                    // A backend may give up on its question and end the call.
                    Era::Legacy => tokio::select! {
                        () = put_live(shared, caller, *question) => {}
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
        tell(shared, caller, &made).await;
    }
    while let Ok(message) = calling.messages.try_recv() {
        log(shared, caller, &message).await;
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

/// Whether clients can call no tool of this name.
pub(crate) fn is_unknown(shared: &Shared, tool: &str) -> bool {
    tool != result_tool::NAME && shared.runtime.lacks_tool(tool)
}

pub(crate) fn unknown(tool: &str) -> RpcError {
    RpcError::invalid_params(format!("no tool is named `{tool}` here"))
}

async fn log(shared: &Shared, caller: &Caller, message: &Logged) {
    if let Some(log) = Log::new(caller) {
        log.pass(&shared.unread, message).await;
    }
}

/// Tells of progress as the backend does, under the client's own token.
async fn tell(shared: &Shared, caller: &Caller, made: &Progress) {
    let (Some(token), Some(peer)) = (&caller.progress, &caller.peer) else {
        return;
    };
    let token = serde_json::to_value(token).unwrap_or_default();
    let params = made.params().with(meta::PROGRESS_TOKEN, &token.into());
    let message = shared.unread.notification(method::PROGRESS, params.text());
    logging::send(peer, caller.watch.request_id(), message).await;
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
