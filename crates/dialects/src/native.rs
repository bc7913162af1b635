//! The native dialect, the *workflow file* of users: one document, one workflow, with `${{ jq }}` in its
//! values. It can say everything that the representation can hold. `docs/workflow-file.md` describes it.

mod derived;
mod each;
mod expressions;
mod inputs;
mod outputs;
mod path;
mod policy;
mod schema;
mod step;
mod template;
mod write;

#[cfg(test)]
mod tests;

pub use write::write;

use crate::duration::read as read_duration;
pub use schema::schema;

use crate::name::{self, Named, UNNAMED};
use expressions::Reader;
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, Text, codes};
use onecall_workflow::builder::{Builder, Roots, Rules, Words};
use onecall_workflow::draft::Built;
use onecall_workflow::name::WorkflowName;
use std::collections::BTreeMap;

/// What a file says.
#[derive(Debug)]
pub struct Read {
    pub built: Built,
    /// Whether clients are shown it.
    pub exposed: bool,
}

/// One workflow file.
pub fn read(node: &Node, diagnostics: &mut Diagnostics) -> Option<Read> {
    let before = diagnostics.error_count();
    let mut fields = Fields::read(node, "a workflow file", diagnostics)?;
    let name = fields.required_string("workflow", diagnostics);
    if let Some(name) = name {
        diagnostics.extend(name::fault(name, WORKFLOW).or_else(|| long_name(name)));
    }
    let exposed = fields.optional_bool("expose", diagnostics);
    let place = name.map_or(&node.place, |name| name.place()).clone();
    let written = name.map_or(UNNAMED, |name| name.as_str());
    let mut builder = Builder::new(WorkflowName::from(written), place);
    builder.rules = Rules {
        roots: Roots::JQ,
        words: Words::NATIVE,
        ..Rules::default()
    };
    about(&mut builder, &mut fields, diagnostics);
    inputs::read(&mut builder, &mut fields, diagnostics);
    builder.policy = policy::run(&mut fields, diagnostics);
    builder.steps = steps(&mut builder, &mut fields, diagnostics);
    builder.output = outputs::read(&mut fields, diagnostics);
    fields.finish(diagnostics);
    let built = builder.finish(diagnostics);
    Some(Read {
        built: built.only_if(diagnostics.error_count() == before),
        exposed: exposed.is_none_or(|exposed| exposed.value),
    })
}

fn about(builder: &mut Builder, fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) {
    let mut text = |fields: &mut Fields<'_>, key| {
        fields
            .optional_string(key, diagnostics)
            .map(ToString::to_string)
    };
    builder.version = text(fields, "version");
    builder.title = text(fields, "title");
    builder.description = text(fields, "description");
    let labels = fields.mapping("labels", diagnostics).iter();
    let labels = labels.filter_map(|entry| {
        let value = entry.value.expect_string("a label", diagnostics)?;
        Some((entry.key.to_string(), value.to_string()))
    });
    builder.labels = labels.collect::<BTreeMap<_, _>>();
    if let Some(stated) = fields.optional_fields("annotations", diagnostics) {
        builder.annotations = policy::annotations(stated, diagnostics);
    }
}

/// The steps of the file, or the one step of a derived tool.
fn steps(
    builder: &mut Builder,
    fields: &mut Fields<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<onecall_workflow::step::Step> {
    let reader = Reader::default();
    if let Some(tool) = fields.node().get("tool") {
        let steps = fields.optional("steps");
        diagnostics.extend(steps.map(|steps| steps_beside_tool(tool, steps)));
        return derived::step(builder, fields, &reader, diagnostics)
            .into_iter()
            .collect();
    }
    let before = diagnostics.error_count();
    let entries: &[Entry] = fields.mapping("steps", diagnostics);
    let is_read = diagnostics.error_count() == before && fields.node().is_complete();
    if entries.is_empty() && is_read {
        diagnostics.push(
            Diagnostic::error(codes::NO_STEPS, "a workflow needs at least one step")
                .label(fields.place(), "no steps")
                .help("add `steps:` with a step that has a `tool`, or `tool:` to derive one tool from another"),
        );
    }
    let steps = entries
        .iter()
        .map(|entry| step::read(&entry.key, &entry.value, &reader, diagnostics));
    steps.collect()
}

fn steps_beside_tool(tool: &Node, steps: &Node) -> Diagnostic {
    let message = "a workflow has steps or is derived from one tool, not both";
    Diagnostic::error(codes::KEYS_CONFLICT, message)
        .label(&steps.place, "`steps`")
        .secondary(&tool.place, "`tool`")
        .help("remove `tool`, or make a step of it")
}

const WORKFLOW: Named = Named {
    what: "workflow",
    help: "use letters, digits, `_`, `-` and `.`, 128 at most; some clients take no more than 64",
};

fn long_name(name: &Text) -> Option<Diagnostic> {
    let message = format!("the name of this workflow {}", name::too_long(name)?);
    Some(
        Diagnostic::warning(codes::UNUSUAL_NAME, message)
            .label(name.place(), "not every client takes this name")
            .help("shorten it"),
    )
}

/// A duration under a key.
fn duration(
    fields: &mut Fields<'_>,
    key: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<std::time::Duration> {
    read_duration(fields, key, diagnostics).map(|duration| duration.value)
}
