//! The answer to a request: JSON of ours, or the result of a backend as it came, which goes on to the client without
//! being read.

use crate::fit;
use crate::unread::Unread;
use indexmap::IndexMap;
use onecall_engine::failure::Category;
use onecall_mcp::{CallResult, Era, RpcError, code, meta};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// A result, before it is fitted to the era of its client.
#[derive(Debug)]
pub(crate) enum Answer {
    Ours(Value),
    Passed(CallResult),
}

/// A result as it goes to a client.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Fitted {
    Ours(Value),
    Passed(Fields),
}

/// An object whose values are not read: numbers, key order and escapes stay as they came.
type Fields = IndexMap<String, Box<RawValue>>;

impl Answer {
    pub(crate) fn is_error(&self) -> bool {
        match self {
            Self::Ours(value) => value["isError"] == true,
            Self::Passed(result) => result.is_error(),
        }
    }

    /// Whether it is a handle: the run goes on, or waits for a person.
    pub(crate) fn is_pending(&self) -> bool {
        let category = Category::Pending.as_str();
        matches!(self, Self::Ours(value) if value["_meta"][meta::ERROR]["category"] == category)
    }

    /// Whether it is a result of this type, such as `task`.
    pub(crate) fn is_of_type(&self, name: &str) -> bool {
        matches!(self, Self::Ours(value) if value["resultType"] == name)
    }

    /// The answer as a JSON value. Integers of more than 64 bits become floating.
    pub(crate) fn into_value(self) -> Result<Value, RpcError> {
        match self {
            Self::Ours(value) => Ok(value),
            Self::Passed(result) => match result.parse() {
                Ok(output) => Ok(Value::Object(output.into_object())),
                Err(error) => Err(unreadable(&error)),
            },
        }
    }

    /// The answer with what its era wants in every result.
    pub(crate) fn fitted(self, era: Era, server: &Value) -> Result<Fitted, RpcError> {
        match self {
            Self::Ours(value) => Ok(Fitted::Ours(fit::result(value, era, server))),
            Self::Passed(result) => {
                let fields = match era {
                    Era::Modern => modern_fields(result.raw(), server),
                    Era::Legacy => legacy_fields(result.raw()),
                };
                fields
                    .map(Fitted::Passed)
                    .map_err(|error| unreadable(&error))
            }
        }
    }
}

impl Fitted {
    /// The answer as `rmcp` takes it.
    pub(crate) fn hidden(self, unread: &Unread) -> Result<Value, RpcError> {
        match self {
            Self::Ours(value) => Ok(value),
            Self::Passed(fields) => match serde_json::to_string(&fields) {
                Ok(text) => Ok(unread.hide(text)),
                Err(error) => Err(unreadable(&error)),
            },
        }
    }
}

fn modern_fields(result: &RawValue, server: &Value) -> serde_json::Result<Fields> {
    let mut fields: Fields = serde_json::from_str(result.get())?;
    if !fields.contains_key("resultType") {
        fields.insert("resultType".to_owned(), to_raw_value("complete")?);
    }
    let given = fields.get("_meta").map_or("{}", |meta| meta.get());
    // What is no object is not ours to mend.
    if let Ok(mut meta) = serde_json::from_str::<Fields>(given) {
        meta.insert(meta::SERVER_INFO.to_owned(), to_raw_value(server)?);
        fields.insert("_meta".to_owned(), to_raw_value(&meta)?);
    }
    Ok(fields)
}

fn legacy_fields(result: &RawValue) -> serde_json::Result<Fields> {
    let mut fields: Fields = serde_json::from_str(result.get())?;
    fields.shift_remove("resultType");
    if let Some(structured) = fields.get_mut("structuredContent")
        && !structured.get().starts_with('{')
    {
        *structured = to_raw_value(&IndexMap::from([(fit::WRAPPED, &*structured)]))?;
    }
    Ok(fields)
}

fn unreadable(error: &dyn std::fmt::Display) -> RpcError {
    let text = format!("the backend's result cannot be read: {error}");
    RpcError::new(code::INTERNAL, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_mcp::CallAnswer;
    use serde_json::json;

    fn passed(text: &str) -> String {
        passed_in(Era::Modern, text)
    }

    fn passed_in(era: Era, text: &str) -> String {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let CallAnswer::Complete(result) = CallAnswer::from_raw(raw).unwrap() else {
            panic!("{text} is complete");
        };
        let fitted = Answer::Passed(result).fitted(era, &json!({ "name": "n" }));
        serde_json::to_string(&fitted.unwrap()).unwrap()
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
            r#"{"z":{"b":123456789012345678901234567890,"a":1.10,"s":"\ud800"},"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"}}}"#
        );
        assert_eq!(
            passed(
                r#"{"_meta":{"x":1e400,"io.modelcontextprotocol/serverInfo":{"name":"theirs"}},"resultType":"complete","content":[]}"#
            ),
            r#"{"_meta":{"x":1e400,"io.modelcontextprotocol/serverInfo":{"name":"n"}},"resultType":"complete","content":[]}"#
        );
        assert_eq!(
            passed(r#"{"_meta":null,"content":[]}"#),
            r#"{"_meta":null,"content":[],"resultType":"complete"}"#
        );
    }
}
