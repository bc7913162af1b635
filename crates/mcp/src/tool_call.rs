//! The usual `tools/call` of a modern client, read in one pass: the envelope and the words of the protocol, borrowed
//! from the text. Whatever is not usual is left to `parse_call`, which also says what is wrong with it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::limits::NESTING_MAX;
use crate::message::{RequestId, exceeds_depth};
use crate::{Revision, meta, method};

/// A call that wants nothing but its answer and carries nothing back.
#[derive(Debug)]
pub struct ToolCall<'a> {
    pub id: RequestId,
    pub name: Cow<'a, str>,
    pub arguments: Option<&'a RawValue>,
    pub client: ClientText<'a>,
    /// What else stands in `_meta`.
    pub meta: Map<String, Value>,
}

/// What a client says of itself in every request, as it wrote it.
#[derive(Clone, Copy, Debug)]
pub struct ClientText<'a> {
    pub info: Option<&'a RawValue>,
    pub capabilities: &'a RawValue,
}

impl<'a> ToolCall<'a> {
    /// `None` for everything that is no usual call.
    pub fn read(text: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if exceeds_depth(text, NESTING_MAX) {
            return None;
        }
        let envelope: Envelope<'a> = serde_json::from_str(text).ok()?;
        let is_usual = envelope.jsonrpc.get() == "\"2.0\""
            && envelope.method.0 == method::TOOLS_CALL
            && envelope.result.is_none()
            && envelope.error.is_none();
        if !is_usual {
            return None;
        }
        let Params {
            name,
            arguments,
            meta,
        } = envelope.params;
        if meta.version?.0 != Revision::MODERN.as_str() {
            return None;
        }
        Some(Self {
            id: RequestId::from_raw(envelope.id)?,
            name: name.0,
            arguments,
            client: ClientText {
                info: meta.info,
                capabilities: meta.capabilities?,
            },
            meta: meta.others,
        })
    }
}

/// Text that is borrowed where it is written without escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: &'a RawValue,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Text<'a>,
    #[serde(borrow)]
    params: Params<'a>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// A call that carries something back, or anything that is not known, is not usual.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Default)]
struct Meta<'a> {
    version: Option<Text<'a>>,
    info: Option<&'a RawValue>,
    capabilities: Option<&'a RawValue>,
    others: Map<String, Value>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Meta<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ReadMeta)
    }
}

struct ReadMeta;

impl<'de> Visitor<'de> for ReadMeta {
    type Value = Meta<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta<'de>, A::Error> {
        let mut read = Meta::default();
        let twice = || A::Error::custom("a key is given twice");
        while let Some(Text(key)) = map.next_key()? {
            let is_twice = match &*key {
                meta::PROTOCOL_VERSION => read.version.replace(map.next_value()?).is_some(),
                meta::CLIENT_INFO => read.info.replace(map.next_value()?).is_some(),
                meta::CLIENT_CAPABILITIES => read.capabilities.replace(map.next_value()?).is_some(),
                meta::PROGRESS_TOKEN | meta::LOG_LEVEL => {
                    return Err(A::Error::custom("the client wants to hear more"));
                }
                other => {
                    let value = map.next_value()?;
                    read.others.insert(other.to_owned(), value).is_some()
                }
            };
            if is_twice {
                return Err(twice());
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(change: impl FnOnce(&mut Value)) -> String {
        let mut call = json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {
                "name": "t", "arguments": { "a": 1 },
                "_meta": {
                    meta::PROTOCOL_VERSION: "2026-07-28",
                    meta::CLIENT_INFO: { "name": "n" },
                    meta::CLIENT_CAPABILITIES: {},
                },
            },
        });
        change(&mut call);
        call.to_string()
    }

    #[test]
    fn a_usual_call_is_read() {
        let text = call(|call| call["params"]["_meta"]["own"] = json!([1]));
        let read = ToolCall::read(text.as_bytes()).unwrap();
        assert_eq!(read.id, RequestId::Number(7));
        assert_eq!(read.name, "t");
        assert_eq!(read.arguments.unwrap().get(), r#"{"a":1}"#);
        assert_eq!(read.client.info.unwrap().get(), r#"{"name":"n"}"#);
        assert_eq!(read.client.capabilities.get(), "{}");
        assert_eq!(Value::Object(read.meta), json!({ "own": [1] }));
    }

    #[test]
    fn whatever_is_not_usual_is_left() {
        type Change = fn(&mut Value);
        let changes: [Change; 14] = [
            |call| call["jsonrpc"] = json!("1.0"),
            |call| call["id"] = json!(null),
            |call| call["id"] = json!([]),
            |call| call["method"] = json!("tools/list"),
            |call| call["result"] = json!(1),
            |call| call["params"]["name"] = json!(1),
            |call| call["params"]["requestState"] = json!("s"),
            |call| call["params"]["inputResponses"] = json!({}),
            |call| call["params"]["own"] = json!(1),
            |call| call["params"]["_meta"] = json!([]),
            |call| call["params"]["_meta"]["progressToken"] = json!(1),
            |call| call["params"]["_meta"][meta::LOG_LEVEL] = json!("info"),
            |call| call["params"]["_meta"][meta::PROTOCOL_VERSION] = json!("2025-11-25"),
            |call| {
                let meta = call["params"]["_meta"].as_object_mut();
                meta.unwrap().remove(meta::CLIENT_CAPABILITIES);
            },
        ];
        for change in changes {
            let text = call(change);
            assert!(ToolCall::read(text.as_bytes()).is_none(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let text = call(|_| {}).replace("{\"a\":1}", &deep);
        assert!(ToolCall::read(text.as_bytes()).is_none());
        let twice = call(|_| {}).replace("\"name\":\"t\"", "\"name\":\"t\",\"name\":\"u\"");
        assert!(ToolCall::read(twice.as_bytes()).is_none());
        assert!(ToolCall::read(b"\xff").is_none() && ToolCall::read(b"").is_none());
    }
}
