//! Inputs and the fields of answers: a word such as `integer = 50` or `string[]?`, or a JSON Schema, side by side.

use crate::schema_places;
use onecall_source::{
    Diagnostic, Diagnostics, Entry, Fields, Node, NodeKind, Place, Text, codes, suggest,
};
use onecall_workflow::builder::Builder;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "any",
];

/// `inputs` by name, or `parameters` as one JSON Schema of them all.
pub(super) fn read(builder: &mut Builder, fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) {
    let whole = fields.optional("parameters");
    let inputs = fields.optional("inputs");
    if let (Some(whole), Some(inputs)) = (whole, inputs) {
        diagnostics.push(
            Diagnostic::error(
                codes::KEYS_CONFLICT,
                "`inputs` and `parameters` both say what the workflow takes",
            )
            .label(&whole.place, "`parameters`")
            .secondary(&inputs.place, "`inputs`")
            .help("keep one of them"),
        );
    }
    if let Some(whole) = whole {
        if whole.expect_mapping("parameters", diagnostics).is_some() {
            builder.inputs = whole.to_json();
            schema_places::defaults(whole, "", &mut builder.rules.default_places);
            builder.rules.inputs_place = Some(whole.place.clone());
        }
    } else if let Some(inputs) = inputs {
        builder.inputs = object(inputs, "inputs", diagnostics);
        default_places(inputs, &mut builder.rules.default_places);
        builder.rules.inputs_place = Some(inputs.place.clone());
    }
}

/// A default stands in its schema, or in the word of its type.
fn default_places(inputs: &Node, places: &mut BTreeMap<String, Place>) {
    for entry in inputs.as_mapping().unwrap_or_default() {
        let pointer = format!("/properties/{}", schema_places::escaped(&entry.key));
        match &entry.value.kind {
            NodeKind::String(text) => {
                places.insert(format!("{pointer}/default"), text.place().clone());
            }
            _ => schema_places::defaults(&entry.value, &pointer, places),
        }
    }
}

/// The schema of an object from its fields, each in either form.
pub(super) fn object(node: &Node, what: &str, diagnostics: &mut Diagnostics) -> Value {
    let entries: &[Entry] = node.expect_mapping(what, diagnostics).unwrap_or_default();
    let mut properties = Map::new();
    let mut required = Vec::new();
    for entry in entries {
        let Some(field) = field(&entry.value, diagnostics) else {
            continue;
        };
        if !field.optional {
            required.push(Value::from(entry.key.as_str()));
        }
        properties.insert(entry.key.to_string(), field.schema);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema
}

struct Field {
    schema: Value,
    optional: bool,
}

fn field(node: &Node, diagnostics: &mut Diagnostics) -> Option<Field> {
    match &node.kind {
        NodeKind::String(text) => word(text, diagnostics),
        NodeKind::Sequence(items) => {
            if let [item] = items.as_slice() {
                let item = field(item, diagnostics)?.schema;
                return Some(Field {
                    schema: json!({ "type": "array", "items": item }),
                    optional: false,
                });
            }
            diagnostics.push(list_type(node));
            None
        }
        NodeKind::Mapping(_) => {
            let mut schema = node.to_json();
            let stated = schema.as_object_mut()?.remove("optional");
            let optional = stated == Some(Value::Bool(true)) || schema.get("default").is_some();
            Some(Field { schema, optional })
        }
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => {
            node.expect_string("a type", diagnostics);
            None
        }
    }
}

/// `TYPE`, `TYPE?`, `TYPE = default`; a type is a word, `word[]` or `[word]`.
fn word(text: &Text, diagnostics: &mut Diagnostics) -> Option<Field> {
    let (kind, default) = match text.split_once('=') {
        None => (text.trim(), None),
        Some((kind, default)) => (kind.trim(), Some(default.trim())),
    };
    let (kind, question) = match kind.strip_suffix('?') {
        Some(kind) => (kind.trim_end(), true),
        None => (kind, false),
    };
    let Some(mut schema) = schema_of(kind) else {
        diagnostics.push(unknown_word(text, kind));
        return None;
    };
    if let Some(default) = default {
        let is_text = schema.get("type") == Some(&Value::from("string"));
        let parsed = serde_json::from_str(default).unwrap_or_else(|_| Value::from(default));
        let value = match parsed {
            parsed @ Value::String(_) => parsed,
            _ if is_text => Value::from(default),
            parsed => parsed,
        };
        schema["default"] = value;
    }
    Some(Field {
        schema,
        optional: question || default.is_some(),
    })
}

fn schema_of(kind: &str) -> Option<Value> {
    if let Some(item) = kind.strip_suffix("[]") {
        return Some(json!({ "type": "array", "items": schema_of(item.trim())? }));
    }
    if let Some(item) = kind
        .strip_prefix('[')
        .and_then(|kind| kind.strip_suffix(']'))
    {
        return Some(json!({ "type": "array", "items": schema_of(item.trim())? }));
    }
    match kind {
        "any" => Some(json!({})),
        known if TYPES.contains(&known) => Some(json!({ "type": known })),
        _ => None,
    }
}

fn unknown_word(text: &Text, kind: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_VALUE,
        format!("`{text}` is no type of an input"),
    )
    .label(text.place(), "unknown type");
    match suggest(kind, TYPES) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic.help(
            "write `string`, `integer = 50`, `string[]?`, or a JSON Schema such as `{type: string, enum: [a, b]}`",
        ),
    }
}

fn list_type(node: &Node) -> Diagnostic {
    Diagnostic::error(
        codes::UNKNOWN_VALUE,
        "a list is a type only with one item, as in `[string]`",
    )
    .label(&node.place, "not a type")
    .help("write `[string]` for a list of strings")
}
