//! The answer to a request: JSON of ours, or the result of a backend as it came, which goes on to the client without
//! being read. The result of a call is left in its text; of any other the fields are told apart.

use crate::fit;
use crate::limits::META_KNOWN_BYTES_MAX;
use crate::unread::Unread;
use indexmap::IndexMap;
use onecall_engine::failure::Category;
use onecall_mcp::{CallResult, Era, Fields, RpcError, code, mend, meta};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A result, before it is fitted to the era of its client.
#[derive(Debug)]
pub(crate) enum Answer {
    Ours(Value),
    Passed(CallResult),
    /// Of anything but a call.
    Fields(Fields),
    /// `input_required`: what a backend asks before it answers.
    Asks(Fields),
}

/// A result as it goes to a client.
pub(crate) enum Fitted {
    Ours(Value),
    /// The text of an object.
    Passed(String),
}

/// What a server says of itself in every modern result.
#[derive(Debug)]
pub(crate) struct ServerInfo {
    value: Value,
    text: Box<RawValue>,
    /// The `_meta` of a result that has none of its own.
    meta: Box<RawValue>,
    /// What `_meta` was mended last, and to what: a backend says the same in most results.
    mended: Mutex<Option<Mended>>,
}

#[derive(Debug)]
struct Mended {
    given: Box<str>,
    text: Box<str>,
}

impl ServerInfo {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        let value = json!({ "name": name, "version": version });
        let raw = |value: &Value| to_raw_value(value).expect("a JSON value is JSON");
        let meta = raw(&json!({ meta::SERVER_INFO: value }));
        let text = raw(&value);
        Self {
            value,
            text,
            meta,
            mended: Mutex::default(),
        }
    }

    /// Writes the `_meta` of a result with the server that answers. What is no object is not ours to mend.
    fn mend(&self, given: &str, to: &mut String) -> serde_json::Result<()> {
        if !given.starts_with('{') {
            to.push_str(given);
            return Ok(());
        }
        if let Some(known) = &*self.mended()
            && *known.given == *given
        {
            to.push_str(&known.text);
            return Ok(());
        }
        let text = with_server(given, &self.text)?;
        to.push_str(&text);
        if given.len() <= META_KNOWN_BYTES_MAX {
            *self.mended() = Some(Mended {
                given: given.into(),
                text: text.into(),
            });
        }
        Ok(())
    }

    fn mended(&self) -> MutexGuard<'_, Option<Mended>> {
        self.mended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }
}

impl Answer {
    pub(crate) fn is_error(&self) -> bool {
        match self {
            Self::Ours(value) => value["isError"] == true,
            Self::Passed(result) => result.is_error(),
            Self::Fields(_) | Self::Asks(_) => false,
        }
    }

    /// Whether it is a handle: the run goes on, or waits for a person.
    pub(crate) fn is_pending(&self) -> bool {
        let category = Category::Pending.as_str();
        matches!(self, Self::Ours(value) if value["_meta"][meta::ERROR]["category"] == category)
    }

    /// Whether it is a result of this type, such as `task`.
    pub(crate) fn is_of_type(&self, name: &str) -> bool {
        match self {
            Self::Ours(value) => value["resultType"] == name,
            Self::Asks(_) => name == "input_required",
            Self::Passed(_) | Self::Fields(_) => false,
        }
    }

    /// The answer with what its era wants in every result.
    pub(crate) fn fitted(self, era: Era, server: &ServerInfo) -> Result<Fitted, RpcError> {
        match self {
            Self::Ours(value) => Ok(Fitted::Ours(fit::result(value, era, &server.value))),
            Self::Passed(result) => {
                let text = match era {
                    Era::Modern => completed(&result, server),
                    Era::Legacy => legacy_call(result.raw()),
                };
                text.map(Fitted::Passed).map_err(|error| unreadable(&error))
            }
            Self::Fields(mut fields) | Self::Asks(mut fields) => {
                match era {
                    Era::Modern => {
                        complete_fields(&mut fields, server).map_err(|error| unreadable(&error))?;
                    }
                    Era::Legacy => fields.remove("resultType"),
                }
                Ok(Fitted::Passed(fields.to_text()))
            }
        }
    }
}

impl Fitted {
    /// The answer as `rmcp` takes it.
    pub(crate) fn hidden(self, unread: &Unread) -> Value {
        match self {
            Self::Ours(value) => value,
            Self::Passed(text) => unread.hide(text),
        }
    }

    /// The answer as it goes over the wire.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Ours(value) => value.to_string(),
            Self::Passed(text) => text,
        }
    }
}

/// A result with what the modern era wants in it; what stands there is not moved.
fn completed(result: &CallResult, server: &ServerInfo) -> serde_json::Result<String> {
    let raw = result.raw().get();
    let end = raw.len() - 1;
    let mut text = String::with_capacity(raw.len() + server.meta.get().len() + ADDED_BYTES);
    if let Some(place) = &result.says().meta {
        text.push_str(&raw[..place.start]);
        server.mend(&raw[place.clone()], &mut text)?;
        text.push_str(&raw[place.end..end]);
    } else {
        text.push_str(&raw[..end]);
        if raw[..end].trim_ascii_end() != "{" {
            text.push(',');
        }
        text.push_str("\"_meta\":");
        text.push_str(server.meta.get());
    }
    if !result.says().result_type {
        text.push_str(",\"resultType\":\"complete\"");
    }
    text.push('}');
    Ok(text)
}

/// The same for a result whose fields were told apart.
fn complete_fields(fields: &mut Fields, server: &ServerInfo) -> serde_json::Result<()> {
    fields.supply("resultType", &Value::from("complete"));
    let Some(given) = fields.get("_meta") else {
        fields.set("_meta", &server.meta);
        return Ok(());
    };
    let mut text = String::new();
    server.mend(given.get(), &mut text)?;
    fields.set("_meta", &RawValue::from_string(text)?);
    Ok(())
}

/// Room for the names of the fields that a result may lack.
const ADDED_BYTES: usize = 40;

/// A `_meta` with the server that answers in it.
fn with_server(given: &str, server: &RawValue) -> serde_json::Result<String> {
    let mended;
    let read = if let Ok(read) = serde_json::from_str(given) {
        read
    } else {
        // Half a character in a key, which a map has no room for.
        mended = mend(given);
        serde_json::from_str(&mended)?
    };
    let mut meta: IndexMap<Cow<'_, str>, &RawValue> = read;
    meta.insert(Cow::Borrowed(meta::SERVER_INFO), server);
    serde_json::to_string(&meta)
}

fn legacy_call(result: &RawValue) -> serde_json::Result<String> {
    let mut fields: IndexMap<String, Box<RawValue>> = serde_json::from_str(result.get())?;
    fields.shift_remove("resultType");
    if let Some(structured) = fields.get_mut("structuredContent")
        && !structured.get().starts_with('{')
    {
        *structured = to_raw_value(&IndexMap::from([(fit::WRAPPED, &*structured)]))?;
    }
    serde_json::to_string(&fields)
}

fn unreadable(error: &dyn std::fmt::Display) -> RpcError {
    let text = format!("the backend's result cannot be read: {error}");
    RpcError::new(code::INTERNAL, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_mcp::CallAnswer;

    fn passed(text: &str) -> String {
        passed_in(Era::Modern, text)
    }

    fn passed_in(era: Era, text: &str) -> String {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let CallAnswer::Complete(result) = CallAnswer::from_raw(raw).unwrap() else {
            panic!("{text} is complete");
        };
        let fitted = Answer::Passed(result).fitted(era, &ServerInfo::new("n", "v"));
        fitted.unwrap().text()
    }

    #[test]
    fn a_handshake_client_gets_objects_only_and_the_rest_as_it_came() {
        assert_eq!(
            passed_in(
                Era::Legacy,
                r#"{"resultType":"complete","structuredContent": [1.10],"content":[],"n":1e400}"#
            ),
            r#"{"structuredContent":{"result":[1.10]},"content":[],"n":1e400}"#
        );
        assert_eq!(
            passed_in(
                Era::Legacy,
                r#"{"content":[],"structuredContent": {"b":1,"a":2}}"#
            ),
            r#"{"content":[],"structuredContent":{"b":1,"a":2}}"#
        );
    }

    #[test]
    fn a_passed_result_says_its_type_and_its_server_and_keeps_the_rest_as_it_came() {
        assert_eq!(
            passed(
                r#"{"z":{"b":123456789012345678901234567890,"a":1.10,"s":"\ud800"},"content":[]}"#
            ),
            r#"{"z":{"b":123456789012345678901234567890,"a":1.10,"s":"\ud800"},"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}},"resultType":"complete"}"#
        );
        assert_eq!(
            passed(
                r#"{"_meta":{"x":1e400,"io.modelcontextprotocol/serverInfo":{"name":"theirs"}},"resultType":"complete","content":[]}"#
            ),
            r#"{"_meta":{"x":1e400,"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}},"resultType":"complete","content":[]}"#
        );
        let server = ServerInfo::new("n", "v");
        for (given, mended) in [
            (r#"{"a": 1.10}"#, r#"{"a":1.10,"#),
            (r#"{"a": 1.10}"#, r#"{"a":1.10,"#),
            (r#"{"b":1}"#, r#"{"b":1,"#),
            (r#"{"a": 1.10}"#, r#"{"a":1.10,"#),
        ] {
            let mut text = String::new();
            server.mend(given, &mut text).unwrap();
            let own = r#""io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}}"#;
            assert_eq!(text, format!("{mended}{own}"));
        }
        assert_eq!(
            passed(r#"{"_meta":null,"content":[]}"#),
            r#"{"_meta":null,"content":[],"resultType":"complete"}"#
        );
    }
}
