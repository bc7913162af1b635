//! The result of a run as an MCP tool result, in plain JSON. Failure is data: code, category, step and what
//! is already known travel with it.

use crate::event::End;
use crate::failure::{Code, Failure};
use crate::identity::RunId;
use crate::state::State;
use onecall_mcp::meta;
use onecall_workflow::workflow::Output;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The tool result of a run that has ended.
pub fn of_run(state: &State, end: &End) -> Value {
    let mut result = of_end(state, end);
    let labels = &state.plan.workflow.labels;
    if !labels.is_empty() {
        result["_meta"][meta::LABELS] = json!(labels);
    }
    result
}

fn of_end(state: &State, end: &End) -> Value {
    match end {
        End::Completed {
            failure: Some(failure),
            output,
            ..
        } => {
            let partial = json!({ "output": output, "steps": state.statuses() });
            failed(state, failure, &partial)
        }
        End::Completed {
            output,
            from_step,
            failure: None,
        } => completed(state, output, *from_step),
        End::Failed { failure, partial }
        | End::TimedOut { failure, partial }
        | End::Cancelled { failure, partial } => failed(state, failure, partial),
    }
}

/// What a person gives for a call that was not answered, as a tool result: one as it is, anything else as what the
/// tool would have returned.
pub(crate) fn given_result(value: &Value) -> Value {
    let is_result = value.get("content").is_some_and(Value::is_array)
        || value.get("structuredContent").is_some_and(Value::is_object);
    if is_result {
        return value.clone();
    }
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    json!({ "content": [{ "type": "text", "text": text }], "structuredContent": value })
}

/// What a result of [`of_run`] says, as one JSON text: the output, or the failure with what is already known.
pub fn document(result: &Value) -> Cow<'_, str> {
    match result["_meta"].get(meta::ERROR) {
        Some(failure) => Cow::Owned(failure.to_string()),
        None => Cow::Borrowed(result["content"][0]["text"].as_str().unwrap_or_default()),
    }
}

fn completed(state: &State, output: &Value, from_step: Option<u32>) -> Value {
    let mut content = vec![json!({ "type": "text", "text": output.to_string() })];
    if let Some(result) = from_step.and_then(|step| state.step(step).work.result.as_ref()) {
        let blocks = result.get("content").and_then(Value::as_array);
        let is_other = |block: &&Value| block.get("type").and_then(Value::as_str) != Some("text");
        content.extend(blocks.into_iter().flatten().filter(is_other).cloned());
    }
    let mut result = json!({ "content": content });
    if output.is_object() {
        result["structuredContent"] = output.clone();
    }
    let mut run = Map::new();
    run.insert("run_id".to_owned(), Value::from(state.run.as_str()));
    let failed = failed_steps(state);
    if !failed.is_empty() {
        run.insert("failed_steps".to_owned(), Value::from(failed));
    }
    result["_meta"] = json!({ meta::RUN: run });
    result
}

fn failed_steps(state: &State) -> Vec<String> {
    let names = state.plan.workflow.step_names();
    let failed = names
        .zip(&state.steps)
        .filter(|(_, step)| step.failure.is_some());
    failed.map(|(name, _)| name.as_str().to_owned()).collect()
}

fn failed(state: &State, failure: &Failure, partial: &Value) -> Value {
    let mut object = failure_object(failure, Some(state.run.as_str()));
    object["partial"] = partial.clone();
    let declares_output = matches!(state.plan.workflow.output, Output::Properties(_));
    error_result(failure, object, declares_output)
}

/// The result of a call that never became a run.
pub fn refused(code: Code, message: impl Into<String>, declares_output: bool) -> Value {
    refusal(&Failure::new(code, message), declares_output)
}

/// The result of a call without a run that was sent and not answered. `harmless`: its tool is read-only or idempotent.
pub fn unanswered(message: impl Into<String>, harmless: bool) -> Value {
    refusal(&Failure::unanswered(message, harmless), false)
}

fn refusal(failure: &Failure, declares_output: bool) -> Value {
    let object = failure_object(failure, None);
    error_result(failure, object, declares_output)
}

/// The answer to a call whose run goes on without the caller: held, still running, or waiting for a person.
pub fn unfinished(
    run: &RunId,
    code: Code,
    message: impl Into<String>,
    declares_output: bool,
) -> Value {
    let failure = Failure::new(code, message);
    let object = failure_object(&failure, Some(run.as_str()));
    error_result(&failure, object, declares_output)
}

fn failure_object(failure: &Failure, run: Option<&str>) -> Value {
    let mut object = failure.to_json();
    if let Some(run) = run {
        object["run_id"] = Value::from(run);
    }
    object
}

/// Where an output schema is declared, structured content must fit it, so the failure is in `_meta` alone.
fn error_result(failure: &Failure, object: Value, declares_output: bool) -> Value {
    let text = match &failure.step {
        Some(step) => format!(
            "step `{step}` failed: {} ({})",
            failure.message, failure.code
        ),
        None => format!("{} ({})", failure.message, failure.code),
    };
    let mut result = json!({
        "content": [{ "type": "text", "text": text }],
        "isError": true,
        "_meta": { meta::ERROR: object },
    });
    if !declares_output {
        result["structuredContent"] = object;
    }
    result
}
