//! The demo server: its state and the methods it answers, the same for both transports.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onecall_mcp::{Era, Revision, RpcError, code, meta, method};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::connection::{Connection, Exchange, Handshake};
use crate::execute;
use crate::ledger::Ledger;
use crate::tools;

/// What the demo is started with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Append one line here for each executed call.
    pub ledger: Option<PathBuf>,
    /// Lists `toggle` as well, a tool that changes the list.
    pub changing_list: bool,
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

/// State shared by all connections of one process.
#[derive(Debug)]
pub(crate) struct Demo {
    ledger: Option<Ledger>,
    changing_list: bool,
    extra: AtomicBool,
    changes: watch::Sender<u64>,
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
        Ok(Self {
            ledger,
            changing_list: options.changing_list,
            extra: AtomicBool::new(false),
            changes: watch::Sender::new(0),
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
        self.changes.send_modify(|version| *version += 1);
        shown
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn lists(&self, name: &str) -> bool {
        self.list().iter().any(|tool| tool.name() == name)
    }

    pub(crate) fn list(&self) -> Vec<onecall_mcp::Tool> {
        tools::list(self.changing_list, self.extra.load(Ordering::SeqCst))
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
            (method::LISTEN, Era::Modern) => Ok(self.listen(exchange).await),
            _ => Err(RpcError::method_not_found(name)),
        }
    }

    fn capabilities(&self) -> Value {
        json!({ "tools": { "listChanged": self.changing_list } })
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
    async fn listen(&self, exchange: &Exchange<'_>) -> Value {
        let mut changes = self.changes();
        let tag = json!({ "_meta": { meta::SUBSCRIPTION_ID: exchange.id.to_value() } });
        exchange.notify(method::LISTEN_ACKNOWLEDGED, &tag).await;
        while changes.changed().await.is_ok() {
            exchange.notify(method::TOOLS_CHANGED, &tag).await;
        }
        json!({})
    }
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
    if matches!(name, method::DISCOVER | method::TOOLS_LIST) {
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
