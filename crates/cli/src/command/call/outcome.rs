//! What a call came to: the result on stdout, why it failed on stderr, and the exit code.

use crate::exit::Exit;
use crate::print;
use serde_json::Value;

/// A run that goes on elsewhere.
const PENDING_RUNNING: &str = "pending.running";

/// The structured result, or the text, on stdout; a failure's text on stderr.
pub(super) fn print_result(result: &Value) -> anyhow::Result<Exit> {
    let is_error = is_error(result);
    let texts = result
        .get("content")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let text = onecall_mcp::text_of(texts);
    if is_error && category(failure(result)) == Some("pending") {
        print::err(&text);
    } else if is_error {
        print::err(format!("error: {text}"));
    }
    let failure = failure(result);
    match result.get("structuredContent") {
        Some(structured) => print::out(serde_json::to_string_pretty(structured)?),
        None if is_error => print::out(serde_json::to_string_pretty(failure.unwrap_or(result))?),
        None => print::out(text),
    }
    Ok(if is_error { exit_of(failure) } else { Exit::Ok })
}

/// A backend that cannot be reached and a run that goes on have exit codes of their own.
fn exit_of(failure: Option<&Value>) -> Exit {
    match category(failure) {
        Some("transport") => Exit::Unreachable,
        Some("pending") => Exit::Waiting,
        Some(_) | None => Exit::Failed,
    }
}

fn category(failure: Option<&Value>) -> Option<&str> {
    failure?.get("category")?.as_str()
}

/// The run that goes on, where the result says that it has not ended yet.
pub(super) fn running(result: &Value) -> Option<&str> {
    let failure = failure(result)?;
    (failure.get("code")? == PENDING_RUNNING)
        .then(|| failure.get("run_id")?.as_str())
        .flatten()
}

/// The call was sent and not answered, and making it again may do everything twice.
pub(super) fn may_have_acted(result: &Value) -> bool {
    let failure = failure(result);
    category(failure) == Some("unknown_outcome")
        && failure.is_some_and(|failure| failure["retryable"] != Value::Bool(true))
}

/// Whether a tool result says that it failed.
pub(super) fn is_error(result: &Value) -> bool {
    result.get("isError") == Some(&Value::Bool(true))
}

/// What a failure is, as data.
fn failure(result: &Value) -> Option<&Value> {
    result.get("_meta")?.get(onecall_mcp::meta::ERROR)
}
