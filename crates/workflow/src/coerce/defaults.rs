//! Defaults, filled into objects that are there. An absent object is made only if it has a default itself.

use super::Compiled;
use super::graph::{Kinds, NodeId};
use super::limits;
use serde_json::Value;
use std::collections::VecDeque;

pub(super) fn fill(compiled: &Compiled, value: &mut Value) {
    let mut filling = Filling {
        compiled,
        made: Vec::new(),
        left: limits::DEFAULTS_MAX,
    };
    filling.value(&[NodeId::ROOT], value, 0);
}

struct Filling<'a> {
    compiled: &'a Compiled,
    /// Schemas of the defaults this value stands in: one that is its own default is made once.
    made: Vec<NodeId>,
    left: u32,
}

impl Filling<'_> {
    fn value(&mut self, tops: &[NodeId], value: &mut Value, depth: usize) {
        if tops.is_empty() || depth > limits::VALUE_DEPTH_MAX {
            return;
        }
        let nodes = self.compiled.together(tops, Kinds::of(value)).nodes;
        match value {
            Value::Object(object) => {
                for (name, part) in object.iter_mut() {
                    let tops = self.compiled.of_property(&nodes, name);
                    self.value(&tops, part, depth + 1);
                }
                let compiled = self.compiled;
                let properties = nodes
                    .iter()
                    .flat_map(|id| &compiled.graph.node(*id).properties);
                for (name, id) in properties {
                    if object.contains_key(name) || self.made.contains(id) || self.left == 0 {
                        continue;
                    }
                    let Some(default) = default(compiled, *id) else {
                        continue;
                    };
                    self.left -= 1;
                    let mut made = default.clone();
                    self.made.push(*id);
                    let tops = compiled.of_property(&nodes, name);
                    self.value(&tops, &mut made, depth + 1);
                    self.made.pop();
                    object.insert(name.clone(), made);
                }
            }
            Value::Array(items) => {
                for (index, part) in items.iter_mut().enumerate() {
                    let tops = self.compiled.of_item(&nodes, index);
                    self.value(&tops, part, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The default of a schema: its own first, then that of what it refers to.
fn default(compiled: &Compiled, id: NodeId) -> Option<&Value> {
    let mut queue = VecDeque::from([id]);
    let mut left = limits::WAYS_MAX;
    while let Some(id) = queue.pop_front() {
        let node = compiled.graph.node(id);
        if node.default.is_some() {
            return node.default.as_ref();
        }
        queue.extend(&node.all);
        left = left.checked_sub(1)?;
    }
    None
}
