//! Typed outputs, which mcptest does not have: properties with a type, a template and perhaps a default.

use super::super::expressions::Reader;
use super::super::syntax::Property;
use onecall_source::{Diagnostic, Diagnostics, Node, Text, codes};
use onecall_workflow::workflow::{
    Output, OutputKind, OutputProperties, OutputProperty, OutputSource, Unset,
};

pub(super) fn typed(
    properties: &[Property<'_>],
    required: &[&Text],
    reader: &mut Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Output {
    for name in required {
        if !properties
            .iter()
            .any(|property| *property.name == *name.as_str())
        {
            diagnostics.push(unknown_required(name));
        }
    }
    let properties = properties.iter().map(|property| OutputProperty {
        name: property.name.to_string(),
        kind: OutputKind::parse(property.kind).unwrap_or(OutputKind::Any),
        description: property.description.map(ToString::to_string),
        source: OutputSource::Value(reader.expression(property.value, diagnostics)),
        default: property.default.map(Node::to_json),
        schema: None,
        place: property.name.place().clone(),
    });
    Output::Properties(OutputProperties {
        properties: properties.collect(),
        required: required.iter().map(ToString::to_string).collect(),
        unset: Unset::Fails,
    })
}

fn unknown_required(name: &Text) -> Diagnostic {
    Diagnostic::error(
        codes::OUTPUT_REQUIRED,
        format!("the output requires `{name}`, which it does not define"),
    )
    .label(name.place(), "no property of this name")
    .help("define it under `properties`, or remove it from `required`")
}
