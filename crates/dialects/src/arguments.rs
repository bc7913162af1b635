//! Values with templates at their leaves, as every dialect writes arguments: a part without any template is a
//! literal, and every part keeps its place.

use onecall_source::{Node, NodeKind, Place};
use onecall_workflow::expression::ValueTemplate;
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
            if below.iter().all(is_literal) {
                return ValueTemplate::Literal(node.to_json());
            }
            ValueTemplate::Array(below)
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
            if !path.is_empty() && below.iter().all(|(_, value)| is_literal(value)) {
                return ValueTemplate::Literal(node.to_json());
            }
            ValueTemplate::Object(below)
        }
    }
}

fn is_literal(template: &ValueTemplate) -> bool {
    matches!(template, ValueTemplate::Literal(_))
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
