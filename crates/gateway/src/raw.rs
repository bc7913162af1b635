//! Requests whose parameters and results stay JSON. `rmcp` reads tool requests into closed types and has no
//! place for unknown content in their results; so the transports hand it a custom request in their stead,
//! with the parameters beside it, and the handler answers with a custom result.

use crate::{offers, tasks};
use onecall_mcp::{RequestId, Written, method};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The method under which `rmcp` sees such a request. Clients cannot name it: see `is_reserved`.
pub(crate) const METHOD: &str = "dev.onecall/raw";

/// Methods that are answered with JSON of ours.
pub(crate) fn is_raw(name: &str) -> bool {
    matches!(
        name,
        method::TOOLS_LIST | method::TOOLS_CALL | method::SET_LEVEL
    ) || offers::is_offer(name)
        || tasks::is_task(name)
}

pub(crate) fn is_reserved(name: &str) -> bool {
    name == METHOD
}

/// A request as the client sent it. Cheap to clone; whoever takes it first has it.
#[derive(Clone, Debug)]
pub(crate) struct RawRequest {
    content: Arc<Mutex<Option<Content>>>,
}

#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// What is passed on as the client wrote it.
    pub(crate) written: Written,
}

impl RawRequest {
    pub(crate) fn new(content: Content) -> Self {
        Self {
            content: Arc::new(Mutex::new(Some(content))),
        }
    }

    pub(crate) fn take(&self) -> Option<Content> {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        content.take()
    }
}

/// What `rmcp` is given instead: the id, and the metadata it needs to tell eras and tokens.
pub(crate) fn stand_in(id: &RequestId, params: &Value) -> Value {
    let mut kept = Map::new();
    if let Some(meta) = params.get("_meta") {
        kept.insert("_meta".to_owned(), meta.clone());
    }
    json!({ "jsonrpc": "2.0", "id": id.to_value(), "method": METHOD, "params": kept })
}
