//! Calls: a published workflow becomes a run, a backend tool is passed through.

use crate::arrive;
use crate::open_runs::OpenRunsError;
use crate::publish::{BoundPlan, Published, PublishedWorkflow, Target};
use crate::questions::LookError;
use crate::release::release;
use crate::result;
use crate::runs::{LiveRun, Seen, Standing, channels, standing_of};
use crate::runtime::Runtime;
use crate::trace::Trace;
use crate::world::{LiveWorld, chain, code_of};
use futures::FutureExt as _;
use indexmap::IndexMap;
use onecall_backends::{BackendName, Backends, Call, CallError, CallerId, ProgressSink};
pub use onecall_backends::{
    CallerToken, Logged, MessageSink, PageSink, Progress, Question, QuestionSink, Takes,
};
use onecall_engine::decide::Input;
use onecall_engine::driver::{Observer, Stopped, begin, drive};
use onecall_engine::evaluate::Evaluator;
use onecall_engine::event::What;
use onecall_engine::failure::Code;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Filter, JournalError, NewRun};
use onecall_engine::state::State;
use onecall_mcp::{Arguments, CallAnswer, CallResult, Exact, InputRequired, RpcError, Tool, meta};
use onecall_workflow::coerce::{Reason, SchemaFault};
use onecall_workflow::parameters::Parameters;
use onecall_workflow::policy::Durability;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::broadcast;

/// When a run that stopped on an error is resumed.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Logged of such a run.
const STOPPED: &str =
    "a run stopped since the store refused its events; it is resumed once the store works";

/// What goes between a client and the backend whose tool it calls; a workflow has no use for it.
#[derive(Clone, Debug, Default)]
pub struct Passing {
    pub progress: Option<ProgressSink>,
    /// Takes what the backend logs for this call, as received.
    pub messages: Option<MessageSink>,
    /// What the client's person can be asked.
    pub takes: Takes,
    /// Takes what a backend asks while the call is in flight.
    pub asker: Option<QuestionSink>,
    /// Told when a page that a backend sent the client to is done with.
    pub pages: Option<PageSink>,
    /// What the client can do for the backend, in the words of the protocol; it may be asked for nothing else.
    pub capabilities: Option<Value>,
    /// Answers to what the backend asked before, and its state.
    pub input_responses: Option<IndexMap<String, Exact>>,
    pub request_state: Option<String>,
}

/// One call by a client.
#[derive(Clone, Debug)]
pub struct Request {
    pub tool: String,
    pub arguments: Arguments,
    pub meta: Map<String, Value>,
    pub principal: Option<String>,
    /// Tells the connections of one client from those of others, where a backend keeps one for each.
    pub client: Option<String>,
    /// What the caller showed, for backends whose tokens are exchanged for it.
    pub token: Option<CallerToken>,
    pub labels: BTreeMap<String, String>,
    /// The client's own key: the same one with the same arguments names the same run of this tool and owner.
    pub client_key: Option<String>,
    /// The caller wants the events of a run, not only its end.
    pub watches: bool,
    pub passing: Passing,
}

impl Request {
    pub fn new(tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self {
            tool: tool.into(),
            arguments: arguments.into(),
            meta: Map::new(),
            principal: None,
            client: None,
            token: None,
            labels: BTreeMap::new(),
            client_key: None,
            watches: true,
            passing: Passing::default(),
        }
    }
}

/// What a call came to.
#[derive(Debug)]
pub enum Reply {
    /// A tool result, as JSON.
    Result(Arc<Value>),
    /// The result of a backend's tool, as it came.
    Passed(CallResult),
    /// A run was started; follow it.
    Started(RunHandle),
    /// A protocol error of a backend, passed on.
    Rpc(RpcError),
    /// The backend asks before it goes on; call again with the answers and its state.
    Asks(InputRequired),
    /// No tool of this name is published.
    UnknownTool,
}

/// A step in the life of a run that is followed.
#[derive(Debug)]
pub enum Moved {
    Events(Arc<Seen>),
    /// The run has ended, or only a person can move it on.
    Rests(Standing),
}

/// A run that a caller follows.
#[derive(Debug)]
pub struct RunHandle {
    pub id: RunId,
    live: LiveRun,
    /// Absent where nobody wants the events.
    seen: Option<broadcast::Receiver<Arc<Seen>>>,
}

impl RunHandle {
    pub(crate) fn of(id: RunId, live: LiveRun) -> Self {
        let seen = Some(live.seen.subscribe());
        Self { id, live, seen }
    }

    /// The run is no longer driven here and has not ended: it was parked, or another process has it.
    pub(crate) fn is_left(&self) -> bool {
        self.live.standing.has_changed().is_err() && self.standing().result.is_none()
    }

    /// Waits until the run stands as wanted, or is driven no longer.
    pub(crate) async fn until(&mut self, wanted: impl FnMut(&Standing) -> bool) {
        let _ = self.live.standing.wait_for(wanted).await;
    }

    /// Tells that somebody will come back for the end of the run. `Some` where it has ended already.
    pub(crate) fn await_end(&self) -> Option<Standing> {
        self.live.is_awaited.store(true, Ordering::SeqCst);
        // Whoever drives it tells its end first and looks at the mark afterwards.
        Some(self.standing()).filter(|standing| standing.result.is_some())
    }

    /// Where the run stands now.
    pub fn standing(&self) -> Standing {
        self.live.standing.borrow().clone()
    }

    /// What happens next: events, until the run ends or can only be moved on by a person. `None`: the run is no longer
    /// driven here, and all its events have been returned.
    pub(crate) async fn moved(&mut self) -> Option<Moved> {
        if let Some(seen) = self.seen.as_mut().and_then(seen_already) {
            return Some(Moved::Events(seen));
        }
        if self.is_left() {
            return None;
        }
        let seen = next_seen(self.seen.as_mut());
        let rests = self.live.standing.wait_for(Standing::rests);
        tokio::select! {
            biased;
            seen = seen => seen.map(Moved::Events),
            standing = rests => standing.ok().map(|standing| Moved::Rests(standing.clone())),
        }
    }

    /// Waits until the run ends or can only be moved on by a person.
    pub async fn rest(&mut self) -> Standing {
        let settled = self.live.standing.wait_for(Standing::rests);
        let settled = settled.await.ok().map(|standing| standing.clone());
        settled.unwrap_or_else(|| self.standing())
    }

    /// Waits until the run has ended.
    pub async fn result(&mut self) -> Option<Arc<Value>> {
        let ended = self
            .live
            .standing
            .wait_for(|standing| standing.result.is_some())
            .await;
        ended.ok().and_then(|standing| standing.result.clone())
    }

    pub async fn feed(&self, input: Input) -> bool {
        self.live.inputs.send(input).await.is_ok()
    }

    /// Whether the run is still driven here, and so takes it.
    pub async fn cancel(&self, reason: &str) -> bool {
        let reason = reason.to_owned();
        self.feed(Input::Cancel { reason }).await
    }
}

/// Events that have arrived and were not returned yet.
fn seen_already(seen: &mut broadcast::Receiver<Arc<Seen>>) -> Option<Arc<Seen>> {
    match seen.try_recv() {
        // The next one is the oldest that is still there.
        Err(broadcast::error::TryRecvError::Lagged(_)) => seen.try_recv().ok(),
        seen => seen.ok(),
    }
}

async fn next_seen(seen: Option<&mut broadcast::Receiver<Arc<Seen>>>) -> Option<Arc<Seen>> {
    let Some(seen) = seen else {
        return std::future::pending().await;
    };
    loop {
        match seen.recv().await {
            Ok(seen) => return Some(seen),
            // A watcher that fell behind goes on with what is there.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}

/// The request is boxed, and so is what is rare: a call that is passed through should be little to begin and to move.
pub(crate) async fn call(runtime: &Runtime, request: Box<Request>) -> Reply {
    let mut published = Arc::clone(&runtime.inner.published.borrow());
    let mut tool = published.find(&request.tool).cloned();
    if !tool.as_ref().is_some_and(|tool| tool.is_ready()) {
        // Its backend may be about to tell its tools.
        published = Box::pin(runtime.settled_for(&request.tool)).await;
        tool = published.find(&request.tool).cloned();
    }
    let Some(tool) = tool else {
        return missing(runtime, &published, &request.tool);
    };
    match &tool.target {
        Target::Backend { .. } if !tool.is_ready() => refuse(
            Code::TransportUnavailable,
            &arrive::unreachable_text(runtime),
        ),
        Target::Backend { backend, original } => {
            let backend = BackendName::from(backend.as_str());
            let backends = backends_of(runtime, &published);
            let called = Called {
                backend: &backend,
                original: original.clone(),
                definition: Some(&tool.definition),
            };
            pass_through(runtime, &backends, called, request).await
        }
        Target::Workflow(workflow) => {
            let ready = ready(runtime, &published, &tool.name);
            Box::pin(call_workflow(runtime, workflow, ready, request)).await
        }
    }
}

/// A withheld workflow or tool answers with its reason, a name that belongs to a backend that is not there with the backend's;
/// anything else is unknown.
fn missing(runtime: &Runtime, published: &Published, name: &str) -> Reply {
    match published.withheld(name) {
        None => match arrive::silence_of(runtime, name) {
            Some((code, text)) => refuse(code, &text),
            None => Reply::UnknownTool,
        },
        Some(withheld) => {
            let kind = withheld.kind.as_str();
            let text = format!("{kind} `{name}` is withheld: {}", withheld.reason);
            Reply::Result(Arc::new(result::refused(withheld.code, text, false)))
        }
    }
}

/// Whether a call of this name is answered with `Reply::UnknownTool`.
pub(crate) fn is_unknown(runtime: &Runtime, name: &str) -> bool {
    let published = runtime.current();
    published.find(name).is_none()
        && matches!(missing(runtime, &published, name), Reply::UnknownTool)
}

/// Calls a tool of a backend by the backend's own name for it, listed or not.
pub(crate) async fn call_backend(runtime: &Runtime, backend: &str, request: Box<Request>) -> Reply {
    let backends = runtime.content().backends.clone();
    let backend = BackendName::from(backend);
    let catalog = runtime.catalog_for_lock(&backend).await;
    let mut tools = catalog.tools.iter();
    let known = tools.find(|tool| tool.backend == backend && tool.original == request.tool);
    if let Some(fault) = known.and_then(|tool| runtime.locked_out(tool)) {
        return refuse(Code::DeniedLocked, &fault.message);
    }
    let called = Called {
        backend: &backend,
        original: request.tool.clone(),
        definition: known.map(|tool| &tool.tool),
    };
    pass_through(runtime, &backends, called, request).await
}

/// Whether a call of this tool may be made again whatever became of it. What is not known to be harmless is not.
pub(crate) fn is_harmless(runtime: &Runtime, tool: &str) -> bool {
    let published = runtime.inner.published.borrow();
    let tool = published.find(tool);
    tool.is_some_and(|tool| tool.definition.hints().may_repeat())
}

/// A tool of a backend, by the backend's own name for it.
struct Called<'a> {
    backend: &'a BackendName,
    original: String,
    /// As the backend lists it, where it is known.
    definition: Option<&'a Tool>,
}

/// The connections that a tool was published with.
fn backends_of(runtime: &Runtime, published: &Published) -> Backends {
    let own = published.backends.clone();
    own.unwrap_or_else(|| runtime.content().backends.clone())
}

async fn pass_through(
    runtime: &Runtime,
    backends: &Backends,
    called: Called<'_>,
    mut request: Box<Request>,
) -> Reply {
    let trace = Trace::take(&mut request.meta);
    let mut call = Box::new(Call::new(called.original, request.arguments));
    call.meta = request.meta;
    call.caller = request.client.as_deref().map(caller_id);
    call.token = request.token;
    trace.write(&mut call.meta);
    let passing = request.passing;
    call.progress = passing.progress;
    call.messages = passing.messages;
    call.takes = passing.takes;
    call.asker = passing.asker;
    call.pages = passing.pages;
    call.input_responses = passing.input_responses;
    call.request_state = passing.request_state;
    if let Some(capabilities) = passing.capabilities {
        call.meta
            .insert(meta::CLIENT_CAPABILITIES.to_owned(), capabilities);
    }
    let calling = backends.call(called.backend, call);
    let counts = &runtime.inner.backend_calls;
    match counts.counted(called.backend, false, calling).await {
        Ok(CallAnswer::Complete(result)) => Reply::Passed(result),
        Ok(CallAnswer::InputRequired(asked)) => Reply::Asks(asked),
        Ok(CallAnswer::Task(_)) => {
            refuse(Code::TransportProtocol, "the backend left a task behind")
        }
        Err(CallError::Rpc { error, .. }) => Reply::Rpc(*error),
        Err(error) => match (code_of(&error), chain(&error)) {
            (Code::UnknownOutcomeUnanswered, text) => {
                let is_harmless = called
                    .definition
                    .is_some_and(|tool| tool.hints().may_repeat());
                Reply::Result(Arc::new(result::unanswered(text, is_harmless)))
            }
            (code, text) => refuse(code, &text),
        },
    }
}

fn refuse(code: Code, text: &str) -> Reply {
    Reply::Result(Arc::new(result::refused(code, text, false)))
}

/// A plan with the connections it was bound to.
struct Ready {
    plan: BoundPlan,
    backends: Backends,
}

fn ready(runtime: &Runtime, published: &Published, name: &str) -> Option<Ready> {
    match &published.find(name)?.target {
        Target::Workflow(workflow) => Some(Ready {
            plan: workflow.ready_plan()?.clone(),
            backends: backends_of(runtime, published),
        }),
        Target::Backend { .. } => None,
    }
}

async fn call_workflow(
    runtime: &Runtime,
    workflow: &PublishedWorkflow,
    ready: Option<Ready>,
    mut request: Box<Request>,
) -> Reply {
    let declares_output = workflow.declares_output();
    let refuse = |code, text| Reply::Result(Arc::new(result::refused(code, text, declares_output)));
    let invalid =
        |what: &dyn Display| refuse(Code::InputInvalid, format!("invalid parameters: {what}"));
    let arguments = match request.arguments.to_value() {
        Ok(arguments) => arguments.into_owned(),
        Err(fault) => return invalid(&fault),
    };
    let input = match accepted(&workflow.parameters, arguments).await {
        Ok(input) => input,
        Err(faults) if faults.iter().any(|fault| fault.reason == Reason::Limit) => {
            return refuse(Code::LimitPatterns, list(&faults));
        }
        Err(faults) => return invalid(&list(&faults)),
    };
    let Some(ready) = ready else {
        return refuse(
            Code::TransportUnavailable,
            arrive::unreachable_text(runtime),
        );
    };
    match start(runtime, ready, input, &mut request).await {
        Ok(handle) => Reply::Started(handle),
        Err(error @ StartRunError::KeyReused { .. }) => refuse(Code::InputInvalid, chain(&error)),
        Err(
            error @ (StartRunError::OpenRuns(_)
            | StartRunError::Store(JournalError::OpenRunsFull { .. })),
        ) => {
            let what = "a run was refused: too many are open, or they hold too much";
            runtime.inner.repeated.warn(what, &error);
            refuse(Code::LimitOpenRuns, chain(&error))
        }
        Err(error) => refuse(Code::InternalStore, chain(&error)),
    }
}

/// The parameters of a run. Checking them against patterns that backtrack must not hold up an async thread.
pub(crate) async fn accepted(
    parameters: &Parameters,
    arguments: Value,
) -> Result<Value, Vec<SchemaFault>> {
    if !parameters.backtracks() {
        return parameters.accept(arguments);
    }
    let parameters = parameters.clone();
    let accepting = tokio::task::spawn_blocking(move || parameters.accept(arguments));
    match accepting.await {
        Ok(accepted) => accepted,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

pub(crate) fn list(faults: &[SchemaFault]) -> String {
    faults
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

#[derive(Debug, thiserror::Error)]
enum StartRunError {
    #[error("the run was not started")]
    OpenRuns(#[from] OpenRunsError),
    #[error("the run could not be stored")]
    Store(#[source] JournalError),
    #[error("the run of an earlier call with the same key cannot be read")]
    Earlier(#[from] LookError),
    #[error(
        "the idempotency key belongs to run `{run}`, which has other arguments; use another key"
    )]
    KeyReused { run: RunId },
}

/// Stores a new run and starts driving it, or finds the run that the client's key names.
async fn start(
    runtime: &Runtime,
    ready: Ready,
    input: Value,
    request: &mut Request,
) -> Result<RunHandle, StartRunError> {
    let Ready { plan, backends } = ready;
    let id = RunId::from_bits(runtime.random_bits());
    let mut state = State::new(id.clone(), Arc::clone(&plan.plan));
    let durability = durability(runtime, &plan, request);
    let input = Arc::new(input);
    let admitting = runtime.admit(&id, request.principal.as_deref(), &input);
    let admitted = match admitting.await {
        Ok(admitted) => admitted,
        Err(error) => {
            // A call that only asks for its earlier run starts none.
            let workflow = plan.plan.workflow.name.as_str();
            return match keyed(runtime, workflow, request).await? {
                Some(run) => earlier(runtime, run, &input).await,
                None => Err(error.into()),
            };
        }
    };
    let first = Input::Start {
        input: Arc::clone(&input),
        seed: u64::try_from(runtime.random_bits() >> 64).unwrap_or_default(),
    };
    let at = runtime.now();
    let evaluator: Arc<dyn Evaluator> = Arc::new(runtime.evaluator());
    let events = begin(&mut state, at, first, &evaluator).await;
    if durability != Durability::None {
        let new = NewRun {
            id: id.clone(),
            workflow: plan.plan.workflow.name.as_str().to_owned(),
            version: plan.plan.workflow.version.clone(),
            plan_hash: plan.hash.clone(),
            plan: Arc::clone(&plan.text),
            durability,
            principal: request.principal.clone(),
            tenant: None,
            labels: labels(&plan, request),
            client_key: request.client_key.clone(),
            retry_of: None,
            sensitive: plan.is_sensitive,
            masked: false,
            at,
            mark: state.mark(),
        };
        match runtime.inner.journal.create(new, events.clone()).await {
            Ok(()) => {}
            Err(JournalError::KeyTaken { run }) => return earlier(runtime, run, &input).await,
            Err(error) => return Err(StartRunError::Store(error)),
        }
    }
    let channels = channels(&state, request.principal.as_deref());
    let seen = request.watches.then(|| channels.live.seen.subscribe());
    let live = channels.live.clone();
    let observer = runtime.observer(Arc::clone(&channels.telling));
    observer.saw(&state, &events);
    admitted.keep();
    let driving = Driving {
        state,
        first: Vec::new(),
        durability,
        world: LiveWorld {
            backends,
            trace: Trace::take(&mut request.meta),
            calls: Arc::clone(&runtime.inner.backend_calls),
            caller: request.client.as_deref().map(caller_id),
            token: request.token.clone(),
            takes_questions: durability != Durability::None,
        },
    };
    spawn(runtime, driving, channels);
    Ok(RunHandle { id, live, seen })
}

/// Those of the workflow; what the caller says of the same name counts.
fn labels(plan: &BoundPlan, request: &Request) -> BTreeMap<String, String> {
    let mut labels = plan.plan.workflow.labels.clone();
    labels.extend(request.labels.clone());
    labels
}

/// A key asks to be remembered, so its run is stored in any case.
fn durability(runtime: &Runtime, plan: &BoundPlan, request: &Request) -> Durability {
    let stated = plan.plan.workflow.policy.durability;
    match stated.unwrap_or(runtime.inner.durability) {
        Durability::None if request.client_key.is_some() => Durability::Async,
        stated => stated,
    }
}

/// The run that the client's key names, if there is one.
async fn keyed(
    runtime: &Runtime,
    workflow: &str,
    request: &Request,
) -> Result<Option<RunId>, StartRunError> {
    if request.client_key.is_none() {
        return Ok(None);
    }
    let filter = Filter {
        workflow: Some(workflow.to_owned()),
        client_key: request.client_key.clone(),
        principal: request.principal.clone(),
        no_principal: request.principal.is_none(),
        ..Filter::default()
    };
    let listed = runtime.inner.journal.list(filter).await;
    let own = listed.map_err(StartRunError::Store)?.into_iter().next();
    Ok(own.map(|run| run.id))
}

/// The run that an earlier call with the same key started.
async fn earlier(
    runtime: &Runtime,
    run: RunId,
    input: &Arc<Value>,
) -> Result<RunHandle, StartRunError> {
    let (stored, state) = runtime.stored(&run).await?;
    let is_same = stored.events.first().is_some_and(
        |event| matches!(&event.what, What::RunStarted { input: given, .. } if given == input),
    );
    if !is_same {
        return Err(StartRunError::KeyReused { run });
    }
    let live = runtime.live(&run);
    // Not driven here: the handle only knows where the run stood, and whoever follows it looks at the store.
    let left = || RunHandle::of(run, channels(&state, None).live);
    Ok(live.unwrap_or_else(left))
}

/// A run that is about to be driven.
pub(crate) struct Driving {
    pub(crate) state: State,
    pub(crate) first: Vec<Input>,
    pub(crate) durability: Durability,
    pub(crate) world: LiveWorld,
}

pub(crate) fn caller_id(text: &str) -> CallerId {
    CallerId(text.into())
}

/// Drives a run in a task of its own until it ends, is parked or the process leaves.
pub(crate) fn spawn(runtime: &Runtime, driving: Driving, channels: crate::runs::Channels) {
    let Driving {
        state,
        first,
        durability,
        world,
    } = driving;
    let run = state.run.clone();
    if state.end.is_some() {
        runtime.inner.open_runs.remove(&run);
        runtime.inner.ends.note(&state);
        return;
    }
    let principal = channels.live.principal.as_ref();
    runtime
        .inner
        .open_runs
        .put(&run, principal, state.data_bytes);
    runtime.lend(&run, world.token.as_ref());
    let principal = channels.live.principal.clone();
    let is_awaited = Arc::clone(&channels.live.is_awaited);
    let runs = &runtime.inner.runs;
    let entry = runs.enter(run.clone(), channels.live, Arc::clone(&channels.telling));
    // A run whose client is not known has connections of its own.
    let own = world.caller.is_none().then(|| caller_id(run.as_str()));
    let backends = world.backends.clone();
    let surroundings = runtime.surroundings(durability, channels.telling, world);
    let runtime = runtime.clone();
    runtime.inner.tasks.clone().spawn(async move {
        let driving = drive(state, first, channels.inputs, surroundings);
        let driven = AssertUnwindSafe(driving).catch_unwind().await;
        let again = || Some(runtime.now().plus(AGAIN_AFTER));
        let parked = match driven {
            Ok(Ok(Stopped::Ended(state))) => {
                runtime.inner.ends.note(&state);
                runtime.inner.lent.remove(&run);
                if durability == Durability::None && is_awaited.load(Ordering::SeqCst) {
                    let end = (principal, standing_of(&state));
                    runtime.inner.unstored.keep(end);
                }
                None
            }
            Ok(Ok(Stopped::Abandoned)) => {
                runtime.inner.lent.remove(&run);
                None
            }
            Ok(Ok(Stopped::Parked { due })) => Some(due),
            Ok(Err(JournalError::Fenced { .. })) => {
                runtime.inner.lent.remove(&run);
                runtime.inner.lost_lease.note(&run);
                None
            }
            Ok(Err(error)) => {
                runtime.inner.repeated.warn(STOPPED, &error);
                Some(again())
            }
            // A fault in one run never ends the process, nor loses the run.
            Err(_) => {
                tracing::error!(%run, "the run stopped: an internal error");
                Some(again())
            }
        };
        if let Some(due) = parked.filter(|_| durability != Durability::None) {
            release(&runtime, &run, due).await;
        }
        // Not earlier: a run that is not in the list can be claimed.
        drop(entry);
        if durability == Durability::None {
            // No task drives it any more, and no store has it.
            runtime.inner.open_runs.remove(&run);
        }
        if let Some(own) = own {
            backends.forget(&own).await;
        }
    });
}
