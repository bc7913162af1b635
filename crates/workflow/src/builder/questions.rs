//! Questions to people: their schemas, their prepared answers, and that a question needs a stored run.

use super::{Builder, schemas};
use crate::coerce::Coercer;
use crate::policy::Durability;
use crate::step::{Action, Ask, Shape, Step};
use onecall_mcp::check_form;
use onecall_source::{Diagnostic, Diagnostics, Severity, codes};
use serde_json::Value;

pub(super) fn check(builder: &Builder, diagnostics: &mut Diagnostics) {
    for step in &builder.steps {
        let Action::Ask(ask) = &step.action else {
            continue;
        };
        if builder.policy.durability == Some(Durability::None) {
            diagnostics.push(not_stored(step));
        }
        if step.on_error.retry.is_some() {
            diagnostics.push(not_retried(step));
        }
        let Some(schema) = &ask.schema else { continue };
        let what = format!("the schema of step `{}`", step.name);
        if schemas::check_schema(&what, schema, &step.place, diagnostics) {
            let key = builder.rules.words.response;
            check_schema(step, ask, schema, key, diagnostics);
        }
    }
}

fn check_schema(
    step: &Step,
    ask: &Ask,
    schema: &Value,
    response_key: &str,
    diagnostics: &mut Diagnostics,
) {
    let faults = check_form(schema);
    if !faults.is_empty() {
        let reasons: Vec<String> = faults.iter().map(ToString::to_string).collect();
        diagnostics.push(not_a_form(step, &reasons));
    }
    let fault = |schema: &Value, answer: Option<Value>| {
        let faults = Coercer::new(schema.clone()).validate(&answer?);
        faults.first().map(ToString::to_string)
    };
    if let Some(fault) = fault(schema, ask.default_response.clone()) {
        diagnostics.push(response_unfit(step, response_key, &fault));
    }
    let mock = step.mock.as_ref().and_then(|mock| answer_in(ask, mock));
    if let Some(fault) = fault(schema, mock) {
        diagnostics.push(stand_in_unfit(step, "mock", Severity::Error, &fault));
    }
    // A default need not be complete, and null is one for a question that was not put.
    let default = step.default.as_ref().filter(|default| !default.is_null());
    let default = default.and_then(|default| answer_in(ask, default));
    let mut partial = schema.clone();
    if let Some(object) = partial.as_object_mut() {
        object.remove("required");
    }
    if let Some(fault) = fault(&partial, default) {
        diagnostics.push(stand_in_unfit(step, "default", Severity::Warning, &fault));
    }
}

/// The answer, in the shape of its form, that an output of the step tells; a report may tell of none.
fn answer_in(ask: &Ask, output: &Value) -> Option<Value> {
    let answer = match ask.output {
        Shape::Plain => output,
        Shape::Report => output.get("content")?,
    };
    let answer = answer.clone();
    Some(if ask.bare {
        serde_json::json!({ "value": answer })
    } else {
        answer
    })
}

fn not_stored(step: &Step) -> Diagnostic {
    let message = format!(
        "step `{}` asks a person, but runs of this workflow are not stored",
        step.name
    );
    Diagnostic::error(codes::QUESTION_NOT_STORED, message)
        .label(&step.place, "the question would be lost with the process")
        .help("set `durability` to `async` or `sync`")
}

fn not_retried(step: &Step) -> Diagnostic {
    let message = format!(
        "step `{}` asks a person, and a question is not retried",
        step.name
    );
    Diagnostic::warning(codes::KEY_NOT_APPLICABLE, message)
        .label(&step.place, "its retry has no effect")
        .help("remove the retry; what a refusal does is said by the question itself")
}

fn not_a_form(step: &Step, reasons: &[String]) -> Diagnostic {
    let message = format!(
        "the schema of step `{}` is not one that clients can show as a form",
        step.name
    );
    let mut diagnostic = Diagnostic::warning(codes::QUESTION_NOT_A_FORM, message)
        .label(&step.place, "asked by page or command only");
    for reason in reasons.iter().take(4) {
        diagnostic = diagnostic.note(reason.clone());
    }
    diagnostic.help("use an object of plain strings, numbers, booleans and enums")
}

fn stand_in_unfit(step: &Step, what: &str, severity: Severity, fault: &str) -> Diagnostic {
    let message = format!(
        "the {what} of step `{}` is no answer to its question: {fault}",
        step.name
    );
    Diagnostic::new(codes::RESPONSE_UNFIT, severity, message)
        .label(&step.place, "readers expect an answer")
        .help(format!("change the {what} or what is asked for"))
}

fn response_unfit(step: &Step, key: &str, fault: &str) -> Diagnostic {
    let message = format!(
        "the default response of step `{}` does not fit its schema: {fault}",
        step.name
    );
    Diagnostic::error(codes::RESPONSE_UNFIT, message)
        .label(&step.place, "the answer would be refused")
        .help(format!("change `{key}` or the schema"))
}
