//! Reads of the output of questions and loops, whose shape is known without any tool.

use super::Builder;
use crate::check::no_field;
use crate::expression::{Facet, Target};
use crate::reads::Read;
use crate::step::Action;
use onecall_source::Diagnostics;

const QUESTION: [&str; 3] = ["action", "content", "defaulted"];
const LOOP: [&str; 4] = ["iterations", "count", "completed", "failed"];

pub(super) fn check(builder: &Builder, reads: &[Read<'_>], diagnostics: &mut Diagnostics) {
    for read in reads {
        let Target::Step {
            name,
            facet: Some(facet),
            segments,
        } = &read.reference.target
        else {
            continue;
        };
        let step = builder.steps.iter().find(|step| step.name == name.as_str());
        let known: &[&str] = match step.map(|step| &step.action) {
            Some(Action::Ask(_)) => &QUESTION,
            Some(Action::Each(_)) => &LOOP,
            Some(Action::Call(_)) | None => continue,
        };
        if Facet::parse(facet) == Some(Facet::Output)
            && let Some(field) = segments.first()
            && !known.contains(&field.as_str())
        {
            diagnostics.push(no_field(read, name, &segments[..1], known, true));
        }
    }
}
