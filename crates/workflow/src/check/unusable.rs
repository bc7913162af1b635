//! A tool whose input schema cannot be used: arguments could be neither converted nor checked. Its backend's setting
//! decides whether workflows may call it all the same.

use super::Bound;
use crate::catalog::{Catalog, CatalogTool};
use crate::coerce::Coercer;
use crate::step::Step;
use onecall_source::{Diagnostic, Diagnostics, Severity, codes};
use serde_json::Value;

pub(super) fn check(bound: &Bound<'_>, catalog: &Catalog, diagnostics: &mut Diagnostics) {
    for (step, tool) in bound.known() {
        let schema = tool.input_schema().cloned().unwrap_or(Value::Bool(true));
        if let Some(problem) = Coercer::new(schema).faults().first() {
            let is_accepted = catalog.unusable_accepted.contains(&tool.backend);
            diagnostics.push(unusable(step, tool, problem, is_accepted));
        }
    }
}

fn unusable(step: &Step, tool: &CatalogTool, problem: &str, is_accepted: bool) -> Diagnostic {
    let (severity, label) = if is_accepted {
        (Severity::Warning, "its arguments are sent unchecked")
    } else {
        (Severity::Error, "its arguments could not be checked")
    };
    let message = format!(
        "tool `{}` of backend `{}` has an input schema that cannot be used: {problem}",
        tool.original, tool.backend
    );
    let place = step.call().map_or(&step.place, |call| &call.tool_place);
    let diagnostic =
        Diagnostic::new(codes::UNUSABLE_TOOL_SCHEMA, severity, message).label(place, label);
    if is_accepted {
        return diagnostic.help("report it to whoever makes the backend");
    }
    diagnostic.help(format!(
        "report it to whoever makes the backend, or set `unusable_schemas: accept` for backend `{}` to send arguments unchecked",
        tool.backend
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Knowledge;
    use crate::check::check;
    use crate::name::{BackendName, ToolName};
    use crate::step::{Action, Call};
    use crate::workflow::Workflow;
    use onecall_mcp::Tool;
    use serde_json::json;

    fn checked(input: &Value, accepts: bool) -> Vec<(Severity, String)> {
        let tool = json!({ "name": "find", "inputSchema": input });
        let backend = BackendName::from("gh");
        let catalog = Catalog {
            tools: vec![CatalogTool {
                name: Some(ToolName::from("gh_find")),
                backend: backend.clone(),
                original: "find".to_owned(),
                listed: true,
                tool: Tool::from_value(tool).unwrap(),
            }],
            backends: [(backend.clone(), Knowledge::Live)].into(),
            unusable_accepted: accepts.then_some(backend).into_iter().collect(),
            ..Catalog::default()
        };
        let step = Step::plain("get", Action::Call(Call::plain("gh.find")));
        let found = check(&Workflow::plain("w", vec![step]), &catalog);
        let unusable = found
            .iter()
            .filter(|own| own.code == codes::UNUSABLE_TOOL_SCHEMA);
        unusable
            .map(|own| (own.severity, own.message.clone()))
            .collect()
    }

    #[test]
    fn a_tool_whose_schema_cannot_be_used_is_refused_unless_its_backend_accepts_it() {
        for input in [
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/absent" } } }),
            json!({ "type": "object", "properties": { "a": { "pattern": "(" } } }),
        ] {
            let refused = checked(&input, false);
            assert_eq!(refused.len(), 1, "{input}");
            assert_eq!(refused[0].0, Severity::Error);
            assert!(refused[0].1.contains("at `#/properties/a"), "{refused:?}");
            assert_eq!(checked(&input, true)[0].0, Severity::Warning);
        }
        assert_eq!(checked(&json!({ "type": "object" }), false), []);
    }
}
