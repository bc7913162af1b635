//! What a stdio process or a legacy HTTP session remembers of its client, and one request being
//! served on it. Transports move the messages.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onecall_mcp::{Era, RequestId, Revision, method};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::limits::SUBSCRIPTIONS_MAX;
use crate::server::Change;

/// State of one connection. Modern HTTP requests have none.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    handshake: Mutex<Option<Handshake>>,
    running: Mutex<HashMap<RequestId, CancellationToken>>,
    questions: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    asked: AtomicU64,
    subscribed: Mutex<HashSet<String>>,
}

/// What `initialize` agreed on.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    pub(crate) revision: Revision,
    pub(crate) capabilities: Value,
}

/// One request on its way: who asks, and how to reach them.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) id: RequestId,
    pub(crate) revision: Revision,
    pub(crate) capabilities: Value,
    /// Messages for the stream of this request.
    pub(crate) outbound: mpsc::Sender<Value>,
    pub(crate) cancel: CancellationToken,
    /// Where answers to legacy questions arrive.
    pub(crate) connection: Option<&'a Connection>,
}

impl Connection {
    pub(crate) fn agree(&self, handshake: Handshake) {
        *lock(&self.handshake) = Some(handshake);
    }

    pub(crate) fn handshake(&self) -> Option<Handshake> {
        lock(&self.handshake).clone()
    }

    /// A resource whose updates this client wants to hear of, or no longer.
    pub(crate) fn hear_of(&self, uri: &str, wants: bool) {
        let mut subscribed = lock(&self.subscribed);
        if !wants {
            subscribed.remove(uri);
        } else if subscribed.len() < SUBSCRIPTIONS_MAX {
            subscribed.insert(uri.to_owned());
        }
    }

    /// Whether a legacy client is told of a change.
    pub(crate) fn hears(&self, change: &Change) -> bool {
        match change {
            Change::List(_) => self.handshake().is_some(),
            Change::Resource(uri) => lock(&self.subscribed).contains(uri),
        }
    }

    /// Registers a request so that it can be cancelled.
    pub(crate) fn begin(&self, id: &RequestId) -> CancellationToken {
        let token = CancellationToken::new();
        lock(&self.running).insert(id.clone(), token.clone());
        token
    }

    pub(crate) fn end(&self, id: &RequestId) {
        lock(&self.running).remove(id);
    }

    /// Handles what a client may send besides requests.
    pub(crate) fn notified(&self, name: &str, params: &Value) {
        if name == method::CANCELLED
            && let Some(id) = params.get("requestId").and_then(RequestId::from_value)
            && let Some(token) = lock(&self.running).get(&id)
        {
            token.cancel();
        }
    }

    /// Delivers the client's answer to a question.
    pub(crate) fn answered(&self, id: Option<&RequestId>, answer: Value) {
        if let Some(RequestId::Text(id)) = id
            && let Some(reply) = lock(&self.questions).remove(id)
        {
            // The asking tool may have been cancelled meanwhile.
            let _ = reply.send(answer);
        }
    }

    pub(crate) fn cancel_all(&self) {
        #[expect(
            clippy::iter_over_hash_type,
            reason = "every one is cancelled, in any order"
        )]
        for token in lock(&self.running).values() {
            token.cancel();
        }
    }
}

impl Exchange<'_> {
    pub(crate) fn era(&self) -> Era {
        self.revision.era()
    }

    pub(crate) async fn notify(&self, name: &str, params: &Value) {
        self.send(onecall_mcp::notification(name, params)).await;
    }

    pub(crate) async fn send(&self, message: Value) {
        // A reader that went away is noticed through `cancel`.
        let _ = self.outbound.send(message).await;
    }

    /// Asks the client of a legacy connection and waits; `None` if it cannot be asked.
    pub(crate) async fn ask(&self, params: &Value) -> Option<Value> {
        let connection = self.connection?;
        let number = connection.asked.fetch_add(1, Ordering::Relaxed);
        let id = format!("question-{number}");
        let (reply, answer) = oneshot::channel();
        lock(&connection.questions).insert(id.clone(), reply);
        let request = onecall_mcp::request(&RequestId::Text(id.clone()), method::ELICIT, params);
        if self.outbound.send(request).await.is_err() {
            lock(&connection.questions).remove(&id);
            return None;
        }
        let answer = tokio::select! {
            answer = answer => answer.ok(),
            () = self.cancel.cancelled() => None,
        };
        lock(&connection.questions).remove(&id);
        answer
    }

    /// The client declared elicitation in this mode; an empty object means form only.
    pub(crate) fn can_ask(&self, mode: &str) -> bool {
        match self.capabilities.get("elicitation") {
            Some(Value::Object(modes)) if modes.is_empty() => mode == "form",
            Some(Value::Object(modes)) => modes.contains_key(mode),
            _ => false,
        }
    }
}

/// The error object of a client that refused to be asked, as an answer.
pub(crate) fn refused() -> Value {
    json!({ "action": "cancel" })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
