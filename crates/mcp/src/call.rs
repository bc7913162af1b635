//! Results of `tools/call`: raw as received, and parsed where somebody reads inside.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::content::{content_map, sole_text, text_of};
use crate::error::ShapeError;
use crate::exact::Exact;
use crate::field::{INPUT_REQUESTS, REQUEST_STATE};
use crate::fields::Fields;
use crate::keys::settled;
use crate::lenient::{mend, read_leniently};
use crate::limits::INPUT_REQUESTS_MAX;
use crate::message::present;
use crate::task::Task;

/// The three-way answer of a server to `tools/call`.
#[derive(Clone, Debug)]
pub enum CallAnswer {
    Complete(CallResult),
    /// The server asks before it goes on; repeat the call with the answers and its state.
    InputRequired(InputRequired),
    /// The server made a task of the call (tasks extension).
    Task(Task),
}

/// A finished call. Holds the text as received; nothing beyond the envelope is parsed until
/// [`CallResult::parse`]. Cheap to clone.
#[derive(Clone)]
pub struct CallResult {
    raw: Arc<RawValue>,
    is_error: bool,
    says: Says,
}

/// What a result says in the words of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Says {
    pub result_type: bool,
    /// Where the value of `_meta` stands in the text.
    pub meta: Option<Range<usize>>,
}

/// What `input_required` asks for.
#[derive(Clone, Debug)]
pub struct InputRequired {
    /// Key to `{method, params}`, as it came.
    pub requests: IndexMap<String, Exact>,
    /// Opaque; goes back exactly as it came.
    pub request_state: Option<String>,
    /// The whole result, with fields that nobody here knows.
    pub fields: Fields,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(default, borrow)]
    result_type: Option<&'a RawValue>,
    #[serde(default, borrow)]
    is_error: Option<&'a RawValue>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "given")]
    structured_content: bool,
    /// What the first servers of all answered with.
    #[serde(default, deserialize_with = "given")]
    tool_result: bool,
    #[serde(default, borrow, deserialize_with = "present", rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// Whether a field is there, whatever it holds.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(from).map(|_| true)
}

impl Envelope<'_> {
    /// `raw`: the text that it was read from.
    fn says(&self, raw: &RawValue) -> Says {
        Says {
            result_type: self.result_type.is_some(),
            meta: self.meta.map(|meta| place(meta, raw)),
        }
    }

    /// The least that makes an object the result of a call. Servers leave `content` out beside structured content, and
    /// say that they failed with nothing else.
    fn check(&self) -> Result<(), ShapeError> {
        let wrong = |what: &str, wanted| {
            Err(ShapeError::Wrong {
                what: what.to_owned(),
                wanted,
            })
        };
        match self.content {
            Some(content) if content.get().starts_with('[') => Ok(()),
            Some(_) => wrong("`content` of the result of a call", "an array"),
            None if self.structured_content || self.tool_result => Ok(()),
            None if self.result_type.is_some() || self.is_error.is_some() => Ok(()),
            None => wrong(
                "the result of a call",
                "an object with `content` or `structuredContent`",
            ),
        }
    }
}

/// Where a part of a text stands in it.
fn place(part: &RawValue, whole: &RawValue) -> Range<usize> {
    let begin = part.get().as_ptr().addr() - whole.get().as_ptr().addr();
    begin..begin + part.get().len()
}

/// What the envelope of a result tells.
struct Told {
    /// `None` where it does not say.
    kind: Option<String>,
    is_error: bool,
    says: Says,
}

impl Told {
    /// Fails where the fields cannot be told apart.
    fn read(raw: &RawValue) -> serde_json::Result<Result<Self, ShapeError>> {
        let envelope: Envelope<'_> = serde_json::from_str(raw.get())?;
        if let Err(fault) = envelope.check() {
            return Ok(Err(fault));
        }
        let kind = envelope.result_type.map(|kind| {
            // What is no text is no kind that is known.
            read_leniently(kind.get()).unwrap_or_default()
        });
        Ok(Ok(Self {
            kind,
            is_error: envelope.is_error.is_some_and(|own| own.get() == "true"),
            says: envelope.says(raw),
        }))
    }
}

impl CallAnswer {
    /// Reads a result of `tools/call`. Absence of `resultType` means complete; an unknown one is
    /// an invalid answer.
    pub fn from_raw(mut raw: Box<RawValue>) -> Result<Self, ShapeError> {
        let no_object = || ShapeError::Wrong {
            what: "the result of a call".to_owned(),
            wanted: "an object",
        };
        // An array could be read as the fields in their order.
        if !raw.get().starts_with('{') {
            return Err(no_object());
        }
        let told = if let Ok(told) = Told::read(&raw) {
            told?
        } else {
            // Half a character in a key, or a key that stands twice: the tool has acted all the same.
            let readable = settled(&mend(raw.get())).into_owned();
            raw = RawValue::from_string(readable).map_err(|_| no_object())?;
            Told::read(&raw).map_err(|_| no_object())??
        };
        match told.kind.as_deref() {
            None | Some("complete") => Ok(Self::Complete(CallResult {
                raw: Arc::from(raw),
                is_error: told.is_error,
                says: told.says,
            })),
            Some("input_required") => input_required(&raw).map(Self::InputRequired),
            Some("task") => Task::read(&raw).map(Self::Task),
            Some(other) => Err(ShapeError::UnknownResultType(other.to_owned())),
        }
    }
}

fn object(raw: &RawValue) -> Result<Map<String, Value>, ShapeError> {
    read_leniently(raw.get()).map_err(|error| ShapeError::NotJson(error.to_string()))
}

fn input_required(raw: &RawValue) -> Result<InputRequired, ShapeError> {
    let wrong = |what: &str, wanted| {
        Err(ShapeError::Wrong {
            what: what.to_owned(),
            wanted,
        })
    };
    // Whoever is asked can read it: half a character is none.
    let fields = Fields::read(&mend(raw.get()), "`input_required`")?;
    let requests = input_requests(fields.get(INPUT_REQUESTS))?;
    let request_state = match fields.get(REQUEST_STATE) {
        None => None,
        Some(_) => match fields.string(REQUEST_STATE) {
            Some(state) => Some(state),
            None => return wrong("`requestState`", "a string"),
        },
    };
    if requests.is_empty() && request_state.is_none() {
        return wrong(
            "`input_required`",
            "given with `inputRequests` or `requestState`",
        );
    }
    Ok(InputRequired {
        requests,
        request_state,
        fields,
    })
}

/// The questions of a result or a task, each as it came.
pub(crate) fn input_requests(
    given: Option<&RawValue>,
) -> Result<IndexMap<String, Exact>, ShapeError> {
    let Some(given) = given else {
        return Ok(IndexMap::new());
    };
    let fields = Fields::read(given.get(), "`inputRequests`")?;
    if fields.iter().count() > INPUT_REQUESTS_MAX {
        return Err(ShapeError::TooMany {
            what: "input requests",
            limit: INPUT_REQUESTS_MAX,
        });
    }
    let requests = fields.iter();
    requests
        .map(|(key, request)| Ok((key.to_owned(), Exact::from_raw(request)?)))
        .collect()
}

impl CallResult {
    /// A result of our own making.
    pub fn of(output: &CallOutput) -> Self {
        let raw = to_raw_value(&output.object).expect("a JSON object is JSON");
        let envelope: Envelope<'_> =
            serde_json::from_str(raw.get()).expect("an object of unlike keys is an envelope");
        let says = envelope.says(&raw);
        Self {
            raw: Arc::from(raw),
            is_error: output.is_error(),
            says,
        }
    }

    /// The tool says that it failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// What it says in the words of the protocol.
    pub fn says(&self) -> &Says {
        &self.says
    }

    /// The result object exactly as received.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    pub fn parse(&self) -> Result<CallOutput, ShapeError> {
        Ok(CallOutput {
            object: object(&self.raw)?,
        })
    }
}

impl std::fmt::Debug for CallResult {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CallResult")
            .field("is_error", &self.is_error)
            .field("bytes", &self.raw.get().len())
            .finish_non_exhaustive()
    }
}

/// A result read as JSON values, all fields kept.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutput {
    object: Map<String, Value>,
}

impl CallOutput {
    pub fn from_object(object: Map<String, Value>) -> Self {
        Self { object }
    }

    /// A result with one text block.
    pub fn text(text: &str, is_error: bool) -> Self {
        let mut output = Self { object: Map::new() };
        output
            .object
            .insert("content".into(), json!([{ "type": "text", "text": text }]));
        output.object.insert("isError".into(), json!(is_error));
        output
    }

    pub fn content(&self) -> &[Value] {
        self.object
            .get("content")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// `structuredContent`, of any JSON type. Null counts only where the server sent it.
    pub fn structured(&self) -> Option<&Value> {
        self.object.get("structuredContent")
    }

    pub fn is_error(&self) -> bool {
        self.object.get("isError") == Some(&Value::Bool(true))
    }

    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.object.get("_meta")?.as_object()
    }

    pub fn content_map(&self) -> Map<String, Value> {
        content_map(self.content())
    }

    /// What a step reads as its output: structured content when it is an object, else the content
    /// map.
    pub fn step_output(&self) -> Value {
        match self.structured() {
            Some(structured @ Value::Object(_)) => structured.clone(),
            _ => Value::Object(self.content_map()),
        }
    }

    /// The sole text block parsed as JSON, if it is JSON.
    pub fn text_json(&self) -> Option<Value> {
        serde_json::from_str(sole_text(self.content())?).ok()
    }

    /// What a failed tool said.
    pub fn error_text(&self) -> String {
        let text = text_of(self.content());
        match self.structured() {
            _ if !text.is_empty() => text,
            Some(structured) => structured.to_string(),
            None => "the tool failed and said nothing".to_owned(),
        }
    }

    pub fn object(&self) -> &Map<String, Value> {
        &self.object
    }

    pub fn into_object(self) -> Map<String, Value> {
        self.object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn complete(text: &str) -> CallResult {
        match CallAnswer::from_raw(raw(text)).unwrap() {
            CallAnswer::Complete(result) => result,
            other => panic!("not complete: {other:?}"),
        }
    }

    #[test]
    fn a_tool_that_has_acted_is_heard_however_oddly_it_answers() {
        for (text, kept) in [
            (r#"{"content":[],"isError":1e999}"#, None),
            (r#"{"content":[],"isError":"\ud800"}"#, None),
            (
                r#"{"content":[],"n":1e400,"\ud800":1}"#,
                Some(r#"{"content":[],"n":1e400,"\ufffd":1}"#),
            ),
            (
                r#"{"content":[1.10],"isError":true,"content":[1e400]}"#,
                Some(r#"{"isError":true,"content":[1e400]}"#),
            ),
        ] {
            let result = complete(text);
            assert_eq!(result.raw().get(), kept.unwrap_or(text));
            assert!(result.parse().is_ok(), "{text}");
        }
        assert!(complete(r#"{"isError":false,"content":[],"isError":true}"#).is_error());
        let asks = r#"{"x":1.10,"resultType":"input_required","requestState":"\ud800","inputRequests":{"q":{"max":1e400,"a":1.10}}}"#;
        let kept = asks.replace("\\ud800", "\\ufffd");
        let CallAnswer::InputRequired(asks) = CallAnswer::from_raw(raw(asks)).unwrap() else {
            panic!("nothing is asked")
        };
        assert_eq!(asks.request_state.as_deref(), Some("\u{fffd}"));
        assert_eq!(asks.requests["q"].text(), r#"{"max":1e400,"a":1.10}"#);
        assert_eq!(asks.fields.to_text(), kept);
    }

    #[test]
    fn a_result_passes_through_byte_for_byte() {
        let text = r#"{"content":[{"type":"new","n":123456789012345678901234567890,"z":1.50}],"vendor":{"b":1,"a":2}}"#;
        assert_eq!(complete(text).raw().get(), text);
    }

    #[test]
    fn step_output_is_the_structured_object_or_the_content_map() {
        let output = |text: &str| complete(text).parse().unwrap().step_output();
        let both = r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}"#;
        assert_eq!(output(both), json!({ "a": 1 }));
        let list = r#"{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}"#;
        assert_eq!(output(list), json!({ "text": "[1]" }));
        assert_eq!(
            complete(list).parse().unwrap().text_json(),
            Some(json!([1]))
        );
        assert_eq!(output(r#"{"content":[]}"#), json!({}));
    }

    #[test]
    fn the_three_answers_are_told_apart() {
        let answer = |text: &str| CallAnswer::from_raw(raw(text));
        assert!(matches!(
            answer(r#"{"resultType":"complete"}"#),
            Ok(CallAnswer::Complete(_))
        ));
        assert!(matches!(
            answer(r#"{"resultType":"task","taskId":"t","status":"working"}"#),
            Ok(CallAnswer::Task(_))
        ));
        let asked =
            r#"{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"s"}"#;
        let Ok(CallAnswer::InputRequired(asked)) = answer(asked) else {
            panic!("not asked")
        };
        assert_eq!(asked.request_state.as_deref(), Some("s"));
        for bad in [
            r#"{"resultType":"input_required"}"#,
            r#"{"resultType":"later"}"#,
        ] {
            assert!(answer(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_least_that_is_a_result_is_held() {
        for good in [
            r#"{"content":[]}"#,
            r#"{"content":null,"structuredContent":null}"#,
            r#"{"structuredContent":{"a":1}}"#,
            r#"{"isError":true}"#,
            r#"{"toolResult":"x"}"#,
        ] {
            complete(good);
        }
        let fault = |text: &str| CallAnswer::from_raw(raw(text)).unwrap_err().to_string();
        for (bad, said) in [
            ("[]", "an object"),
            ("[1]", "an object"),
            ("null", "an object"),
            (r#""text""#, "an object"),
            ("{}", "`structuredContent`"),
            (r#"{"_meta":{},"vendor":1}"#, "`structuredContent`"),
            (r#"{"content":"notlist"}"#, "an array"),
            (r#"{"content":{"type":"text"}}"#, "an array"),
        ] {
            assert!(fault(bad).ends_with(said), "{bad}: {}", fault(bad));
        }
    }

    #[test]
    fn a_failed_tool_says_why() {
        let failed = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
        assert!(complete(failed).is_error());
        assert_eq!(complete(failed).parse().unwrap().error_text(), "no");
        assert!(
            complete(r#"{"isError":true}"#)
                .parse()
                .unwrap()
                .error_text()
                .contains("nothing")
        );
    }
}
