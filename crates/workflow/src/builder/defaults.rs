//! The default rule: what reads the output of a step that may end without one needs a default to read.

use super::Builder;
use crate::expression::Facet;
use crate::limits::LABELS_MAX;
use crate::policy::{Refusal, SkippedNeed, Then};
use crate::reads::{Read, Reader};
use crate::step::{Action, Shape, Step};
use onecall_source::{Diagnostic, Diagnostics, codes};
use serde_json::Value;

pub(super) fn check(builder: &Builder, reads: &[Read<'_>], diagnostics: &mut Diagnostics) {
    for step in builder.steps.iter().filter(|step| step.is_skippable()) {
        let lacking: Vec<Lack<'_>> = reads.iter().filter_map(|read| lack(step, read)).collect();
        if !lacking.is_empty() {
            diagnostics.push(missing_default(builder, step, &lacking));
        }
    }
}

/// A read that no default serves.
struct Lack<'a> {
    read: &'a Read<'a>,
    /// The field of the output; `None` when the whole is read.
    field: Option<&'a str>,
}

fn lack<'a>(step: &Step, read: &'a Read<'a>) -> Option<Lack<'a>> {
    let part = read.part_of_step()?;
    if step.name != part.step || read.reference.is_lenient || is_served(step, read) {
        return None;
    }
    let field = match part.facet {
        // A tool that answered with an error has a result too, so that a reader need not want the default.
        Facet::Status | Facet::Error | Facet::Failure | Facet::Result => return None,
        Facet::Content | Facet::Structured | Facet::Json => None,
        Facet::Output => part.segments.first().map(String::as_str),
    };
    let is_question = matches!(step.action, Action::Ask(_));
    if is_question && field == Some("action") && !is_plain(step) {
        return None;
    }
    match (&step.default, field) {
        (None, _) => Some(Lack { read, field }),
        (Some(Value::Object(fields)), Some(name)) if !fields.contains_key(name) => {
            Some(Lack { read, field })
        }
        (Some(_), _) => None,
    }
}

/// Whether the reader does without the output: it is skipped too, or has a default of its own.
fn is_served(step: &Step, read: &Read<'_>) -> bool {
    match read.reader {
        Reader::Output { has_default } => has_default,
        Reader::Step { step: reader, .. } if reader.name == step.name => true,
        Reader::Step { step: reader, .. } => match reader.skipped_need {
            SkippedNeed::Runs => false,
            // A step that failed and was continued is not skipped.
            SkippedNeed::Skips => step.on_error.then == Then::Abort && !refusal_continues(step),
            SkippedNeed::SkipsAfterFailure => true,
        },
    }
}

fn is_plain(step: &Step) -> bool {
    match &step.action {
        Action::Ask(ask) => ask.output == Shape::Plain,
        Action::Each(each) => each.output == Shape::Plain,
        Action::Call(_) => false,
    }
}

fn missing_default(builder: &Builder, step: &Step, lacking: &[Lack<'_>]) -> Diagnostic {
    let key = builder.rules.words.default;
    let message = format!(
        "step '{}' can be skipped but is referenced by downstream steps without {key} defined",
        step.name
    );
    let mut diagnostic = if only_by_mode(builder, step) {
        Diagnostic::warning(codes::MISSING_DEFAULT, message)
    } else {
        Diagnostic::error(codes::MISSING_DEFAULT, message)
    };
    for (position, lack) in lacking.iter().take(LABELS_MAX).enumerate() {
        let reader = lack.read.reader_name();
        let text = match lack.field {
            Some(field) => format!("{reader} reads field `{field}`"),
            None => format!("{reader} reads the whole output"),
        };
        let place = &lack.read.reference.place;
        diagnostic = if position == 0 {
            diagnostic.label(place, text)
        } else {
            diagnostic.secondary(place, text)
        };
    }
    diagnostic = diagnostic.secondary(&step.place, reason(builder, step));
    diagnostic = diagnostic.help(help(key, step, lacking));
    match in_output(lacking) {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// The other way out, if only the output reads the step: a property of it may have a default.
fn in_output(lacking: &[Lack<'_>]) -> Option<String> {
    let is_output = |lack: &Lack<'_>| matches!(lack.read.reader, Reader::Output { .. });
    if !lacking.iter().all(is_output) {
        return None;
    }
    let mut parts: Vec<&str> = lacking.iter().map(|lack| lack.read.part.as_str()).collect();
    parts.dedup();
    Some(format!(
        "or give {} of the output a `default`",
        parts.join(" and ")
    ))
}

fn help(key: &str, step: &Step, lacking: &[Lack<'_>]) -> String {
    let mut fields: Vec<&str> = lacking.iter().filter_map(|lack| lack.field).collect();
    fields.sort_unstable();
    fields.dedup();
    if fields.is_empty() {
        return format!("add `{key}:` to step `{}`", step.name);
    }
    let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    let fields = fields.join(", ");
    if step.default.is_some() {
        format!("add {fields} to `{key}` of step `{}`", step.name)
    } else {
        format!("add `{key}:` with {fields} to step `{}`", step.name)
    }
}

/// Whether nothing but the run's failure mode lets the step end without output.
fn only_by_mode(builder: &Builder, step: &Step) -> bool {
    builder.rules.continued_by_mode.contains(&step.name)
        && step.when.is_none()
        && !refusal_continues(step)
}

fn refusal_continues(step: &Step) -> bool {
    match &step.action {
        Action::Ask(ask) => {
            ask.on_decline == Refusal::Continues || ask.on_cancel == Refusal::Continues
        }
        Action::Call(_) | Action::Each(_) => false,
    }
}

fn reason(builder: &Builder, step: &Step) -> &'static str {
    if step.when.is_some() {
        "this step has a condition"
    } else if refusal_continues(step) {
        "this step continues when the question is refused"
    } else if builder.rules.continued_by_mode.contains(&step.name) {
        "this step continues after a failure, as every step of the workflow"
    } else {
        "this step continues after a failure"
    }
}
