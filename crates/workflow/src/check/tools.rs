//! Every tool a step calls must exist, and no workflow may take the name of a listed tool.

use super::Bound;
use crate::catalog::{Catalog, Resolution};
use crate::limits::TOOLS_SHOWN_MAX;
use crate::name::BackendName;
use crate::step::{Call, Step};
use onecall_source::{Diagnostic, Diagnostics, codes, suggest};
use std::fmt::Display;

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
    let diagnostic = diagnostic.help(way_out(call.tool.as_str(), catalog));
    let backends: Vec<String> = catalog.backends.keys().map(quoted).collect();
    if backends.is_empty() {
        return diagnostic.note("no backend is configured");
    }
    diagnostic.note(format!("the backends are {}", backends.join(", ")))
}

/// What may help where no tool has nearly this name.
fn way_out(tool: &str, catalog: &Catalog) -> String {
    if let Some((backend, own)) = catalog.tools_of_named(tool) {
        let shown: Vec<String> = own.iter().take(TOOLS_SHOWN_MAX).map(quoted).collect();
        let more = match own.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return match shown.as_slice() {
            [] => format!("backend `{backend}` has no tools"),
            shown => format!("backend `{backend}` has {}{more}", shown.join(", ")),
        };
    }
    let known = catalog.backends.keys().map(BackendName::as_str);
    let named = tool.split_once('.').map(|(backend, _)| backend);
    match named.and_then(|named| suggest(named, known)) {
        Some(near) => format!("a backend named `{near}` exists"),
        None => "list the tools with `onecall tools`".to_owned(),
    }
}

fn quoted(name: impl Display) -> String {
    format!("`{name}`")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{CatalogTool, Knowledge};
    use onecall_mcp::Tool;
    use serde_json::json;

    /// Live backends, each with its tools.
    fn catalog(backends: &[(&str, &[&str])]) -> Catalog {
        let tools = backends.iter().flat_map(|(backend, tools)| {
            let of = |original: &&str| CatalogTool {
                name: None,
                backend: (*backend).into(),
                original: (*original).to_owned(),
                listed: true,
                tool: Tool::from_value(json!({ "name": original })).unwrap(),
            };
            tools.iter().map(of)
        });
        let known = |(backend, _): &(&str, &[&str])| ((*backend).into(), Knowledge::Live);
        Catalog {
            tools: tools.collect(),
            backends: backends.iter().map(known).collect(),
            ..Catalog::default()
        }
    }

    #[test]
    fn a_backend_that_is_there_is_not_taken_for_another() {
        let many: Vec<String> = (0..12).map(|at| format!("tool{at:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let catalog = catalog(&[("m", &["add", "echo"]), ("sm", &many), ("none", &[])]);
        let near = |tool: &str| catalog.nearest(tool);
        assert_eq!(near("m.ad").as_deref(), Some("m.add"));
        // A near tool of the backend itself before that of another.
        assert_eq!(near("m.ecko").as_deref(), Some("m.echo"));
        assert_eq!(near("m.nosuch"), None);
        assert_eq!(
            way_out("m.nosuch", &catalog),
            "backend `m` has `add`, `echo`"
        );
        assert_eq!(way_out("none.x", &catalog), "backend `none` has no tools");
        let told = way_out("sm.nosuch", &catalog);
        assert!(told.ends_with("`tool07` and 4 more"), "{told}");
        let told = way_out("nonne.x", &catalog);
        assert_eq!(told, "a backend named `none` exists");
        assert!(way_out("x.y", &catalog).starts_with("list the tools"));
    }
}
