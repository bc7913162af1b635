//! JSON-RPC error codes, the error object as it stands on the wire, and faults of shape.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::exact::Exact;
use crate::fields::Fields;

/// Error codes of JSON-RPC and of the protocol.
pub mod code {
    pub const PARSE: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL: i64 = -32603;
    /// Resource not found, handshake revisions only.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CAPABILITY: i64 = -32021;
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// URL elicitation required; 2025-11-25 only.
    pub const URL_ELICITATION: i64 = -32042;
}

/// A JSON-RPC error object. `data` is kept as it came.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Exact>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Exact::from(data));
        self
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            code::METHOD_NOT_FOUND,
            format!("method `{method}` is not known here"),
        )
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// The code says that the other side speaks the modern era.
    pub fn is_modern(&self) -> bool {
        matches!(
            self.code,
            code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION
        )
    }

    pub fn to_value(&self) -> Value {
        let mut object = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            object["data"] = data.value().clone();
        }
        object
    }

    /// Reads an error object leniently: real servers leave fields out.
    pub fn from_raw(raw: &RawValue) -> Self {
        let Ok(exact) = Exact::from_raw(raw) else {
            return Self::new(code::INTERNAL, "the server's error cannot be read");
        };
        let value = exact.value();
        let message = match value.get("message") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None if value.is_string() => value.as_str().unwrap_or_default().to_owned(),
            None => "the server gave no message".to_owned(),
        };
        Self {
            code: value.get("code").and_then(whole).unwrap_or(code::INTERNAL),
            message,
            data: exact
                .fields()
                .get("data")
                .and_then(|data| Exact::from_raw(data).ok()),
        }
    }
}

/// An integer, which may be written `-32000.0`.
fn whole(number: &Value) -> Option<i64> {
    let written = || number.to_string().strip_suffix(".0")?.parse().ok();
    number.as_i64().or_else(written)
}

/// As it stands on the wire, `data` as it came.
impl Serialize for RpcError {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::default();
        fields.set("code", &self.code);
        fields.set("message", &self.message);
        if let Some(data) = &self.data {
            fields.set("data", data);
        }
        RawValue::serialize(&fields.to_raw(), to)
    }
}

/// What the other side sent is JSON of the wrong shape, or no JSON at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("not a JSON text: {0}")]
    NotJson(String),
    #[error("nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("not a JSON-RPC 2.0 message: {0}")]
    NotMessage(&'static str),
    #[error("{what} must be {wanted}")]
    Wrong { what: String, wanted: &'static str },
    #[error("unknown `resultType` `{0}`")]
    UnknownResultType(String),
    #[error("more than {limit} {what}")]
    TooMany { what: &'static str, limit: usize },
}
