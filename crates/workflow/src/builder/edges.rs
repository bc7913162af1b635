//! Edges of the graph: declared needs must name a step, reads make edges, and no cycle may remain.

use super::{Builder, Undeclared};
use crate::expression::Target;
use crate::graph::{Edge, Graph};
use crate::limits::LABELS_MAX;
use crate::name::StepName;
use crate::reads::{Read, Reader};
use crate::step::{Need, NeedOrigin, Step};
use onecall_source::{Diagnostic, Diagnostics, codes, suggest};
use std::collections::{BTreeMap, BTreeSet};

/// The needs that expressions add to the declared ones, by step.
pub(super) fn infer(
    builder: &Builder,
    reads: &[Read<'_>],
    diagnostics: &mut Diagnostics,
) -> Vec<(usize, Need)> {
    let names: BTreeSet<&str> = builder
        .steps
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    let mut seen: BTreeSet<(usize, &str)> = BTreeSet::new();
    for (index, step) in builder.steps.iter().enumerate() {
        seen.extend(step.needs.iter().map(|need| (index, need.step.as_str())));
    }
    let mut inferred = Vec::new();
    for read in reads {
        let (Reader::Step { index, .. }, Target::Step { name, .. }) =
            (read.reader, &read.reference.target)
        else {
            continue;
        };
        if !names.contains(name.as_str()) || !seen.insert((index, name)) {
            continue;
        }
        match builder.rules.undeclared {
            Undeclared::IsRefused if builder.steps[index].name != name.as_str() => {
                diagnostics.push(undeclared_read(read, name));
            }
            // A step that reads itself waits for itself, whatever it declares.
            Undeclared::Infers | Undeclared::IsRefused => inferred.push((
                index,
                Need {
                    step: name.as_str().into(),
                    origin: NeedOrigin::Inferred,
                    optional: false,
                    default: None,
                    place: read.reference.name_place.clone(),
                },
            )),
        }
    }
    inferred
}

fn undeclared_read(read: &Read<'_>, name: &str) -> Diagnostic {
    let message = format!(
        "{} reads step `{name}` in its {}, but does not wait for it",
        read.reader_name(),
        read.part
    );
    Diagnostic::error(codes::UNDECLARED_READ, message)
        .label(&read.reference.name_place, "this step may not have run yet")
        .help(format!("add `{name}` to what the step needs"))
}

/// Needs in the order of the steps: how an edge came to be must not show in the hash.
pub(super) fn sort(steps: &mut [Step]) {
    let names: Vec<StepName> = steps.iter().map(|step| step.name.clone()).collect();
    let index: BTreeMap<&str, usize> = names.iter().map(StepName::as_str).zip(0..).collect();
    for step in steps {
        step.needs.sort_by_key(|need| index.get(need.step.as_str()));
    }
}

/// Declared needs name steps, and nothing waits for itself.
pub(super) fn check(steps: &[Step], diagnostics: &mut Diagnostics) {
    let names: BTreeSet<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    for step in steps {
        for need in &step.needs {
            if !names.contains(need.step.as_str()) {
                diagnostics.push(unknown_need(step, need, &names));
            }
        }
    }
    let graph = Graph::of(steps);
    for cycle in graph.cycles() {
        diagnostics.push(dependency_cycle(steps, &cycle));
    }
}

fn unknown_need(step: &Step, need: &Need, names: &BTreeSet<&str>) -> Diagnostic {
    let message = format!(
        "step `{}` depends on `{}`, but no step is named so",
        step.name, need.step
    );
    let diagnostic =
        Diagnostic::error(codes::UNKNOWN_STEP, message).label(&need.place, "no step of this name");
    match suggest(need.step.as_str(), names.iter().copied()) {
        Some(near) => diagnostic.help(format!("a step named `{near}` exists")),
        None => diagnostic.help("name a step of this workflow, or remove it"),
    }
}

fn dependency_cycle(steps: &[Step], cycle: &[(usize, Edge)]) -> Diagnostic {
    let mut shown: Vec<String> = cycle
        .iter()
        .map(|(step, _)| format!("`{}`", steps[*step].name))
        .collect();
    shown.push(shown[0].clone());
    let message = match cycle {
        [(step, _)] => format!("step `{}` waits for itself", steps[*step].name),
        _ => format!("steps wait for each other: {}", shown.join(" -> ")),
    };
    let mut diagnostic = Diagnostic::error(codes::CYCLE, message);
    for (position, (step, edge)) in cycle.iter().take(LABELS_MAX).enumerate() {
        let (name, need) = (&steps[*step].name, &steps[*step].needs[edge.need]);
        let text = match need.origin {
            NeedOrigin::Declared => format!("`{name}` depends on `{}`", need.step),
            NeedOrigin::Inferred => {
                format!(
                    "`{name}` reads `{}` here, so it waits for it (inferred)",
                    need.step
                )
            }
        };
        diagnostic = if position == 0 {
            diagnostic.label(&need.place, text)
        } else {
            diagnostic.secondary(&need.place, text)
        };
    }
    diagnostic.help("remove one of these, so that one of the steps can start first")
}
