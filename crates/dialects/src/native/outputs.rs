//! What a workflow returns: `outputs` by name, or `returns` as one value.

use super::expressions::{Reader, special};
use crate::output;
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, Text, codes};
use onecall_workflow::limits::OUTPUT_DEPTH_MAX;
use onecall_workflow::output::fit;
use onecall_workflow::workflow::{
    Output, OutputKind, OutputProperties, OutputProperty, OutputSource, Unset,
};
use serde_json::{Map, Value};

pub(super) fn read(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Output {
    let outputs = fields.optional("outputs");
    let returns = fields.optional("returns");
    let unset = fields.optional_choice("unset_outputs", &["left_out", "fail"], diagnostics);
    if let (Some(outputs), Some(returns)) = (outputs, returns) {
        diagnostics.push(
            Diagnostic::error(
                codes::KEYS_CONFLICT,
                "`outputs` and `returns` both say what the workflow gives",
            )
            .label(&returns.place, "`returns`")
            .secondary(&outputs.place, "`outputs`")
            .help("keep one of them"),
        );
    }
    if let Some(returns) = returns {
        return whole(returns, diagnostics);
    }
    let Some(outputs) = outputs else {
        return Output::LastCompleted;
    };
    let mut block = OutputProperties {
        properties: Vec::new(),
        required: Vec::new(),
        unset: match unset.map(|stated| stated.value) {
            Some("fail") => Unset::Fails,
            _ => Unset::LeftOut,
        },
    };
    let entries: &[Entry] = outputs
        .expect_mapping("outputs", diagnostics)
        .unwrap_or_default();
    for entry in entries {
        if is_required(&entry.value) {
            block.required.push(entry.key.to_string());
        }
    }
    block.properties = properties(entries, "", 1, diagnostics);
    Output::Properties(block)
}

/// A value with expressions in it, or `{$last: completed}` and `{$last: in_order}`.
fn whole(node: &Node, diagnostics: &mut Diagnostics) -> Output {
    match node.get("$last").and_then(Node::as_text).map(Text::as_str) {
        Some("completed") => Output::LastCompleted,
        Some("in_order") => Output::LastInOrder,
        _ => {
            let reader = Reader::default();
            Output::Value(reader.values(node, "", "`returns`", diagnostics))
        }
    }
}

fn is_required(node: &Node) -> bool {
    node.get("required").and_then(Node::as_bool) == Some(true)
}

fn properties(
    entries: &[Entry],
    prefix: &str,
    depth: usize,
    diagnostics: &mut Diagnostics,
) -> Vec<OutputProperty> {
    let read = entries
        .iter()
        .filter_map(|entry| property(&entry.key, &entry.value, prefix, depth, diagnostics));
    read.collect()
}

/// An expression, or an object with `value` or `properties` and what is known of it.
fn property(
    name: &Text,
    node: &Node,
    prefix: &str,
    depth: usize,
    diagnostics: &mut Diagnostics,
) -> Option<OutputProperty> {
    let path = format!("{prefix}{name}");
    let what = format!("output `{path}`");
    let reader = Reader::default();
    let blank = |source| OutputProperty {
        name: name.to_string(),
        kind: OutputKind::Any,
        description: None,
        source,
        default: None,
        schema: None,
        place: name.place().clone(),
    };
    let is_long = node.get("value").is_some() || node.get("properties").is_some();
    if !is_long && node.as_mapping().is_some() && special(node).is_none() {
        diagnostics.push(no_source(name));
        return None;
    }
    if !is_long {
        let value = reader.expression(node, &what, diagnostics)?;
        return Some(blank(OutputSource::Value(value)));
    }
    let mut fields = Fields::read(node, "an output", diagnostics)?;
    let kinds = [
        "string", "integer", "number", "boolean", "object", "array", "any",
    ];
    let kind = fields.optional_choice("type", &kinds, diagnostics);
    let description = fields.optional_string("description", diagnostics);
    let default = fields.entry("default").map(|entry| &entry.value);
    fields.optional_bool("required", diagnostics);
    let value = fields.optional("value");
    let below = fields.optional("properties");
    let source = match (value, below) {
        (Some(value), None) => OutputSource::Value(reader.expression(value, &what, diagnostics)?),
        (None, Some(below)) if depth < OUTPUT_DEPTH_MAX => {
            let entries = below.expect_mapping("properties", diagnostics)?;
            let below = properties(entries, &format!("{path}."), depth + 1, diagnostics);
            OutputSource::Properties(below)
        }
        (None, Some(below)) => {
            diagnostics.push(output::too_deep("outputs", below));
            return None;
        }
        (Some(_), Some(below)) => {
            diagnostics.push(output::two_sources("output", name, below));
            return None;
        }
        (None, None) => return None,
    };
    let is_object = matches!(source, OutputSource::Properties(_));
    let kind = match kind.map(|kind| kind.value) {
        Some(kind) => OutputKind::parse(kind).unwrap_or(OutputKind::Any),
        None if is_object => OutputKind::Object,
        None => OutputKind::Any,
    };
    let mut property = blank(source);
    property.kind = kind;
    property.description = description.map(ToString::to_string);
    property.default = default.map(Node::to_json);
    property.schema = schema(&mut fields);
    fields.finish(diagnostics);
    check_default(&property, &path, default, diagnostics);
    Some(property)
}

/// Whatever else is said of an output is JSON Schema.
fn schema(fields: &mut Fields<'_>) -> Option<Value> {
    let rest = fields.rest();
    let schema: Map<String, Value> = rest
        .iter()
        .map(|entry| (entry.key.to_string(), entry.value.to_json()))
        .collect();
    (!schema.is_empty()).then_some(Value::Object(schema))
}

fn check_default(
    property: &OutputProperty,
    path: &str,
    node: Option<&Node>,
    diagnostics: &mut Diagnostics,
) {
    if let (Some(default), Some(node)) = (&property.default, node)
        && let Err(fault) = fit(property.kind, default.clone())
    {
        let message = format!("the default of output `{path}` cannot be used: {fault}");
        diagnostics.push(
            Diagnostic::error(codes::OUTPUT_DEFAULT, message)
                .label(&node.place, "does not fit")
                .help("change the default or the `type`"),
        );
    }
}

fn no_source(name: &Text) -> Diagnostic {
    Diagnostic::error(
        codes::OUTPUT_SHAPE,
        format!("output `{name}` has neither `value` nor `properties`"),
    )
    .label(name.place(), "nothing gives its value")
    .help("add `value:` with an expression")
}
