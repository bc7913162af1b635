//! The handler that `rmcp` drives: identity, tool requests as JSON, list changes, cancellation.
//! One is made for every session and for every modern request, so it is cheap to make.

use crate::answer::{Answer, ServerInfo};
use crate::auth::{Access, Principal};
use crate::call::{Asked, Caller};
use crate::handshake::Handshakes;
use crate::held::HeldCalls;
use crate::interrupt::{Closing, InFlight, Watch};
use crate::known::Known;
use crate::listen::{self, TaskIds, Watching};
use crate::logging::Level;
use crate::metrics::{Counts, Tool};
use crate::raw::{Content, RawRequest};
use crate::seal::Sealer;
use crate::sessions::Sessions;
use crate::spent::Spent;
use crate::unread::Unread;
use crate::{ask, call, offers, tasks, tools};
use http::request::Parts;
use onecall_mcp::{Era, RpcError, meta, method};
use onecall_runtime::calls::{CallerToken, Takes};
use onecall_runtime::runtime::Runtime;
use rmcp::ServerHandler;
use rmcp::model::{
    CancelledNotificationParam, CustomRequest, CustomResult, ErrorData, Implementation,
    InitializeRequestParams, InitializeResult, ProtocolVersion, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The revisions we speak, oldest first.
pub(crate) const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// What clients are connected by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    Http,
    Stdio,
}

/// What all handlers of one face share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) runtime: Runtime,
    pub(crate) connection: Connection,
    pub(crate) server_info: ServerInfo,
    /// What modern clients said of themselves.
    pub(crate) known: Known,
    pub(crate) sessions: Sessions,
    /// Absent over stdio, where there is one client.
    pub(crate) handshakes: Option<Arc<Handshakes>>,
    /// Requests that are being answered.
    pub(crate) answering: TaskTracker,
    /// The server was told to stop.
    pub(crate) stop: CancellationToken,
    /// Calls that still run must be answered now.
    pub(crate) leaving: CancellationToken,
    pub(crate) sealer: Sealer,
    pub(crate) patience: Duration,
    grace: Duration,
    pub(crate) shown_bytes_max: usize,
    /// What `onecall runs` must be told to find the runs.
    pub(crate) store_flag: Option<String>,
    /// Results of tools have no links to answer pages.
    pub(crate) hides_links: bool,
    /// Where the answer page is served, if it is.
    base: Option<String>,
    /// The files or flags say where that is.
    is_base_stated: bool,
    /// Who may call, where callers are asked.
    pub(crate) access: Option<Access>,
    pub(crate) counts: Counts,
    /// How texts go through `rmcp` that are not read.
    pub(crate) unread: Unread,
    /// Calls whose backends wait for an answer of a modern client.
    pub(crate) held: Arc<HeldCalls>,
    /// States of backends that came back with an answer.
    pub(crate) spent: Spent,
    settled: OnceCell<()>,
}

/// What a face is made from.
pub(crate) struct Setup<'a> {
    pub(crate) connection: Connection,
    pub(crate) version: &'a str,
    pub(crate) patience: Duration,
    pub(crate) grace: Duration,
    pub(crate) shown_bytes_max: usize,
    pub(crate) store_flag: Option<String>,
    pub(crate) hides_links: bool,
    pub(crate) base: Option<String>,
    pub(crate) is_base_stated: bool,
    pub(crate) access: Option<Access>,
    pub(crate) handshakes: Option<Arc<Handshakes>>,
    pub(crate) stop: CancellationToken,
}

impl Shared {
    pub(crate) fn new(runtime: Runtime, setup: Setup<'_>) -> Self {
        Self {
            server_info: ServerInfo::new(runtime.name(), setup.version),
            sealer: Sealer::of(&**runtime.journal()),
            runtime,
            connection: setup.connection,
            sessions: Sessions::new(),
            handshakes: setup.handshakes,
            answering: TaskTracker::new(),
            stop: setup.stop,
            leaving: CancellationToken::new(),
            patience: setup.patience,
            grace: setup.grace,
            shown_bytes_max: setup.shown_bytes_max,
            store_flag: setup.store_flag,
            hides_links: setup.hides_links,
            base: setup.base,
            is_base_stated: setup.is_base_stated,
            access: setup.access,
            counts: Counts::default(),
            unread: Unread::new(),
            known: Known::default(),
            held: Arc::default(),
            spent: Spent::default(),
            settled: OnceCell::new(),
        }
    }

    /// Where people open the answer page: where the server is said or known to be, else where it listens.
    pub(crate) fn base(&self) -> Option<String> {
        let base = self.base.as_ref()?;
        if self.is_base_stated {
            return Some(base.clone());
        }
        let public = self.access.as_ref().and_then(Access::public_base);
        Some(public.unwrap_or_else(|| base.clone()))
    }

    /// How many sessions of handshake clients are open.
    pub(crate) fn session_count(&self) -> usize {
        let handshakes = self.handshakes.as_ref();
        handshakes.map_or_else(|| self.sessions.count(), |own| own.count())
    }

    /// The first list waits a moment for backends that are still connecting.
    async fn settle(&self) {
        let settle = || async {
            self.runtime.settled().await;
        };
        self.settled.get_or_init(settle).await;
    }

    /// Waits for the word to stop, gives calls in flight their time, then has the rest answered.
    pub(crate) async fn leave(&self) {
        self.stop.cancelled().await;
        self.answering.close();
        let answered = self.answering.wait();
        let _ = tokio::time::timeout(self.grace, answered).await;
        self.leaving.cancel();
        let last = tokio::time::timeout(crate::limits::CLOSING, self.answering.wait());
        if last.await.is_err() {
            tracing::warn!("leaving with requests unanswered");
        }
    }
}

/// One handler: of a session, of a stdio client, or of one modern request.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    shared: Arc<Shared>,
    in_flight: InFlight,
    /// A name for the client of this connection that no other has.
    client: Arc<str>,
    session: Session,
}

/// What a handshake session has asked for.
#[derive(Clone, Debug, Default)]
struct Session {
    level: Arc<Mutex<Option<Level>>>,
    watching: Watching,
    /// It is among those that are told of lists; a client may say more than once that it is ready.
    is_told: Arc<AtomicBool>,
}

impl Session {
    fn level(&self) -> Option<Level> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_level(&self, params: &Value) -> Result<Value, RpcError> {
        let level = params["level"].as_str().and_then(Level::from_name);
        let level = level.ok_or_else(|| RpcError::invalid_params("`level` is not a log level"))?;
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
        Ok(json!({}))
    }
}

impl Handler {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            in_flight: InFlight::default(),
            client: format!("client-{:032x}", rand::random::<u128>()).into(),
            session: Session::default(),
        }
    }

    /// A handler for another connection.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(Arc::clone(&self.shared))
    }

    async fn answer(&self, context: RequestContext<RoleServer>) -> Result<Value, RpcError> {
        let Some(request) = raw_of(&context).and_then(|raw| raw.take()) else {
            return Err(RpcError::method_not_found(crate::raw::METHOD));
        };
        let era = era_of(&context);
        let answer = match request.method.as_str() {
            method::SET_LEVEL if era == Era::Legacy => {
                Answer::Ours(self.session.set_level(&request.params)?)
            }
            _ => {
                let caller = self.caller(context, &request.params, era);
                answered(&self.shared, request, &caller).await?
            }
        };
        let fitted = answer.fitted(era, &self.shared.server_info)?;
        Ok(fitted.hidden(&self.shared.unread))
    }

    fn caller(&self, context: RequestContext<RoleServer>, params: &Value, era: Era) -> Caller {
        let declared = context.client_capabilities();
        let capabilities = match era {
            // As the client wrote them: types would lose what they do not know.
            Era::Modern => meta::get(params, meta::CLIENT_CAPABILITIES).cloned(),
            Era::Legacy => serde_json::to_value(&declared).ok(),
        };
        let name = match era {
            Era::Modern => ask::client_name(meta::get(params, meta::CLIENT_INFO)),
            Era::Legacy => {
                let info = context.peer.peer_info();
                info.and_then(|info| {
                    let info = &info.client_info;
                    let names = [info.title.as_deref(), Some(info.name.as_str())];
                    ask::shown_name(names, Some(info.version.as_str()))
                })
            }
        };
        let level = match era {
            Era::Modern => meta::get(params, meta::LOG_LEVEL)
                .and_then(Value::as_str)
                .and_then(Level::from_name),
            Era::Legacy => self.session.level(),
        };
        Caller {
            era,
            client: self.client(&context, era),
            client_name: name,
            principal: principal_of(&context),
            token: token_of(&context),
            trace: context
                .extensions
                .get::<Parts>()
                .map(trace_headers)
                .unwrap_or_default(),
            progress: context.meta.get_progress_token(),
            watch: self.watch(&context, era),
            takes: Takes {
                forms: ask::shows_forms(declared.as_ref()),
                pages: ask::shows_pages(declared.as_ref()),
            },
            capabilities: capabilities.unwrap_or_else(|| json!({})),
            takes_tasks: era == Era::Modern
                && declared.is_some_and(|declared| declared.supports_tasks()),
            takes_links: context
                .protocol_version()
                .is_some_and(|version| version >= ProtocolVersion::V_2025_06_18),
            log_level: level,
            peer: Some(context.peer),
        }
    }

    /// A session or a stdio client keeps its handler; a modern request is told by who sends it.
    fn client(&self, context: &RequestContext<RoleServer>, era: Era) -> Option<String> {
        match (self.shared.connection, era) {
            (Connection::Http, Era::Modern) => principal_of(context).name().map(str::to_owned),
            (Connection::Http, Era::Legacy) | (Connection::Stdio, _) => {
                Some(self.client.to_string())
            }
        }
    }

    fn watch(&self, context: &RequestContext<RoleServer>, era: Era) -> Watch {
        let closing = match (self.shared.connection, era) {
            (Connection::Http, Era::Modern) => Closing::Cancels,
            (Connection::Http, Era::Legacy) | (Connection::Stdio, _) => Closing::SaysNothing,
        };
        Watch {
            notified: Some(self.in_flight.register(context.id.clone())),
            request: context.ct.clone(),
            closing,
            stop: self.shared.stop.clone(),
            leaving: self.shared.leaving.clone(),
        }
    }
}

/// Answers a request, whichever way it came in; what the era wants is put on afterwards.
pub(crate) async fn answered(
    shared: &Shared,
    request: Content,
    caller: &Caller,
) -> Result<Answer, RpcError> {
    let _answering = shared.answering.token();
    let Content {
        method,
        params,
        written,
    } = request;
    match method.as_str() {
        method::TOOLS_LIST => {
            shared.settle().await;
            let published = Arc::clone(&shared.runtime.published().borrow());
            tools::page(&published, &params, caller.era, shared.patience).map(Answer::Fields)
        }
        method::SET_LEVEL => Err(RpcError::method_not_found(&method)),
        method::TOOLS_CALL => {
            let asked = Asked::read(params, &written);
            called(shared, asked, caller).await
        }
        name if tasks::is_task(name) => {
            let told = Box::pin(tasks::answer(shared, name, &params, caller)).await;
            told.map(Answer::Ours)
        }
        name => {
            let params = written.params.unwrap_or_else(|| params.into());
            Box::pin(offers::answer(shared, name, params, caller)).await
        }
    }
}

/// Calls a tool; the call is counted and logged, also one that cannot be read.
pub(crate) async fn called(
    shared: &Shared,
    asked: Result<Asked, RpcError>,
    caller: &Caller,
) -> Result<Answer, RpcError> {
    let given = asked.as_ref().map_or("", |asked| &asked.request.tool);
    let tool = Tool::of(shared, given);
    let counting = shared.counts.begin();
    let called = match asked {
        Ok(asked) => call::call(shared, asked, caller, tool.workflow()).await,
        Err(error) => Err(error),
    };
    tool.note(counting, &called);
    called
}

/// The request as the client sent it, wherever the transport put it.
fn raw_of(context: &RequestContext<RoleServer>) -> Option<RawRequest> {
    let extensions = &context.extensions;
    let beside = extensions
        .get::<Parts>()
        .and_then(|parts| parts.extensions.get::<RawRequest>());
    beside.or_else(|| extensions.get::<RawRequest>()).cloned()
}

/// Over stdio there is one client, and nobody asks who it is.
fn principal_of(context: &RequestContext<RoleServer>) -> Principal {
    let parts = context.extensions.get::<Parts>();
    parts.map_or_else(Principal::default, |parts| Principal::of(&parts.extensions))
}

/// What the caller showed, where it may be exchanged.
fn token_of(context: &RequestContext<RoleServer>) -> Option<CallerToken> {
    let parts = context.extensions.get::<Parts>()?;
    parts.extensions.get::<CallerToken>().cloned()
}

/// Trace context that came in headers; `_meta` comes first.
pub(crate) fn trace_headers(parts: &Parts) -> Vec<(&'static str, String)> {
    let named = [meta::TRACE_PARENT, meta::TRACE_STATE, meta::BAGGAGE].into_iter();
    named
        .filter_map(|name| Some((name, parts.headers.get(name)?.to_str().ok()?.to_owned())))
        .collect()
}

fn era_of(context: &RequestContext<RoleServer>) -> Era {
    match context.protocol_version() {
        Some(version) if !version.has_initialize() => Era::Modern,
        Some(_) | None => Era::Legacy,
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let text = |key: &str| {
            self.shared.server_info.value()[key]
                .as_str()
                .unwrap_or_default()
        };
        let own = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .enable_resources();
        let mut capabilities = if self.shared.runtime.shows_backends() {
            own.enable_prompts()
                .enable_prompts_list_changed()
                .enable_resources_subscribe()
                .enable_resources_list_changed()
                .enable_completions()
                .build()
        } else {
            own.build()
        };
        capabilities.logging = Some(rmcp::model::JsonObject::new());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(text("name"), text("version")))
    }

    /// Handshake sessions are never given a task, so they are not told of the extension.
    fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<InitializeResult, ErrorData>> + Send + '_ {
        context.peer.set_peer_info(request.clone());
        let negotiated = self.negotiate_initialize(&request).map(|mut info| {
            info.capabilities.extensions = None;
            info
        });
        std::future::ready(negotiated)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CustomResult, ErrorData>> + Send + '_ {
        Box::pin(async move {
            if request.method != crate::raw::METHOD {
                let unknown = RpcError::method_not_found(&request.method);
                return Err(self.shared.unread.error(&unknown));
            }
            let answer = self.answer(context).await;
            answer
                .map(CustomResult::new)
                .map_err(|error| self.shared.unread.error(&error))
        })
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = &notification.request_id {
            self.in_flight.cancel(id);
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if !self.session.is_told.swap(true, Ordering::Relaxed) {
            self.shared.sessions.add(context.peer);
        }
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(listen::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let tasks = TaskIds::among(&context.request_context().extensions);
        let request = context.request_context().clone();
        let caller = self.caller(request, &Value::Null, Era::Modern);
        listen::listen(&self.shared, context, tasks, caller).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let watching = &self.session.watching;
        let watched = watching.add(&self.shared, request.uri, &context.peer);
        watched
            .await
            .map_err(|error| self.shared.unread.error(&error))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.watching.remove(&request.uri);
        Ok(())
    }
}

/// Metadata of a request that concerns us or a backend, without what belongs to this connection alone.
pub(crate) fn passed_on(params: &Value) -> serde_json::Map<String, Value> {
    let Some(Value::Object(given)) = params.get("_meta") else {
        return serde_json::Map::new();
    };
    given
        .iter()
        .filter(|(key, _)| is_passed_on(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// What does not belong to the connection that it came on alone.
pub(crate) fn is_passed_on(key: &str) -> bool {
    key != meta::PROGRESS_TOKEN && !key.starts_with("io.modelcontextprotocol/")
}
