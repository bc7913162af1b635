//! The `status` block of each definition resource, in the words of the guide: what a controller would write.

use crate::read::{Input, Options, assemble, parse_all};
use crate::resources::{Resource, ResourceKind, resources_of};
use onecall_dialects::dialect::Kind;
use onecall_source::{Diagnostic, Diagnostics, Document, Place, SourceMap, codes, counted};
use serde_json::{Value, json};

/// What became of one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionStatus {
    pub name: String,
    pub namespace: String,
    pub generation: Option<i64>,
    /// In the guide's words, with the path in the resource.
    pub errors: Vec<String>,
    pub referencing_servers: Vec<String>,
}

/// The status of every definition among the files. `more` are faults found by other checks, such as unknown tools.
pub fn statuses(
    sources: &SourceMap,
    inputs: &[Input],
    options: &Options<'_>,
    more: &Diagnostics,
) -> Vec<DefinitionStatus> {
    let mut diagnostics = Diagnostics::new();
    let documents = parse_all(sources, inputs, &mut diagnostics);
    let (_, definitions) = assemble(documents, options, &mut diagnostics);
    diagnostics.extend(more.iter().cloned());
    diagnostics.sort();
    let mut ignored = Diagnostics::new();
    let documents = parse_all(sources, inputs, &mut ignored);
    let mut all = Vec::new();
    for found in documents
        .iter()
        .filter(|found| found.kind == Kind::Resource)
    {
        for resource in resources_of(&found.document.root, &mut ignored) {
            if resource.kind != ResourceKind::Definition {
                continue;
            }
            let Some(name) = resource.name else { continue };
            let servers = definitions
                .iter()
                .filter(|own| own.namespace == resource.namespace && *own.name == **name)
                .flat_map(|own| own.referenced_by.iter().cloned());
            all.push(DefinitionStatus {
                name: name.to_string(),
                namespace: resource.namespace.clone(),
                generation: resource.generation,
                errors: errors_of(&resource, &found.document, &diagnostics, sources),
                referencing_servers: servers.collect(),
            });
        }
    }
    all
}

fn errors_of(
    resource: &Resource<'_>,
    document: &Document,
    diagnostics: &Diagnostics,
    sources: &SourceMap,
) -> Vec<String> {
    let prefix = document.path_at(&resource.node.place).unwrap_or_default();
    diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .filter_map(|diagnostic| {
            let place = diagnostic.place()?;
            let inside = match (place.span(), resource.node.place.span()) {
                (Some(span), Some(outer)) => outer.contains(span),
                _ => true,
            };
            let path = document.path_at(place).filter(|_| inside)?;
            let path = path.strip_prefix(&prefix).unwrap_or(&path);
            Some(worded(
                diagnostic,
                path.trim_start_matches('.'),
                place,
                sources,
            ))
        })
        .collect()
}

/// The guide's own sentences where it has one, else the path and our message.
fn worded(diagnostic: &Diagnostic, path: &str, place: &Place, sources: &SourceMap) -> String {
    if diagnostic.code == codes::UNKNOWN_STEP
        && let Some((list, _)) = path.rsplit_once('[')
        && list.ends_with(".dependsOn")
        && let Some(span) = place.span()
    {
        let name = sources.slice(span).trim_matches(['"', '\'']);
        return format!("{list} references unknown step {name:?}");
    }
    if diagnostic.code == codes::TOOL_REFERENCE {
        return format!("{path} must be in format 'workload.tool_name'");
    }
    if path.is_empty() {
        return diagnostic.message.clone();
    }
    format!("{path}: {}", diagnostic.message)
}

impl DefinitionStatus {
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// The block as the cluster would show it; `now` is the time of the conditions.
    pub fn to_json(&self, now: Option<&str>) -> Value {
        let errors = counted(self.errors.len(), "error");
        let (ready, validated) = if self.is_valid() {
            (
                (
                    "True",
                    "WorkflowReady",
                    "Workflow is valid and ready to use".to_owned(),
                ),
                (
                    "True",
                    "ValidationSuccess",
                    "All validation checks passed".to_owned(),
                ),
            )
        } else {
            (
                (
                    "False",
                    "WorkflowNotReady",
                    "Workflow has validation errors".to_owned(),
                ),
                (
                    "False",
                    "ValidationFailed",
                    format!("Validation failed with {errors}"),
                ),
            )
        };
        let condition = |kind: &str, (status, reason, message): (&str, &str, String)| {
            let mut own = json!({
                "type": kind, "status": status, "reason": reason, "message": message,
            });
            if let Some(now) = now {
                own["lastTransitionTime"] = Value::from(now);
            }
            own
        };
        let mut status = json!({
            "validationStatus": if self.is_valid() { "Valid" } else { "Invalid" },
        });
        if !self.is_valid() {
            status["validationErrors"] = json!(self.errors);
        }
        if let Some(generation) = self.generation {
            status["observedGeneration"] = Value::from(generation);
        }
        if !self.referencing_servers.is_empty() {
            status["referencingVirtualServers"] = json!(self.referencing_servers);
        }
        status["conditions"] = json!([
            condition("Ready", ready),
            condition("WorkflowValidated", validated),
        ]);
        status
    }
}
