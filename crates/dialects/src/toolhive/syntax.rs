//! A composite tool as it is written: the file's own types, with places, before anything is decided.

mod output;
mod step;

pub(super) use output::{Output, Property, Source};
pub(super) use step::{Call, Kind, Loop, OnError, Question, Step};

use crate::duration;
use onecall_source::{Diagnostics, Fields, Node, Spanned, Text};
use onecall_workflow::workflow::Annotations;
use std::time::Duration;

/// A definition under `compositeTools`, or the `spec` of a definition resource.
#[derive(Debug)]
pub(super) struct CompositeTool<'n> {
    pub(super) node: &'n Node,
    pub(super) name: Option<&'n Text>,
    pub(super) description: Option<&'n Text>,
    pub(super) parameters: Option<&'n Node>,
    pub(super) timeout: Option<Spanned<Duration>>,
    pub(super) failure_mode: Option<Spanned<&'static str>>,
    pub(super) steps: Vec<Step<'n>>,
    /// The `steps` key itself, where it is a list.
    pub(super) steps_place: Option<&'n Node>,
    pub(super) output: Option<Output<'n>>,
    pub(super) annotations: Annotations,
}

impl<'n> CompositeTool<'n> {
    pub(super) fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(node, "a composite tool", diagnostics)?;
        let name = fields.required_string("name", diagnostics);
        let description = fields.required_string("description", diagnostics);
        let parameters = fields.optional("parameters");
        let timeout = duration::read(&mut fields, "timeout", diagnostics);
        let failure_mode =
            fields.optional_choice("failureMode", &["abort", "continue"], diagnostics);
        let steps_node = fields.required("steps", diagnostics);
        let output = fields.optional("output");
        let annotations = fields.optional_fields("annotations", diagnostics);
        let annotations = annotations.map(|fields| read_annotations(fields, diagnostics));
        let list = steps_node.and_then(|node| node.expect_sequence("steps", diagnostics));
        let tool = Self {
            node,
            name,
            description,
            parameters,
            timeout,
            failure_mode,
            steps: list
                .unwrap_or_default()
                .iter()
                .filter_map(|node| Step::read(node, diagnostics))
                .collect(),
            steps_place: list.and(steps_node),
            output: output.and_then(|node| Output::read(node, diagnostics)),
            annotations: annotations.unwrap_or_default(),
        };
        fields.finish(diagnostics);
        Some(tool)
    }
}

/// The hints an author states, of a composite tool or in an override.
pub fn read_annotations(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Annotations {
    let annotations = Annotations {
        title: fields
            .optional_string("title", diagnostics)
            .map(ToString::to_string),
        read_only: value(fields.optional_bool("readOnlyHint", diagnostics)),
        destructive: value(fields.optional_bool("destructiveHint", diagnostics)),
        idempotent: value(fields.optional_bool("idempotentHint", diagnostics)),
        open_world: value(fields.optional_bool("openWorldHint", diagnostics)),
    };
    fields.finish(diagnostics);
    annotations
}

fn value(spanned: Option<Spanned<bool>>) -> Option<bool> {
    spanned.map(|spanned| spanned.value)
}
