//! Reads of a step's output against the tool's `outputSchema`.

use super::{Bound, schema};
use crate::reads::{Read, StepPart};
use crate::step::Action;
use onecall_source::{Diagnostic, Diagnostics, codes, suggest};
use serde_json::Value;

pub(super) fn check(bound: &Bound<'_>, reads: &[Read<'_>], diagnostics: &mut Diagnostics) {
    for read in reads {
        let Some(part) = read.output_of_step() else {
            continue;
        };
        let Some(index) = bound.workflow.step_index(part.step) else {
            continue;
        };
        let step = &bound.workflow.steps[index];
        // Questions and loops have outputs of a known shape, which the builder checks.
        if !matches!(step.action, Action::Call(_)) {
            continue;
        }
        let output = bound.tools[index].and_then(|tool| tool.output_schema());
        if let Some(output) = output
            && !is_default_field(step.default.as_ref(), part.segments)
        {
            diagnostics.extend(unknown_field(read, &part, output));
        }
    }
}

fn is_default_field(default: Option<&Value>, segments: &[String]) -> bool {
    match (default, segments.first()) {
        (Some(Value::Object(fields)), Some(name)) => fields.contains_key(name),
        _ => false,
    }
}

fn unknown_field(read: &Read<'_>, part: &StepPart<'_>, output: &Value) -> Option<Diagnostic> {
    let (step, segments) = (part.step, part.segments);
    let mut at = output;
    for (depth, name) in segments.iter().enumerate() {
        match schema::property(output, at, name) {
            schema::Property::Declared(own) => at = own,
            schema::Property::Unknown => return None,
            schema::Property::Forbidden => {
                let names = schema::names(output, at);
                return Some(no_field(read, step, &segments[..=depth], &names, true));
            }
            schema::Property::Allowed => {
                let names = schema::names(output, at);
                return Some(no_field(read, step, &segments[..=depth], &names, false));
            }
        }
    }
    None
}

/// A field that the output does not have, or is not known to have.
pub(crate) fn no_field(
    read: &Read<'_>,
    step: &str,
    path: &[String],
    known: &[&str],
    certain: bool,
) -> Diagnostic {
    let message = format!(
        "{} reads `{}` of step `{step}` in its {}, which its output does not have",
        read.reader_name(),
        path.join("."),
        read.part
    );
    let diagnostic = if certain {
        Diagnostic::error(codes::UNKNOWN_OUTPUT_FIELD, message)
    } else {
        Diagnostic::warning(codes::UNKNOWN_OUTPUT_FIELD, message)
    };
    let diagnostic = diagnostic.label(&read.reference.place, "no field of this name");
    let last = path.last().map_or("", String::as_str);
    match suggest(last, known.iter().copied()) {
        Some(near) => diagnostic.help(format!("a field named `{near}` exists")),
        None if known.is_empty() => diagnostic.help("the output has no fields"),
        None => diagnostic.help(format!("the fields are `{}`", known.join("`, `"))),
    }
}
