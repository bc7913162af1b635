//! One document of a source: its tree, and the way from a place back to a path such as `steps[1].tool`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::place::push_key;
use crate::{Node, Place, Span};

/// A document. A YAML file may hold several; one of JSON holds one.
#[derive(Clone, Debug)]
pub struct Document {
    pub root: Node,
    /// From zero, within its source.
    pub index: usize,
    /// False when a syntax fault hides a part: read it for more faults, but do not use it.
    pub complete: bool,
}

impl Document {
    /// A document without text; `origin` is what a user would call it.
    pub fn from_json(origin: &str, value: &Value) -> Self {
        Self {
            root: Node::from_json(value, &Place::path(origin, "")),
            index: 0,
            complete: true,
        }
    }

    /// The path to the innermost node or key at this place, empty for the root; `None` when it is not of this document.
    pub fn path_at(&self, place: &Place) -> Option<String> {
        match place {
            Place::Path(path) => Some(path.path.clone()),
            Place::Span(span) => path_to(&self.root, *span),
        }
    }
}

fn path_to(root: &Node, span: Span) -> Option<String> {
    if !holds(&root.place, span) {
        return None;
    }
    let mut path = String::new();
    let mut node = root;
    loop {
        if let Some(entries) = node.as_mapping() {
            let Some(entry) = entries
                .iter()
                .find(|entry| holds(entry.key.place(), span) || holds(&entry.value.place, span))
            else {
                return Some(path);
            };
            push_key(&mut path, &entry.key);
            node = &entry.value;
        } else if let Some(items) = node.as_sequence() {
            let found = items
                .iter()
                .enumerate()
                .find(|(_, item)| holds(&item.place, span));
            let Some((index, item)) = found else {
                return Some(path);
            };
            let _ = write!(path, "[{index}]");
            node = item;
        } else {
            return Some(path);
        }
    }
}

fn holds(place: &Place, span: Span) -> bool {
    place.span().is_some_and(|outer| outer.contains(span))
}

#[cfg(test)]
mod tests;
