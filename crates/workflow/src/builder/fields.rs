//! Reads of the output of questions and loops, whose shape is known without any tool.

use super::Builder;
use crate::check::no_field;
use crate::reads::Read;
use crate::step::{Action, Ask, Shape};
use onecall_source::Diagnostics;

const QUESTION: [&str; 3] = ["action", "content", "defaulted"];
const LOOP: [&str; 4] = ["iterations", "count", "completed", "failed"];

pub(super) fn check(builder: &Builder, reads: &[Read<'_>], diagnostics: &mut Diagnostics) {
    for read in reads {
        let Some(part) = read.output_of_step() else {
            continue;
        };
        let Some(step) = builder.steps.iter().find(|step| step.name == part.step) else {
            continue;
        };
        let known: Vec<&str> = match &step.action {
            Action::Ask(ask) if ask.output == Shape::Plain => match answered(ask) {
                Some(fields) => fields,
                None => continue,
            },
            Action::Ask(_) => QUESTION.to_vec(),
            Action::Each(each) if each.output == Shape::Report => LOOP.to_vec(),
            Action::Each(_) | Action::Call(_) => continue,
        };
        // A default is the output of the step when it is used, so its fields can be read too.
        let in_default = |field: &str| {
            step.default
                .as_ref()
                .is_some_and(|value| value.get(field).is_some())
        };
        if let Some(field) = part.segments.first()
            && !known.contains(&field.as_str())
            && !in_default(field)
        {
            diagnostics.push(no_field(read, part.step, &part.segments[..1], &known, true));
        }
    }
}

/// The fields of an answer, where the schema leaves room for no others.
fn answered(ask: &Ask) -> Option<Vec<&str>> {
    let schema = ask.schema.as_ref()?.as_object()?;
    let closed = ["type", "properties", "required", "title", "description"];
    if ask.bare || !schema.keys().all(|key| closed.contains(&key.as_str())) {
        return None;
    }
    let properties = schema.get("properties")?.as_object()?;
    Some(properties.keys().map(String::as_str).collect())
}
