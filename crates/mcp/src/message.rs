//! JSON-RPC messages: parse one text, build one value. Results stay raw text until somebody reads
//! them, so that a pass-through changes no byte. Framing is the transports' work.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::{RpcError, ShapeError};
use crate::exact::Exact;
use crate::field::INPUT_RESPONSES;
use crate::limits::{BATCH_MAX, NESTING_MAX};
use crate::method::{COMPLETE, PROMPTS_GET, RESOURCES_READ, TOOLS_CALL};

/// Identifier of a request. The protocol allows strings and integers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    Number(i64),
    Text(String),
}

impl RequestId {
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => whole(number).map(Self::Number),
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(crate) fn from_raw(raw: &RawValue) -> Option<Self> {
        match raw.get().parse() {
            Ok(number) => Some(Self::Number(number)),
            Err(_) => Self::from_value(&from_text(raw.get()).ok()?),
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

/// Some servers write `1.0` for the id `1`.
fn whole(number: &serde_json::Number) -> Option<i64> {
    if let Some(integer) = number.as_i64() {
        return Some(integer);
    }
    let float = number.as_f64()?;
    let exact = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole and below 2^53, checked above"
    )]
    exact.then_some(float as i64)
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => write!(formatter, "{text:?}"),
        }
    }
}

/// One message from the other side. Parameters of a server are [`Exact`]: they are passed on.
#[derive(Debug)]
pub enum Incoming<P = Value> {
    Request {
        id: RequestId,
        method: String,
        params: P,
    },
    Notification {
        method: String,
        params: P,
    },
    /// `id` is absent where the other side could not read ours.
    Response {
        id: Option<RequestId>,
        outcome: Result<Box<RawValue>, RpcError>,
    },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// `"result": null` is a result.
pub(crate) fn present<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// The messages of a batch, which a server of 2025-03-26 may send; `None` for one message.
pub fn batch(text: &[u8]) -> Option<Result<Vec<&RawValue>, ShapeError>> {
    if text.trim_ascii_start().first() != Some(&b'[') {
        return None;
    }
    let read = || {
        let text = std::str::from_utf8(text);
        let text = text.map_err(|error| ShapeError::NotJson(error.to_string()))?;
        if exceeds_depth(text, NESTING_MAX) {
            return Err(ShapeError::TooDeep { limit: NESTING_MAX });
        }
        let messages: Vec<&RawValue> =
            serde_json::from_str(text).map_err(|error| ShapeError::NotJson(error.to_string()))?;
        if messages.len() > BATCH_MAX {
            return Err(ShapeError::TooMany {
                what: "messages in a batch",
                limit: BATCH_MAX,
            });
        }
        Ok(messages)
    };
    Some(read())
}

/// The result in an answer that is nested too deeply to be read as a message: nothing inside of it was looked at.
pub fn unread_result(text: &[u8]) -> Option<Box<RawValue>> {
    let envelope: Envelope<'_> = serde_json::from_slice(text).ok()?;
    envelope.result.map(ToOwned::to_owned)
}

/// Reads one message. A batch is none; see [`batch`].
pub fn parse(text: &[u8]) -> Result<Incoming, ShapeError> {
    read(text, params_of)
}

/// Reads one message of a server, whose parameters are kept as they came and read as far as they can be: a question
/// that nobody could read would never be answered.
pub fn parse_of_server(text: &[u8]) -> Result<Incoming<Exact>, ShapeError> {
    read(text, |_, raw| match raw {
        Some(raw) => Exact::from_raw(raw),
        None => Ok(Exact::from(Value::Object(Map::new()))),
    })
}

/// What a client wrote and a backend is told, as it was written.
#[derive(Debug, Default)]
pub struct Written {
    /// The arguments of a `tools/call`.
    pub arguments: Option<Box<RawValue>>,
    /// The answers that a `tools/call` carries back.
    pub responses: Option<Box<RawValue>>,
    /// All parameters of another request that is passed on.
    pub params: Option<Exact>,
}

/// Reads one message of a client. What [`Written`] holds of a `tools/call` is not read, and does not stand in its
/// parameters.
pub fn parse_call(text: &[u8]) -> Result<(Incoming, Written), ShapeError> {
    let mut written = Written::default();
    let incoming = read(text, |method, raw| match (method, raw) {
        (TOOLS_CALL, Some(raw)) if raw.get().starts_with('{') => {
            let mut fields: IndexMap<String, &RawValue> = from_text(raw.get())?;
            let mut take = |key| fields.shift_remove(key).map(ToOwned::to_owned);
            written.arguments = take("arguments");
            written.responses = take(INPUT_RESPONSES);
            let read = |(key, raw): (String, &RawValue)| Ok((key, from_text(raw.get())?));
            let params: Result<Map<String, Value>, ShapeError> =
                fields.into_iter().map(read).collect();
            params.map(Value::Object)
        }
        (PROMPTS_GET | COMPLETE | RESOURCES_READ, Some(raw)) => {
            let params = Exact::from_raw(raw)?;
            let value = params.value().clone();
            written.params = Some(params);
            Ok(value)
        }
        (method, raw) => params_of(method, raw),
    })?;
    Ok((incoming, written))
}

/// The id of a request whose parameters cannot be read, so that the refusal finds its way.
pub fn id_of(text: &[u8]) -> Option<RequestId> {
    let text = std::str::from_utf8(text).ok()?;
    if exceeds_depth(text, NESTING_MAX) {
        return None;
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
    envelope.method?;
    RequestId::from_raw(envelope.id?)
}

/// Reads one message, its parameters in the way that is given.
fn read<P>(
    text: &[u8],
    params_of: impl FnOnce(&str, Option<&RawValue>) -> Result<P, ShapeError>,
) -> Result<Incoming<P>, ShapeError> {
    let text = std::str::from_utf8(text).map_err(|error| ShapeError::NotJson(error.to_string()))?;
    if exceeds_depth(text, NESTING_MAX) {
        return Err(ShapeError::TooDeep { limit: NESTING_MAX });
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            ShapeError::NotMessage("the envelope has fields of the wrong type")
        } else {
            ShapeError::NotJson(error.to_string())
        }
    })?;
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(ShapeError::NotMessage("`jsonrpc` is not \"2.0\""));
    }
    let id = envelope.id.and_then(RequestId::from_raw);
    if let Some(method) = envelope.method {
        let params = params_of(&method, envelope.params)?;
        return match (envelope.id, id) {
            (None, _) => Ok(Incoming::Notification { method, params }),
            (Some(_), Some(id)) => Ok(Incoming::Request { id, method, params }),
            (Some(_), None) => Err(ShapeError::NotMessage("`id` is no string and no integer")),
        };
    }
    let outcome = match (envelope.result, envelope.error) {
        (_, Some(error)) => Err(RpcError::from_raw(error)),
        (Some(result), None) => Ok(result.to_owned()),
        (None, None) => {
            return Err(ShapeError::NotMessage(
                "no `method`, no `result`, no `error`",
            ));
        }
    };
    Ok(Incoming::Response { id, outcome })
}

fn params_of(_method: &str, raw: Option<&RawValue>) -> Result<Value, ShapeError> {
    match raw {
        None => Ok(Value::Object(Map::new())),
        Some(raw) => from_text(raw.get()),
    }
}

fn from_text<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ShapeError> {
    serde_json::from_str(text).map_err(|error| ShapeError::NotJson(error.to_string()))
}

/// True when brackets nest deeper than `limit`. Looks at bytes only and leaps over strings, so it costs little beside
/// parsing and cannot overflow the stack.
pub(crate) fn exceeds_depth(text: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'"' => rest = behind_string(rest),
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// What follows the string whose inside begins here; nothing where it has no end.
pub(crate) fn behind_string(mut inside: &[u8]) -> &[u8] {
    while let Some(found) = memchr::memchr2(b'"', b'\\', inside) {
        let skipped = match inside[found] {
            b'"' => return &inside[found + 1..],
            // Whatever is escaped does not end the string.
            _ => found + 2,
        };
        inside = inside.get(skipped..).unwrap_or_default();
    }
    &[]
}

pub fn request(id: &RequestId, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.to_value(), "method": method, "params": params })
}

#[derive(Serialize)]
struct Outgoing<'a, P> {
    jsonrpc: &'static str,
    id: i64,
    method: &'a str,
    params: &'a P,
}

/// A request as text, its parameters written straight into it.
pub fn request_text<P: Serialize>(id: i64, method: &str, params: &P) -> String {
    let message = Outgoing {
        jsonrpc: "2.0",
        id,
        method,
        params,
    };
    serde_json::to_string(&message).expect("parameters have text keys and no foreign numbers")
}

/// A message as one line of a stdio stream. Compact JSON holds no newline.
pub fn message_text(message: &Value) -> String {
    let mut text = message.to_string();
    text.push('\n');
    text
}

pub fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

pub fn response(id: &RequestId, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.to_value(), "result": result })
}

/// The same as text, the result as it came.
pub fn response_text(id: &RequestId, result: &impl Serialize) -> String {
    let result = serde_json::to_string(result).expect("results have text keys alone");
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}",
        id.to_value()
    )
}

/// An error answer; `id` is null where the request's could not be read.
pub fn response_error(id: Option<&RequestId>, error: &RpcError) -> Value {
    let id = id.map_or(Value::Null, RequestId::to_value);
    json!({ "jsonrpc": "2.0", "id": id, "error": error.to_value() })
}

/// The same as text, with the `data` of the error as it came.
pub fn response_error_text(id: Option<&RequestId>, error: &RpcError) -> String {
    let id = id.map_or(Value::Null, RequestId::to_value);
    let error = serde_json::to_string(error).expect("an error is JSON");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

#[cfg(test)]
mod tests;
