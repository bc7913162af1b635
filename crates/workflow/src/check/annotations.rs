//! What a workflow says of itself may not look safer than what its steps do.

use super::Bound;
use crate::step::Step;
use onecall_source::{Diagnostic, Diagnostics, codes};

pub(super) fn check(bound: &Bound<'_>, diagnostics: &mut Diagnostics) {
    let stated = &bound.workflow.annotations;
    if stated.read_only == Some(true) {
        let offender = bound.known().find(|(_, tool)| !tool.hints().read_only);
        if let Some((step, _)) = offender {
            diagnostics.push(unsafe_hint(
                bound,
                step,
                "readOnlyHint: true",
                "is not read-only",
            ));
        }
    }
    if stated.destructive == Some(false) {
        let offender = bound.known().find(|(_, tool)| {
            let hints = tool.hints();
            !hints.read_only && hints.destructive
        });
        if let Some((step, _)) = offender {
            diagnostics.push(unsafe_hint(
                bound,
                step,
                "destructiveHint: false",
                "may destroy",
            ));
        }
    }
    if stated.open_world == Some(false) {
        let offender = bound.known().find(|(_, tool)| tool.hints().open_world);
        if let Some((step, _)) = offender {
            diagnostics.push(unsafe_hint(
                bound,
                step,
                "openWorldHint: false",
                "reaches an open world",
            ));
        }
    }
}

fn unsafe_hint(bound: &Bound<'_>, step: &Step, hint: &str, reason: &str) -> Diagnostic {
    let message = format!(
        "workflow `{}` says `{hint}`, but the tool of step `{}` {reason}, or does not say",
        bound.workflow.name, step.name
    );
    let place = step.call().map_or(&step.place, |call| &call.tool_place);
    Diagnostic::error(codes::UNSAFE_ANNOTATION, message)
        .label(place, format!("this tool {reason}"))
        .secondary(&bound.workflow.place, "claims to be safer")
        .help("remove the annotation")
}
