//! Questions of backends inside a step: what a tool asks before it goes on, and what goes back to it.
//! How a person is asked is the same as for a question of the workflow.

use crate::identity::{CallId, Timestamp};
use onecall_mcp::{Mode, QuestionShape, method};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a tool asks for in place of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inquiry {
    /// Key to `{method, params}`, as the backend sent them.
    pub requests: Map<String, Value>,
    /// Opaque; goes back as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub way: Way,
}

/// How the answers reach the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The call is repeated with the answers and the state.
    Repeated,
    /// The call is repeated once everything was accepted; the backend learns of the rest itself.
    Consent,
    /// The call is still in flight and takes the answers in.
    Live,
}

/// What a repeated call carries back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    pub answers: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// Which request of which item of a step a question stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedBy {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    pub key: String,
}

/// A tool that asks, with the answers it has so far.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The call that asked.
    pub call: CallId,
    pub inquiry: Inquiry,
    /// Since when it waits.
    pub since: Timestamp,
    /// Answer objects by key, as they go back.
    pub answers: Map<String, Value>,
}

impl Asking {
    /// Some request has no answer yet.
    pub fn is_open(&self) -> bool {
        self.next().is_some()
    }

    /// The first request without an answer.
    pub fn next(&self) -> Option<(&str, &Value)> {
        let mut requests = self.inquiry.requests.iter();
        requests
            .find(|(key, _)| !self.answers.contains_key(*key))
            .map(|(key, request)| (key.as_str(), request))
    }
}

/// What a person is shown of one request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown<'a> {
    pub(crate) message: &'a str,
    pub(crate) schema: Option<&'a Value>,
    /// A page to visit in place of a form.
    pub(crate) url: Option<&'a str>,
}

/// Reads a request that a person can answer, or says why nobody can.
pub(crate) fn shown(request: &Value) -> Result<Shown<'_>, String> {
    let name = request.get("method").and_then(Value::as_str);
    if name != Some(method::ELICIT) {
        let name = name.unwrap_or("something without a method");
        return Err(format!(
            "the tool asks for `{name}`, which a step does not give"
        ));
    }
    let shape = QuestionShape::read(request.get("params").unwrap_or(&Value::Null));
    let url = match shape.mode {
        Mode::Form => None,
        Mode::Url => Some(shape.url.unwrap_or_default()),
    };
    // A person opens it, so nothing but a page may stand there.
    if let Some(url) = url
        && !url.starts_with("https://")
        && !url.starts_with("http://")
    {
        return Err(format!(
            "the tool sends a person to `{url}`, which is no web page"
        ));
    }
    Ok(Shown {
        message: shape.message,
        schema: shape.schema.filter(|_| url.is_none()),
        url,
    })
}
