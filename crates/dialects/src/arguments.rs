//! Values with templates at their leaves, as every dialect writes arguments: a part without any template is a
//! literal, and every part keeps its place.

use onecall_source::{Node, NodeKind, Place};
use onecall_workflow::expression::ValueTemplate;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The value of a node. `leaf` decides about texts and mappings; what it leaves is taken as it is written.
pub(crate) fn values(
    node: &Node,
    path: &str,
    leaf: &mut impl FnMut(&Node, &str) -> Option<ValueTemplate>,
) -> ValueTemplate {
    if let Some(own) = leaf(node, path) {
        return own;
    }
    match &node.kind {
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::String(_) => {
            ValueTemplate::Literal(node.to_json())
        }
        NodeKind::Sequence(items) => {
            let below: Vec<ValueTemplate> = items
                .iter()
                .enumerate()
                .map(|(index, item)| values(item, &format!("{path}[{index}]"), leaf))
                .collect();
            collected(&below).unwrap_or(ValueTemplate::Array(below))
        }
        NodeKind::Mapping(entries) => {
            let below: Vec<(String, ValueTemplate)> = entries
                .iter()
                .map(|entry| {
                    let value = values(&entry.value, &joined(path, &entry.key), leaf);
                    (entry.key.as_str().to_owned(), value)
                })
                .collect();
            // The root stays an object, so that each argument can be seen by itself.
            let literal = if path.is_empty() {
                None
            } else {
                united(&below)
            };
            literal.unwrap_or(ValueTemplate::Object(below))
        }
    }
}

/// The literal of parts that are all literals.
fn collected(below: &[ValueTemplate]) -> Option<ValueTemplate> {
    let values: Option<Vec<Value>> = below.iter().map(|value| literal(value).cloned()).collect();
    values.map(|values| ValueTemplate::Literal(Value::Array(values)))
}

fn united(below: &[(String, ValueTemplate)]) -> Option<ValueTemplate> {
    let entries = below
        .iter()
        .map(|(key, value)| Some((key.clone(), literal(value)?.clone())));
    let entries: Option<Map<String, Value>> = entries.collect();
    entries.map(|entries| ValueTemplate::Literal(Value::Object(entries)))
}

fn literal(template: &ValueTemplate) -> Option<&Value> {
    match template {
        ValueTemplate::Literal(value) => Some(value),
        ValueTemplate::Expression(_) | ValueTemplate::Object(_) | ValueTemplate::Array(_) => None,
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The place of every argument, at every depth, by its path.
pub(crate) fn places(node: &Node) -> BTreeMap<String, Place> {
    let mut places = BTreeMap::new();
    collect(node, "", &mut places);
    places
}

fn collect(node: &Node, path: &str, places: &mut BTreeMap<String, Place>) {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            for entry in entries {
                let below = joined(path, &entry.key);
                collect(&entry.value, &below, places);
                places.insert(below, entry.key.place().clone());
            }
        }
        NodeKind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                let below = format!("{path}[{index}]");
                collect(item, &below, places);
                places.insert(below, item.place.clone());
            }
        }
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::String(_) => {}
    }
}
