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

/// A JSON-RPC error object. One that came from elsewhere is written as it came, but for what was changed since.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Exact>,
    /// The object as it came, with fields that nobody here knows.
    came: Option<Exact>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            came: None,
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

    /// It is a code and a message, and no more than that.
    pub fn is_bare(&self) -> bool {
        self.data.is_none() && self.came.is_none()
    }

    pub fn to_value(&self) -> Value {
        let mut object = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            object["data"] = data.value().clone();
        }
        object
    }

    /// Reads an error object leniently: real servers and clients leave fields out.
    pub fn from_raw(raw: &RawValue) -> Self {
        let Ok(exact) = Exact::from_raw(raw) else {
            return Self::new(code::INTERNAL, "the error cannot be read");
        };
        let value = exact.value();
        let message = match value.get("message") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None if value.is_string() => value.as_str().unwrap_or_default().to_owned(),
            None => "no message was given".to_owned(),
        };
        Self {
            code: code_of(value),
            message,
            data: exact.field("data"),
            came: Some(exact),
        }
    }

    /// The fields as they came, but for those that were changed or are not what the protocol has there.
    fn fields(&self) -> Fields {
        let came = self.came.as_ref();
        let mut fields = came.map(Exact::fields).unwrap_or_default();
        let told = came.map_or(&Value::Null, Exact::value);
        let is_digits = |raw: &RawValue| {
            let digits = raw.get().trim_start_matches('-');
            digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        let is_whole = fields.get("code").is_some_and(is_digits);
        if !is_whole || code_of(told) != self.code {
            fields.set("code", &self.code);
        }
        if told.get("message").and_then(Value::as_str) != Some(&self.message) {
            fields.set("message", &self.message);
        }
        let data = fields.get("data").map(RawValue::get);
        match &self.data {
            Some(own) if data != Some(own.text()) => fields.set("data", own),
            None if data.is_some() => fields.remove("data"),
            Some(_) | None => {}
        }
        fields
    }
}

/// The code of an error object; one that is none, or of more than 64 bits, says nothing to us.
fn code_of(error: &Value) -> i64 {
    let code = error.get("code").and_then(whole);
    code.unwrap_or(code::INTERNAL)
}

/// An integer, which may be written `-32000.0`.
fn whole(number: &Value) -> Option<i64> {
    let written = || number.to_string().strip_suffix(".0")?.parse().ok();
    number.as_i64().or_else(written)
}

/// As it stands on the wire.
impl Serialize for RpcError {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        RawValue::serialize(&self.fields().to_raw(), to)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RpcError {
        RpcError::from_raw(&RawValue::from_string(text.to_owned()).unwrap())
    }

    fn written(error: &RpcError) -> String {
        serde_json::to_string(error).unwrap()
    }

    #[test]
    fn an_error_is_written_as_it_came() {
        for text in [
            r#"{"zeta":1e400,"message":"\u0041","data":{"n":1.10},"code":-32000,"a":{"b":1.10}}"#,
            r#"{"code":5000000000,"message":"far"}"#,
            r#"{"code":123456789012345678901234567890,"message":"farther"}"#,
            r#"{"code":1,"message":"m","data":null}"#,
        ] {
            assert_eq!(written(&read(text)), text);
        }
        assert_eq!(read(r#"{"code":5000000000}"#).code, 5_000_000_000);
    }

    #[test]
    fn what_is_changed_or_unfit_is_set_beside_the_rest() {
        let text = r#"{"x":1.10,"code":-32602,"message":"no","data":1.10,"y":1}"#;
        let mut error = read(text);
        error.code = code::RESOURCE_NOT_FOUND;
        assert_eq!(written(&error), text.replace("-32602", "-32002"));
        error.data = None;
        error.message = "m".to_owned();
        assert_eq!(
            written(&error),
            r#"{"x":1.10,"code":-32002,"message":"m","y":1}"#
        );
        for (text, wanted) in [
            (
                r#"{"code":-32000.0,"message":["m"],"x":1.10}"#,
                r#"{"code":-32000,"message":"[\"m\"]","x":1.10}"#,
            ),
            (
                r#"{"x":1.10,"code":"E"}"#,
                r#"{"x":1.10,"code":-32603,"message":"no message was given"}"#,
            ),
            (r#""down""#, r#"{"code":-32603,"message":"down"}"#),
        ] {
            assert_eq!(written(&read(text)), wanted);
        }
    }
}
