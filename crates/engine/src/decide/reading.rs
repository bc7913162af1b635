//! What the result of a call says: whether the tool failed, and what of it is the output of the step.

use crate::event::{Outcome, Output};
use crate::failure::{Code, Failure};
use onecall_mcp::{CallOutput, text_of};
use onecall_workflow::step::Reading;
use serde_json::Value;
use std::sync::Arc;

/// A result that says `isError` is a failure of the tool.
pub(super) fn judged(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Returned(result) if result.get("isError") == Some(&Value::Bool(true)) => {
            let failure = Failure::new(Code::ToolError, error_text(&result));
            Outcome::Failed {
                failure,
                result: Some(result),
            }
        }
        other => other,
    }
}

fn error_text(result: &Value) -> String {
    let content = result
        .get("content")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let text = text_of(content);
    if !text.is_empty() {
        return text;
    }
    let structured = result.get("structuredContent");
    let named = ["error", "message", "text"]
        .into_iter()
        .find_map(|key| structured?.get(key)?.as_str());
    named
        .unwrap_or("the tool reported an error without saying which")
        .to_owned()
}

/// The output of a step from the result of its call.
pub(super) fn read_result(reading: Reading, result: &Arc<Value>) -> Output {
    let structured = result.get("structuredContent");
    match reading {
        Reading::ContentMap => {
            if structured.is_some_and(Value::is_object) {
                return Output::Structured;
            }
        }
        Reading::Payload => {
            if structured.is_some_and(|value| !value.is_null()) {
                return Output::Structured;
            }
        }
    }
    let Value::Object(object) = &**result else {
        return Output::Nothing;
    };
    let output = CallOutput::from_object(object.clone());
    match reading {
        Reading::ContentMap => Output::Value(Arc::new(Value::Object(output.content_map()))),
        Reading::Payload => match output.text_json() {
            Some(value) if value.is_object() || value.is_array() => Output::Value(Arc::new(value)),
            Some(_) | None => Output::Value(Arc::clone(result)),
        },
    }
}
