//! What a call came to: the result on stdout, why it failed on stderr, and the exit code.

use crate::exit::Exit;
use crate::pretty::pretty;
use crate::print;
use onecall_mcp::Exact;
use serde_json::Value;

/// A run that goes on elsewhere.
const PENDING_RUNNING: &str = "pending.running";

/// The structured result, or the text, on stdout; a failure's text on stderr.
pub(super) fn print_result(exact: &Exact) -> Exit {
    let result = exact.value();
    let is_error = is_error(result);
    let text = text(result);
    if is_error && category(failure(result)) == Some("pending") {
        print::err(&text);
    } else if is_error {
        print::err(format!("error: {text}"));
    }
    print_data(exact);
    let exit = || exit_of(failure(result));
    if is_error { exit() } else { Exit::Ok }
}

/// The part of it for programs, on stdout; the text where there is nothing else.
fn print_data(exact: &Exact) {
    let result = exact.value();
    match exact.field("structuredContent") {
        Some(structured) => print::data(pretty(&structured)),
        None if is_error(result) => {
            let failure = exact
                .field("_meta")
                .and_then(|own| own.field(onecall_mcp::meta::ERROR));
            print::data(pretty(failure.as_ref().unwrap_or(exact)));
        }
        None => print::data(text(result)),
    }
}

/// Tells of a run that goes on and of which its server says no more, for this reason. `handle`: what it said last,
/// which may name the store too.
pub(super) fn print_left(run: &str, handle: &Value, why: &str) -> Exit {
    let watch = format!("onecall runs watch {run}");
    let told = text(handle);
    if told.contains(&watch) {
        print::err(told);
        print::err(why);
    } else {
        print::err(format!("run {run} goes on: {why}"));
        print::err(format!(
            "  = help: {watch}  # where its server keeps its store"
        ));
    }
    print_data(&handle.clone().into());
    exit_of(failure(handle))
}

/// A backend that cannot be reached and a run that waits have exit codes of their own. Where a run goes on and its
/// result was not to be had, its server cannot be reached any more.
fn exit_of(failure: Option<&Value>) -> Exit {
    match category(failure) {
        Some("transport") => Exit::Unreachable,
        Some("pending") if code(failure) == Some(PENDING_RUNNING) => Exit::Unreachable,
        Some("pending") => Exit::Waiting,
        Some(_) | None => Exit::Failed,
    }
}

fn category(failure: Option<&Value>) -> Option<&str> {
    failure?.get("category")?.as_str()
}

fn code(failure: Option<&Value>) -> Option<&str> {
    failure?.get("code")?.as_str()
}

/// The text of a result.
pub(super) fn text(result: &Value) -> String {
    let blocks = result.get("content").and_then(Value::as_array);
    onecall_mcp::text_of(blocks.map_or(&[][..], Vec::as_slice))
}

/// The run that goes on, where the result says that it has not ended yet.
pub(super) fn running(result: &Value) -> Option<&str> {
    let failure = failure(result);
    (code(failure) == Some(PENDING_RUNNING))
        .then(|| failure?.get("run_id")?.as_str())
        .flatten()
}

/// The call was sent and not answered, and making it again may do everything twice.
pub(super) fn may_have_acted(result: &Value) -> bool {
    let failure = failure(result);
    category(failure) == Some("unknown_outcome")
        && failure.is_some_and(|failure| failure["retryable"] != Value::Bool(true))
}

/// Whether a call failed by what it was given, so that it may help to write it otherwise.
pub(super) fn is_about_arguments(result: &Value) -> bool {
    let code = failure(result).and_then(|failure| failure.get("code")?.as_str());
    is_error(result) && matches!(code, Some("input.invalid" | "tool.arguments"))
}

/// Whether a tool result says that it failed.
fn is_error(result: &Value) -> bool {
    result.get("isError") == Some(&Value::Bool(true))
}

/// What a failure is, as data.
fn failure(result: &Value) -> Option<&Value> {
    result.get("_meta")?.get(onecall_mcp::meta::ERROR)
}
