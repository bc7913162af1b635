//! Values that must not be shown: `writeOnly`, `format: password`, `x-sensitive`.
//! Every branch that might apply counts, and what cannot be told apart is hidden.

use super::Coercer;
use super::graph::{Graph, NodeId, is_sensitive};
use super::limits;
use serde_json::Value;
use std::collections::BTreeSet;

/// What is shown in place of a sensitive value.
pub const MASK: &str = "•••";

/// Whether any part of a schema marks a value as sensitive. Looks only, and compiles nothing.
pub fn is_marked(schema: &Value) -> bool {
    let mut parts = vec![schema];
    while let Some(part) = parts.pop() {
        match part {
            Value::Object(object) if is_sensitive(object) => return true,
            Value::Object(object) => parts.extend(object.values()),
            Value::Array(items) => parts.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

/// Replaces the values that the schema marks as sensitive.
pub fn mask(schema: &Value, value: &mut Value) {
    Coercer::new(schema.clone()).mask(value);
}

/// Paths to sensitive values; `*` stands for any item or any other property.
pub(super) fn paths(graph: &Graph) -> Vec<Vec<String>> {
    let mut search = Search {
        graph,
        left: limits::SENSITIVE_VISITS_MAX,
        open: BTreeSet::new(),
        path: Vec::new(),
        found: BTreeSet::new(),
    };
    search.visit(NodeId::ROOT);
    search.found.into_iter().collect()
}

struct Search<'a> {
    graph: &'a Graph,
    left: u32,
    /// Schemas on the way here: a recursive one is gone through once.
    open: BTreeSet<NodeId>,
    path: Vec<String>,
    found: BTreeSet<Vec<String>>,
}

impl Search<'_> {
    fn visit(&mut self, id: NodeId) {
        let full = self.found.len() >= limits::SENSITIVE_PATHS_MAX;
        let deep = self.open.len() > limits::VALUE_DEPTH_MAX;
        if full || deep || self.left == 0 || !self.graph.guards(id) || !self.open.insert(id) {
            return;
        }
        self.left -= 1;
        let node = self.graph.node(id);
        if node.sensitive {
            self.found.insert(self.path.clone());
        } else {
            for below in node.in_place() {
                self.visit(below);
            }
            for (name, below) in &node.properties {
                self.step(name, *below);
            }
            let others = (node.patterns.iter().map(|(_, id)| id))
                .chain(&node.additional)
                .chain(&node.prefix)
                .chain(&node.items)
                .chain(&node.beneath);
            for below in others {
                self.step("*", *below);
            }
        }
        self.open.remove(&id);
    }

    fn step(&mut self, name: &str, below: NodeId) {
        self.path.push(name.to_owned());
        self.visit(below);
        self.path.pop();
    }
}

pub(super) fn mask_with(graph: &Graph, value: &mut Value) {
    if graph.guards(NodeId::ROOT) {
        cover(graph, &[NodeId::ROOT], value, 0);
    }
}

fn cover(graph: &Graph, tops: &[NodeId], value: &mut Value, depth: usize) {
    let nodes = all_of(graph, tops);
    let hidden =
        depth > limits::VALUE_DEPTH_MAX || nodes.iter().any(|id| graph.node(*id).sensitive);
    match value {
        _ if nodes.is_empty() => {}
        whole if hidden => *whole = Value::from(MASK),
        Value::Object(object) => {
            for (name, part) in object.iter_mut() {
                cover(graph, &below(graph, &nodes, name), part, depth + 1);
            }
        }
        Value::Array(items) => {
            for (index, part) in items.iter_mut().enumerate() {
                cover(graph, &below_item(graph, &nodes, index), part, depth + 1);
            }
        }
        // JSON text of something that would hold a sensitive value.
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            *value = Value::from(MASK);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every schema that could apply to a property. Patterns are taken to match.
fn below(graph: &Graph, nodes: &BTreeSet<NodeId>, name: &str) -> Vec<NodeId> {
    let mut found = Vec::new();
    for id in nodes {
        let node = graph.node(*id);
        found.extend(node.properties.get(name));
        found.extend(node.patterns.iter().map(|(_, id)| *id));
        if !node.properties.contains_key(name) {
            found.extend(node.additional);
        }
        found.extend(&node.beneath);
    }
    found
}

fn below_item(graph: &Graph, nodes: &BTreeSet<NodeId>, index: usize) -> Vec<NodeId> {
    let nodes = nodes.iter().map(|id| graph.node(*id));
    nodes
        .flat_map(|node| node.item(index).into_iter().chain(node.beneath.clone()))
        .collect()
}

/// Everything that could apply to a value and leads to something sensitive.
fn all_of(graph: &Graph, tops: &[NodeId]) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut queue = tops.to_vec();
    while let Some(id) = queue.pop() {
        if graph.guards(id) && found.insert(id) {
            queue.extend(graph.node(id).in_place());
        }
    }
    found
}

/// Whether what stands at a path, or anything above it, is sensitive.
pub(super) fn is_hidden(graph: &Graph, path: &[PathPart<'_>]) -> bool {
    let mut tops = vec![NodeId::ROOT];
    for part in path.iter().map(Some).chain([None]) {
        let nodes = all_of(graph, &tops);
        if nodes.iter().any(|id| graph.node(*id).sensitive) {
            return true;
        }
        tops = match part {
            Some(PathPart::Name(name)) => below(graph, &nodes, name),
            Some(PathPart::Index(index)) => below_item(graph, &nodes, *index),
            None => break,
        };
    }
    false
}

/// One step of a path into a value.
#[derive(Clone, Debug)]
pub(super) enum PathPart<'a> {
    Name(std::borrow::Cow<'a, str>),
    Index(usize),
}
