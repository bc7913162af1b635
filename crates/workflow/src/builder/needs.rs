//! Where needs say completely what a step reads, one that is never read may be a mistake.

use super::{Builder, Undeclared};
use crate::reads::{Read, Reader};
use crate::step::Need;
use onecall_source::{Diagnostic, Diagnostics, codes};

pub(super) fn check(builder: &Builder, reads: &[Read<'_>], diagnostics: &mut Diagnostics) {
    if builder.rules.undeclared == Undeclared::Infers {
        return;
    }
    let steps = builder.steps.iter().enumerate();
    // What a step reads that could not be read itself is not known.
    for (own, step) in steps.filter(|(_, step)| step.is_readable()) {
        let is_read = |need: &Need| {
            reads.iter().any(|read| {
                let is_own = matches!(read.reader, Reader::Step { index, .. } if index == own);
                is_own && read.may_read(need.step.as_str())
            })
        };
        // What is no other step is told elsewhere.
        let is_other = |need: &Need| {
            let mut steps = builder.steps.iter();
            need.step != step.name.as_str() && steps.any(|other| other.name == need.step)
        };
        let needs = step.needs.iter();
        for need in needs.filter(|need| is_other(need) && !is_read(need)) {
            diagnostics.push(never_read(step.name.as_str(), need));
        }
    }
}

fn never_read(step: &str, need: &Need) -> Diagnostic {
    Diagnostic::warning(
        codes::UNUSED_NEED,
        format!("step `{step}` needs `{}` and never reads it", need.step),
    )
    .label(&need.place, "orders the two, and nothing else")
    .help("remove it, unless only the order matters")
}
