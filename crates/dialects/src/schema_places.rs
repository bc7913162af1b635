//! Where the defaults of a JSON Schema were written, so that a fault of one is shown at its own place.

use onecall_source::{Node, NodeKind, Place};
use std::collections::BTreeMap;

/// The places of all keys `default` below a node, by their JSON pointer; `pointer` is that of the node.
pub(crate) fn defaults(node: &Node, pointer: &str, places: &mut BTreeMap<String, Place>) {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            for entry in entries {
                let below = format!("{pointer}/{}", escaped(&entry.key));
                if entry.key == *"default" {
                    places.insert(below, entry.value.place.clone());
                } else {
                    defaults(&entry.value, &below, places);
                }
            }
        }
        NodeKind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                defaults(item, &format!("{pointer}/{index}"), places);
            }
        }
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::String(_) => {}
    }
}

/// A name as it is written in a JSON pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
