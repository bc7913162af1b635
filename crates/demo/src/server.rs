//! The demo server: its state and the methods it answers, the same for both transports.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onecall_mcp::{Era, Revision, RpcError, code, meta, method};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use crate::answers::Answers;
use crate::connection::{Connection, Exchange, Handshake};
use crate::ledger::Ledger;
use crate::limits::CHANGES_MAX;
use crate::{execute, library, tools};

/// What the demo is started with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Append one line here for each executed call.
    pub ledger: Option<PathBuf>,
    /// Lists `toggle` as well, a tool that changes the list.
    pub changing_list: bool,
    /// More tools, by name, and what each answers: a result, or a list of results in order.
    pub answers: Map<String, Value>,
}

/// Why the demo cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot open the ledger `{}`", path.display())]
    Ledger {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot listen on {address}")]
    Bind {
        address: std::net::SocketAddr,
        source: std::io::Error,
    },
    #[error("cannot go on serving")]
    Serve { source: std::io::Error },
}

/// What clients can hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A list, by the method that tells of it.
    List(&'static str),
    Resource(String),
}

impl Change {
    /// The notification, with what else belongs into its parameters.
    pub(crate) fn notification(&self, mut params: Value) -> Value {
        match self {
            Self::List(method) => onecall_mcp::notification(method, &params),
            Self::Resource(uri) => {
                params["uri"] = json!(uri);
                onecall_mcp::notification(method::RESOURCE_UPDATED, &params)
            }
        }
    }
}

/// State shared by all connections of one process.
#[derive(Debug)]
pub(crate) struct Demo {
    ledger: Option<Ledger>,
    changing_list: bool,
    extra: AtomicBool,
    /// The list without `extra`, and with it.
    lists: [Vec<onecall_mcp::Tool>; 2],
    changes: broadcast::Sender<Change>,
    pub(crate) answers: Answers,
    pub(crate) flaky: Mutex<HashMap<String, u64>>,
    pub(crate) kept: Mutex<HashMap<String, Value>>,
    pub(crate) appended: Mutex<u64>,
}

impl Demo {
    pub(crate) fn new(options: &Options) -> Result<Self, ServeError> {
        let ledger = match &options.ledger {
            None => None,
            Some(path) => Some(Ledger::open(path).map_err(|source| ServeError::Ledger {
                path: path.clone(),
                source,
            })?),
        };
        let answers = Answers::new(options.answers.clone());
        let lists = [false, true].map(|extra| {
            let mut listed = tools::list(options.changing_list, extra);
            listed.extend(answers.tools());
            listed
        });
        Ok(Self {
            ledger,
            changing_list: options.changing_list,
            extra: AtomicBool::new(false),
            lists,
            changes: broadcast::Sender::new(CHANGES_MAX),
            answers,
            flaky: Mutex::default(),
            kept: Mutex::default(),
            appended: Mutex::default(),
        })
    }

    /// The call takes effect now: one line in the ledger, before anything is answered.
    pub(crate) fn record(&self, params: &Value) -> Result<(), RpcError> {
        let Some(ledger) = &self.ledger else {
            return Ok(());
        };
        let key = meta::get(params, meta::IDEMPOTENCY_KEY).and_then(Value::as_str);
        let tool = params.get("name").and_then(Value::as_str).unwrap_or("-");
        let empty = json!({});
        ledger
            .record(key, tool, params.get("arguments").unwrap_or(&empty))
            .map_err(|error| RpcError::new(code::INTERNAL, format!("ledger: {error}")))
    }

    pub(crate) fn toggle(&self) -> bool {
        let shown = !self.extra.fetch_xor(true, Ordering::SeqCst);
        self.tell(Change::List(method::TOOLS_CHANGED));
        self.tell(Change::List(method::RESOURCES_CHANGED));
        self.tell(Change::List(method::PROMPTS_CHANGED));
        shown
    }

    pub(crate) fn tell(&self, change: Change) {
        // Nobody may be listening.
        let _ = self.changes.send(change);
    }

    /// The next change of those that came after the receiver was made.
    pub(crate) async fn next(changes: &mut broadcast::Receiver<Change>) -> Option<Change> {
        loop {
            match changes.recv().await {
                Ok(change) => return Some(change),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Whether `toggle` has shown what is otherwise hidden.
    pub(crate) fn shows_extra(&self) -> bool {
        self.extra.load(Ordering::SeqCst)
    }

    pub(crate) fn listed(&self, name: &str) -> Option<&onecall_mcp::Tool> {
        self.list().iter().find(|tool| tool.name() == name)
    }

    fn list(&self) -> &[onecall_mcp::Tool] {
        &self.lists[usize::from(self.shows_extra())]
    }

    /// Answers one request. `None` where a cancelled request stays unanswered.
    pub(crate) async fn answer(
        &self,
        name: &str,
        params: &Value,
        exchange: &Exchange<'_>,
    ) -> Option<Value> {
        let work = self.dispatch(name, params, exchange);
        let outcome = tokio::select! {
            outcome = work => outcome,
            () = exchange.cancel.cancelled() => return None,
        };
        Some(match outcome {
            Ok(result) => onecall_mcp::response(&exchange.id, &dress(result, exchange, name)),
            Err(error) => onecall_mcp::response_error(Some(&exchange.id), &error),
        })
    }

    async fn dispatch(
        &self,
        name: &str,
        params: &Value,
        exchange: &Exchange<'_>,
    ) -> Result<Value, RpcError> {
        match (name, exchange.era()) {
            (method::DISCOVER, Era::Modern) => Ok(json!({
                "supportedVersions": Revision::ALL.map(Revision::as_str),
                "capabilities": self.capabilities(),
                "instructions": "Small tools to try things with.",
            })),
            (method::PING, Era::Legacy) => Ok(json!({})),
            (method::TOOLS_LIST, _) => Ok(json!({
                "tools": self.list().iter().map(onecall_mcp::Tool::to_value).collect::<Vec<_>>()
            })),
            (method::TOOLS_CALL, _) => execute::call(self, params, exchange).await,
            (method::RESOURCES_LIST, _) => Ok(library::resources(self)),
            (method::RESOURCE_TEMPLATES_LIST, _) => Ok(library::templates()),
            (method::RESOURCES_READ, _) => library::read(self, params),
            (method::PROMPTS_LIST, _) => Ok(library::prompts(self)),
            (method::PROMPTS_GET, _) => library::prompt(self, params),
            (method::COMPLETE, _) => Ok(library::complete(params)),
            (method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE, Era::Legacy) => {
                subscribe(name, params, exchange)
            }
            (method::LISTEN, Era::Modern) => Ok(self.listen(params, exchange).await),
            _ => Err(RpcError::method_not_found(name)),
        }
    }

    fn capabilities(&self) -> Value {
        let changes = self.changing_list;
        json!({
            "tools": { "listChanged": changes },
            "resources": { "listChanged": changes, "subscribe": true },
            "prompts": { "listChanged": changes },
            "completions": {},
        })
    }

    /// Answers `initialize` and remembers what was agreed.
    pub(crate) fn initialize(&self, params: &Value, connection: &Connection) -> Value {
        let asked = params.get("protocolVersion").and_then(Value::as_str);
        let revision = Revision::negotiate(asked);
        let capabilities = params
            .get("capabilities")
            .cloned()
            .unwrap_or_else(|| json!({}));
        connection.agree(Handshake {
            revision,
            capabilities,
        });
        json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.capabilities(),
            "serverInfo": identity(),
            "instructions": "Small tools to try things with."
        })
    }

    /// Tells of changes until the client goes; then the request ends unanswered.
    async fn listen(&self, params: &Value, exchange: &Exchange<'_>) -> Value {
        let mut changes = self.changes();
        let tag = json!({ "_meta": { meta::SUBSCRIPTION_ID: exchange.id.to_value() } });
        exchange.notify(method::LISTEN_ACKNOWLEDGED, &tag).await;
        let filter = params.get("notifications").cloned().unwrap_or_default();
        while let Some(change) = Self::next(&mut changes).await {
            if is_wanted(&filter, &change) {
                exchange.send(change.notification(tag.clone())).await;
            }
        }
        json!({})
    }
}

fn is_wanted(filter: &Value, change: &Change) -> bool {
    let flag = match change {
        Change::List(method::TOOLS_CHANGED) => "toolsListChanged",
        Change::List(method::RESOURCES_CHANGED) => "resourcesListChanged",
        Change::List(_) => "promptsListChanged",
        Change::Resource(uri) => {
            let wanted = filter["resourceSubscriptions"].as_array();
            return wanted.is_some_and(|uris| uris.iter().any(|own| own == uri.as_str()));
        }
    };
    filter[flag] == true
}

fn subscribe(name: &str, params: &Value, exchange: &Exchange<'_>) -> Result<Value, RpcError> {
    let uri = params.get("uri").and_then(Value::as_str);
    let uri = uri.ok_or_else(|| RpcError::invalid_params("`uri` is missing"))?;
    if let Some(connection) = exchange.connection {
        connection.hear_of(uri, name == method::RESOURCES_SUBSCRIBE);
    }
    Ok(json!({}))
}

/// The modern revision that a request names, or the refusal.
pub(crate) fn modern_revision(params: &Value) -> Result<Revision, RpcError> {
    let Some(asked) = meta::get(params, meta::PROTOCOL_VERSION).and_then(Value::as_str) else {
        let message = format!("`_meta` lacks `{}`", meta::PROTOCOL_VERSION);
        return Err(RpcError::invalid_params(message));
    };
    if meta::get(params, meta::CLIENT_CAPABILITIES).is_none() {
        let message = format!("`_meta` lacks `{}`", meta::CLIENT_CAPABILITIES);
        return Err(RpcError::invalid_params(message));
    }
    match Revision::from_name(asked) {
        Some(revision) if revision.era() == Era::Modern => Ok(revision),
        _ => {
            let supported = Revision::ALL.map(Revision::as_str);
            Err(
                RpcError::new(code::UNSUPPORTED_VERSION, "this revision is not supported")
                    .with_data(json!({ "supported": supported, "requested": asked })),
            )
        }
    }
}

/// Adds what the modern era wants in every result.
fn dress(mut result: Value, exchange: &Exchange<'_>, name: &str) -> Value {
    if exchange.era() == Era::Legacy {
        return result;
    }
    if result.get("resultType").is_none() {
        result["resultType"] = json!("complete");
    }
    let is_cached = matches!(
        name,
        method::DISCOVER
            | method::TOOLS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCE_TEMPLATES_LIST
            | method::RESOURCES_READ
            | method::PROMPTS_LIST
    );
    if is_cached {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("public");
    }
    meta::meta_mut(&mut result).insert(meta::SERVER_INFO.to_owned(), identity());
    result
}

fn identity() -> Value {
    json!({ "name": "onecall-demo", "version": env!("CARGO_PKG_VERSION") })
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
