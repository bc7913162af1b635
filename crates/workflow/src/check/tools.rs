//! Every tool a step calls must exist, and no workflow may take the name of a listed tool.

use super::Bound;
use crate::catalog::{Catalog, Resolution};
use crate::name::BackendName;
use crate::step::{Call, Step};
use onecall_source::{Diagnostic, Diagnostics, codes, suggest};

pub(super) fn check(bound: &Bound<'_>, catalog: &Catalog, diagnostics: &mut Diagnostics) {
    let steps = bound.workflow.steps.iter();
    for step in steps.filter(|step| step.is_readable()) {
        if let Some(call) = step.call()
            && matches!(catalog.resolve(call.tool.as_str()), Resolution::Absent)
        {
            diagnostics.push(unknown_tool(step, call, catalog));
        }
    }
    let name = bound.workflow.name.as_str();
    let taken = catalog
        .tools
        .iter()
        .find(|tool| tool.listed && tool.name.as_ref().is_some_and(|own| own.as_str() == name));
    if let Some(tool) = taken {
        diagnostics.push(name_taken(bound, tool.backend.as_str()));
    }
}

fn unknown_tool(step: &Step, call: &Call, catalog: &Catalog) -> Diagnostic {
    let message = format!(
        "step `{}` calls tool `{}`, which no backend has",
        step.name, call.tool
    );
    let diagnostic = Diagnostic::error(codes::UNKNOWN_TOOL, message)
        .label(&call.tool_place, "no tool of this name");
    if let Some(near) = catalog.nearest(call.tool.as_str()) {
        return diagnostic.help(format!("a tool named `{near}` exists"));
    }
    let named = call
        .tool
        .as_str()
        .split_once('.')
        .map(|(backend, _)| backend);
    let known = catalog.backends.keys().map(BackendName::as_str);
    let near = named.and_then(|named| suggest(named, known));
    let backends: Vec<String> = catalog
        .backends
        .keys()
        .map(|name| format!("`{name}`"))
        .collect();
    let diagnostic = match near {
        Some(near) => diagnostic.help(format!("a backend named `{near}` exists")),
        None => diagnostic.help("list the tools with `onecall tools`"),
    };
    if backends.is_empty() {
        return diagnostic.note("no backend is configured");
    }
    diagnostic.note(format!("the backends are {}", backends.join(", ")))
}

fn name_taken(bound: &Bound<'_>, backend: &str) -> Diagnostic {
    let message = format!(
        "workflow `{}` has the name of a tool of backend `{backend}`, so it is withheld",
        bound.workflow.name
    );
    Diagnostic::error(codes::NAME_TAKEN, message)
        .label(&bound.workflow.place, "the backend's tool keeps the name")
        .help("rename the workflow, or hide or rename the tool of the backend")
}
