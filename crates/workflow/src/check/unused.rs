//! A step that only reads, and that nothing reads or waits for, does nothing.

use super::Bound;
use crate::reads::{Read, Reader};
use crate::step::Step;
use crate::workflow::Output;
use onecall_source::{Diagnostic, Diagnostics, codes};

pub(super) fn check(bound: &Bound<'_>, reads: &[Read<'_>], diagnostics: &mut Diagnostics) {
    // Without an output block the run returns the last step that completed, so any may be used.
    let steps = &bound.workflow.steps;
    let last = match &bound.workflow.output {
        Output::LastCompleted | Output::LastInOrder => steps.last(),
        Output::Properties(_) | Output::Value(_) => None,
    };
    for (index, step) in steps.iter().enumerate() {
        let reads_only = bound.tools[index].is_some_and(|tool| tool.hints().read_only);
        let needed = steps
            .iter()
            .any(|other| other.needs.iter().any(|need| need.step == step.name));
        let is_last = last.is_some_and(|last| last.name == step.name);
        if reads_only && !needed && !is_last && !is_read(step, index, reads) {
            diagnostics.push(unused(step));
        }
    }
}

fn is_read(step: &Step, index: usize, reads: &[Read<'_>]) -> bool {
    let by_itself =
        |read: &Read<'_>| matches!(read.reader, Reader::Step { index: own, .. } if own == index);
    reads
        .iter()
        .any(|read| read.may_read(step.name.as_str()) && !by_itself(read))
}

fn unused(step: &Step) -> Diagnostic {
    Diagnostic::warning(
        codes::UNUSED_STEP,
        format!("nothing uses what step `{}` reads", step.name),
    )
    .label(&step.place, "read-only, and never read")
    .help("use its output, or remove the step")
}
