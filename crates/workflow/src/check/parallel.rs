//! Loops that make more calls at once than the backend of their tool takes.

use crate::catalog::{Catalog, Resolution};
use crate::name::BackendName;
use crate::step::{Action, Step};
use crate::workflow::Workflow;
use onecall_source::{Diagnostic, Diagnostics, codes};

/// `in_flight_max`: how many calls a backend takes at once. Where the tools are not known, the name of the tool may
/// still name its backend.
pub fn check_parallel(
    workflow: &Workflow,
    catalog: &Catalog,
    in_flight_max: impl Fn(&BackendName) -> usize,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for step in &workflow.steps {
        diagnostics.extend(of_step(step, catalog, &in_flight_max));
    }
    diagnostics
}

fn of_step(
    step: &Step,
    catalog: &Catalog,
    in_flight_max: impl Fn(&BackendName) -> usize,
) -> Option<Diagnostic> {
    let Action::Each(each) = &step.action else {
        return None;
    };
    let call = each.body.call()?;
    let backend = match catalog.resolve(call.tool.as_str()) {
        Resolution::Found(tool) => &tool.backend,
        Resolution::NotYetKnown | Resolution::Absent => catalog.silent_owner(call.tool.as_str())?,
    };
    let wanted = each.parallel_max.min(each.iterations_max);
    let taken = in_flight_max(backend);
    if usize::try_from(wanted).is_ok_and(|wanted| wanted <= taken) {
        return None;
    }
    let message = format!(
        "step `{}` makes {wanted} calls at once, and backend `{backend}` takes {taken}",
        step.name
    );
    let warning = Diagnostic::warning(codes::PARALLEL, message)
        .label(&step.place, "further calls wait for a free permit")
        .help(format!(
            "set `max_in_flight: {wanted}` for `{backend}`, or let the loop make fewer calls at once"
        ));
    Some(warning)
}
