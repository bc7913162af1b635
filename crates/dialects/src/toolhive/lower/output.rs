//! The output block: typed properties, each with its own template.

use super::super::expressions::Reader;
use super::super::syntax::{Output as Written, Property, Source};
use onecall_source::{Diagnostic, Diagnostics, Node, Text, codes, suggest};
use onecall_workflow::output::fit;
use onecall_workflow::workflow::{
    Output, OutputKind, OutputProperties, OutputProperty, OutputSource, Unset,
};

pub(super) fn block(
    written: &Written<'_>,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Output {
    for name in &written.required {
        if !written
            .properties
            .iter()
            .any(|own| *own.name == *name.as_str())
        {
            diagnostics.push(required_unknown(name, written));
        }
    }
    Output::Properties(OutputProperties {
        properties: properties(&written.properties, "", reader, diagnostics),
        required: written.required.iter().map(ToString::to_string).collect(),
        unset: Unset::Fails,
    })
}

fn properties(
    written: &[Property<'_>],
    prefix: &str,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Vec<OutputProperty> {
    let lowered = written
        .iter()
        .filter_map(|property| lower(property, prefix, reader, diagnostics));
    lowered.collect()
}

fn lower(
    property: &Property<'_>,
    prefix: &str,
    reader: Reader,
    diagnostics: &mut Diagnostics,
) -> Option<OutputProperty> {
    let path = format!("{prefix}{}", property.name);
    let source = match property.source.as_ref()? {
        Source::Value(text) => {
            let what = format!("output property `{path}`");
            OutputSource::Value(reader.value(text, &what, diagnostics))
        }
        Source::Properties(below) => {
            OutputSource::Properties(properties(below, &format!("{path}."), reader, diagnostics))
        }
    };
    let kind = OutputKind::parse(property.kind.as_ref()?.value)?;
    let default = property.default.map(Node::to_json);
    if let (Some(value), Some(node)) = (&default, property.default)
        && let Err(fault) = fit(kind, value.clone())
    {
        diagnostics.push(default_unfit(&path, node, &fault.to_string()));
    }
    Some(OutputProperty {
        name: property.name.to_string(),
        kind,
        description: property.description.map(ToString::to_string),
        source,
        default,
        schema: None,
        place: property.name.place().clone(),
    })
}

fn required_unknown(name: &Text, written: &Written<'_>) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        codes::OUTPUT_REQUIRED,
        format!("the output requires `{name}`, but has no property of that name"),
    )
    .label(name.place(), "no property of this name");
    let names = written.properties.iter().map(|own| own.name.as_str());
    match suggest(name, names) {
        Some(near) => diagnostic.help(format!("a property named `{near}` exists")),
        None => diagnostic.help(format!("add `{name}` to `properties`, or remove it here")),
    }
}

fn default_unfit(path: &str, node: &Node, fault: &str) -> Diagnostic {
    Diagnostic::error(
        codes::OUTPUT_DEFAULT,
        format!("the default of output property `{path}` cannot be used: {fault}"),
    )
    .label(&node.place, "does not fit")
    .help("change the default or the `type`")
}
