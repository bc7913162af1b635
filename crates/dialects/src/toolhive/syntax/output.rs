//! The output block as it is written.

use crate::output;
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, Spanned, Text, codes};
use onecall_workflow::limits::OUTPUT_DEPTH_MAX;

#[derive(Debug)]
pub(in crate::toolhive) struct Output<'n> {
    pub(in crate::toolhive) properties: Vec<Property<'n>>,
    pub(in crate::toolhive) required: Vec<&'n Text>,
}

#[derive(Debug)]
pub(in crate::toolhive) struct Property<'n> {
    pub(in crate::toolhive) name: &'n Text,
    pub(in crate::toolhive) kind: Option<Spanned<&'static str>>,
    pub(in crate::toolhive) description: Option<&'n Text>,
    pub(in crate::toolhive) source: Option<Source<'n>>,
    pub(in crate::toolhive) default: Option<&'n Node>,
}

#[derive(Debug)]
pub(in crate::toolhive) enum Source<'n> {
    Value(&'n Text),
    Properties(Vec<Property<'n>>),
}

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "object", "array"];

impl<'n> Output<'n> {
    pub(super) fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(node, "output", diagnostics)?;
        let list = fields.required("properties", diagnostics);
        let properties = list.map(|node| read_properties(node, 1, diagnostics));
        let required = fields.string_sequence("required", diagnostics);
        fields.finish(diagnostics);
        if let (Some([]), Some(list)) = (properties.as_deref(), list)
            && list.as_mapping().is_some_and(<[_]>::is_empty)
        {
            diagnostics.push(no_properties(list));
        }
        Some(Self {
            properties: properties.unwrap_or_default(),
            required,
        })
    }
}

fn read_properties<'n>(
    node: &'n Node,
    depth: usize,
    diagnostics: &mut Diagnostics,
) -> Vec<Property<'n>> {
    let Some(entries) = node.expect_mapping("properties", diagnostics) else {
        return Vec::new();
    };
    if depth > OUTPUT_DEPTH_MAX {
        diagnostics.push(output::too_deep("output properties", node));
        return Vec::new();
    }
    entries
        .iter()
        .filter_map(|entry| read_property(&entry.key, &entry.value, depth, diagnostics))
        .collect()
}

fn read_property<'n>(
    name: &'n Text,
    node: &'n Node,
    depth: usize,
    diagnostics: &mut Diagnostics,
) -> Option<Property<'n>> {
    let mut fields = Fields::read(node, "an output property", diagnostics)?;
    fields.required("type", diagnostics);
    let kind = fields.optional_choice("type", &TYPES, diagnostics);
    let description = fields.required_string("description", diagnostics);
    let value = fields.optional_string("value", diagnostics);
    let below = fields.optional("properties");
    let default = fields.entry("default").map(|entry| &entry.value);
    let has_value = fields.has("value");
    fields.finish(diagnostics);
    let is_object = kind.as_ref().is_none_or(|kind| kind.value == "object");
    let source = match (value, below) {
        (Some(value), None) => Some(Source::Value(value)),
        (None, Some(below)) if is_object => Some(Source::Properties(read_properties(
            below,
            depth + 1,
            diagnostics,
        ))),
        (None, Some(below)) => {
            let kind = kind.as_ref().map_or("", |kind| kind.value);
            diagnostics.push(properties_of_no_object(name, below, kind));
            None
        }
        (Some(_), Some(below)) => {
            diagnostics.push(output::two_sources("output property", name, below));
            None
        }
        (None, None) => {
            // A value of the wrong type was reported already.
            if !has_value || node.get("value").is_some_and(Node::is_null) {
                diagnostics.push(no_source(name, is_object));
            }
            None
        }
    };
    Some(Property {
        name,
        kind,
        description,
        source,
        default,
    })
}

fn no_properties(list: &Node) -> Diagnostic {
    Diagnostic::error(codes::OUTPUT_SHAPE, "the output has no properties")
        .label(&list.place, "at least one is needed")
        .help("add a property, or remove `output` to return the output of the last step")
}

fn no_source(name: &Text, is_object: bool) -> Diagnostic {
    let message = if is_object {
        format!("output property `{name}` has neither `value` nor `properties`")
    } else {
        format!("output property `{name}` has no `value`")
    };
    Diagnostic::error(codes::OUTPUT_SHAPE, message)
        .label(name.place(), "nothing gives its value")
        .help("add `value:` with a template")
}

fn properties_of_no_object(name: &Text, below: &Node, kind: &str) -> Diagnostic {
    Diagnostic::error(
        codes::OUTPUT_SHAPE,
        format!("output property `{name}` is of type `{kind}`, which cannot have `properties`"),
    )
    .label(&below.place, "only objects have properties")
    .help("change `type` to `object`, or give it a `value`")
}
