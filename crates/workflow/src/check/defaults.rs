//! The default of a step against the shape its tool returns. Defaults are not type-checked, only doubted.

use super::Bound;
use crate::coerce::{Coercer, Reason};
use crate::step::{Action, Step};
use onecall_source::{Diagnostic, Diagnostics, codes};
use serde_json::Value;

pub(super) fn check(bound: &Bound<'_>, diagnostics: &mut Diagnostics) {
    for (step, tool) in bound.known() {
        if let (Action::Call(_), Some(default), Some(output)) =
            (&step.action, &step.default, tool.output_schema())
        {
            // Only the fields that are there: a default need not be complete.
            let mut schema = output.clone();
            if let Some(object) = schema.as_object_mut() {
                object.remove("required");
            }
            let faults = Coercer::new(schema).validate(default);
            if let Some(fault) = faults.first()
                && fault.reason == Reason::Mismatch
                && !is_null_at(default, &fault.path)
            {
                diagnostics.push(unfit(step, &fault.to_string()));
            }
        }
    }
}

/// Null stands for "nothing known" in a default.
fn is_null_at(default: &Value, path: &str) -> bool {
    let mut at = default;
    for name in path.split('.') {
        match at.get(name) {
            Some(below) => at = below,
            None => return false,
        }
    }
    at.is_null()
}

fn unfit(step: &Step, fault: &str) -> Diagnostic {
    Diagnostic::warning(
        codes::DEFAULT_UNFIT,
        format!(
            "the default of step `{}` is not what its tool returns: {fault}",
            step.name
        ),
    )
    .label(&step.place, "readers expect the shape of the tool")
    .help("give the default the shape of the tool's output")
}
