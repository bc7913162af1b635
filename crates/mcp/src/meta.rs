//! Keys of `_meta` and the per-request metadata of the modern era.

use serde_json::{Map, Value, json};

use crate::era::Revision;

pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
pub const PROGRESS_TOKEN: &str = "progressToken";
pub const TRACE_PARENT: &str = "traceparent";
pub const TRACE_STATE: &str = "tracestate";
pub const BAGGAGE: &str = "baggage";

pub const IDEMPOTENCY_KEY: &str = "dev.onecall/idempotency-key";
pub const ERROR: &str = "dev.onecall/error";
pub const RUN: &str = "dev.onecall/run";
pub const STEP: &str = "dev.onecall/step";
pub const LABELS: &str = "dev.onecall/labels";
pub const VERSION: &str = "dev.onecall/version";
pub const USAGE: &str = "dev.onecall/usage";

/// Writes what every modern request must carry into `params._meta`. Keys already there and not of
/// the protocol are kept; `params` that is not an object becomes one.
pub fn stamp(params: &mut Value, revision: Revision, client_info: &Value, capabilities: &Value) {
    let meta = meta_mut(params);
    meta.insert(PROTOCOL_VERSION.to_owned(), json!(revision.as_str()));
    meta.insert(CLIENT_INFO.to_owned(), client_info.clone());
    meta.insert(CLIENT_CAPABILITIES.to_owned(), capabilities.clone());
}

/// The `_meta` object of `params`, made if absent.
pub fn meta_mut(params: &mut Value) -> &mut Map<String, Value> {
    object_of(
        object_of(params)
            .entry("_meta")
            .or_insert_with(|| json!({})),
    )
}

/// One key of `params._meta`.
pub fn get<'a>(params: &'a Value, key: &str) -> Option<&'a Value> {
    params.get("_meta")?.get(key)
}

fn object_of(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("made an object just above")
}
