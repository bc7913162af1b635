//! From text to documents. YAML or JSON is chosen by the file's name; faults are collected.

mod align;
mod builder;
mod entries;
mod faults;
mod json;
mod scalar;
mod written;
mod yaml;

use crate::limits::SOURCE_BYTES_MAX;
use crate::{Diagnostics, Document, Node, NodeKind, SourceId, SourceMap, Span};

/// Reads all documents of a source, empty ones left out. Never stops at the first fault where it can go on.
pub fn parse(sources: &SourceMap, id: SourceId) -> (Vec<Document>, Diagnostics) {
    let file = sources.get(id);
    let text = file.text();
    let mut diagnostics = Diagnostics::new();
    if text.len() > SOURCE_BYTES_MAX {
        diagnostics.push(faults::source_too_long(id, text.len()));
        return (Vec::new(), diagnostics);
    }
    let mut documents = if is_json(file.name()) {
        json::parse(id, text, &mut diagnostics)
    } else {
        yaml::parse(id, text, &mut diagnostics)
    };
    for document in &mut documents {
        if !document.complete {
            mark_incomplete(&mut document.root, text);
        }
    }
    diagnostics.snap(text);
    diagnostics.sort();
    (documents, diagnostics)
}

fn is_json(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"))
}

/// Which mappings lost entries to a fault cannot be told, so none is believed to be complete.
/// Text that was blanked out may have left places inside a character; they are widened to it.
fn mark_incomplete(node: &mut Node, text: &str) {
    node.complete = false;
    node.place.snap(text);
    match &mut node.kind {
        NodeKind::String(value) => value.snap(text),
        NodeKind::Sequence(items) => {
            for item in items {
                mark_incomplete(item, text);
            }
        }
        NodeKind::Mapping(entries) => {
            for entry in entries {
                entry.key.snap(text);
                mark_incomplete(&mut entry.value, text);
            }
        }
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => {}
    }
}

/// The span of a node that was read from text.
fn span_of(node: &Node) -> Option<Span> {
    node.place.span()
}

#[cfg(test)]
mod tests;
