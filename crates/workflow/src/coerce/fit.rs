//! The walk that fits a value to a schema. Parts are fitted before the whole; a part is changed only into
//! something that its schemas accept. Which conversions there are is in `convert`.

use super::Compiled;
use super::analysis;
use super::convert;
use super::graph::{Kinds, NodeId};
use super::limits;
use super::patterns;
use serde_json::Value;
use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::mem;

/// The schemas that apply to one value together.
#[derive(Clone)]
pub(super) struct Together {
    kind: Kinds,
    pub(super) nodes: Vec<NodeId>,
    known: BTreeSet<NodeId>,
    /// Choices among several branches that admit a value of this kind.
    choices: VecDeque<Vec<NodeId>>,
}

/// One walk, with what is left of its budget.
pub(super) struct Walk<'a> {
    compiled: &'a Compiled,
    left: Cell<u64>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(compiled: &'a Compiled, value: &Value) -> Self {
        let share = analysis::size(value).saturating_mul(limits::COERCE_PER_VALUE_MAX);
        Self {
            compiled,
            left: Cell::new(limits::COERCE_MAX.saturating_add(share)),
        }
    }

    /// Whether all schemas accept the value; `None` when that would cost too much to tell.
    pub(super) fn validates(&self, tops: &[NodeId], value: &Value) -> Option<bool> {
        let compiled = self.compiled;
        for id in tops {
            let cost = compiled.analysis.measure(&compiled.graph, *id, value)?;
            self.left.set(self.left.get().checked_sub(cost)?);
            if !compiled.may_test_names(value) {
                return None;
            }
            let valid = if *id == NodeId::ROOT {
                compiled.validators.root().is_valid(value)
            } else {
                let part = compiled.validators.part(&compiled.graph, *id)?;
                part.is_valid(value)
            };
            if !valid {
                return Some(false);
            }
        }
        Some(true)
    }

    pub(super) fn fit(&self, tops: &[NodeId], value: Value, depth: usize) -> Value {
        let valid = match self.validates(tops, &value) {
            None => return value,
            Some(true) if !convert::has_whole(&value) => return value,
            Some(valid) => valid,
        };
        if depth > limits::VALUE_DEPTH_MAX {
            return value;
        }
        match value {
            Value::Object(_) | Value::Array(_) => self.container(tops, value, depth),
            // 3.0 is a valid integer, but many who read it want to see 3.
            scalar if valid => self.settled(tops, scalar),
            scalar => self.scalar(tops, scalar, depth),
        }
    }

    fn scalar(&self, tops: &[NodeId], value: Value, depth: usize) -> Value {
        for candidate in convert::candidates(&value) {
            let candidate = match candidate {
                Value::Object(_) | Value::Array(_) => self.fit(tops, candidate, depth + 1),
                scalar => scalar,
            };
            if self.validates(tops, &candidate) == Some(true) {
                return self.settled(tops, candidate);
            }
        }
        value
    }

    /// A whole float as an integer where only integers are admitted.
    fn settled(&self, tops: &[NodeId], value: Value) -> Value {
        let kinds = tops.iter().fold(Kinds::ALL, |kinds, id| {
            kinds.and(self.compiled.analysis.kinds[id.index()])
        });
        if kinds.holds(Kinds::INTEGER) && !kinds.holds(Kinds::FRACTION) {
            convert::whole(&value).unwrap_or(value)
        } else {
            value
        }
    }

    fn container(&self, tops: &[NodeId], value: Value, depth: usize) -> Value {
        let mut together = self.compiled.together(tops, Kinds::of(&value));
        let mut value = self.parts(&together.nodes, value, depth);
        while let Some(branches) = together.choices.pop_front() {
            let accepts = |id: &&NodeId| self.validates(&[**id], &value) == Some(true);
            if let Some(branch) = branches.iter().find(accepts) {
                together.add(self.compiled, *branch);
                if convert::has_whole(&value) {
                    value = self.parts(&together.nodes, value, depth);
                }
            } else if let Some((chosen, fitted)) =
                self.choose(tops, &together, &branches, &value, depth)
            {
                together = chosen;
                value = fitted;
            }
        }
        value
    }

    /// The first branch the value can be fitted to, best one that makes the whole valid.
    fn choose(
        &self,
        tops: &[NodeId],
        together: &Together,
        branches: &[NodeId],
        value: &Value,
        depth: usize,
    ) -> Option<(Together, Value)> {
        let mut first = None;
        for branch in branches {
            let mut trial = together.clone();
            trial.add(self.compiled, *branch);
            let fitted = self.parts(&trial.nodes, value.clone(), depth);
            let fitted = self.fit(&[*branch], fitted, depth + 1);
            if self.validates(&[*branch], &fitted) != Some(true) {
                continue;
            }
            if self.validates(tops, &fitted) == Some(true) {
                return Some((trial, fitted));
            }
            first.get_or_insert((trial, fitted));
        }
        first
    }

    fn parts(&self, nodes: &[NodeId], mut value: Value, depth: usize) -> Value {
        match &mut value {
            Value::Object(object) => {
                for (name, part) in object.iter_mut() {
                    let tops = self.compiled.of_property(nodes, name);
                    self.part(&tops, part, depth);
                }
            }
            Value::Array(items) => {
                for (index, part) in items.iter_mut().enumerate() {
                    let tops = self.compiled.of_item(nodes, index);
                    self.part(&tops, part, depth);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        value
    }

    fn part(&self, tops: &[NodeId], part: &mut Value, depth: usize) {
        if !tops.is_empty() {
            *part = self.fit(tops, mem::take(part), depth + 1);
        }
    }
}

impl Compiled {
    /// Whether the whole schema accepts a value; `None` when that would cost too much to tell.
    pub(super) fn accepts(&self, value: &Value) -> Option<bool> {
        if !self.analysis.is_light() {
            self.analysis.measure(&self.graph, NodeId::ROOT, value)?;
        }
        if !self.may_test_names(value) {
            return None;
        }
        Some(self.validators.root().is_valid(value))
    }

    /// Charges the tests of names that one check of a value takes.
    pub(super) fn may_test_names(&self, value: &Value) -> bool {
        patterns::charge_names(self.analysis.name_patterns, value)
    }

    /// Everything that certainly applies to a value of a kind. A branch that alone admits the kind does.
    pub(super) fn together(&self, tops: &[NodeId], kind: Kinds) -> Together {
        let mut together = Together {
            kind,
            nodes: Vec::new(),
            known: BTreeSet::new(),
            choices: VecDeque::new(),
        };
        for id in tops {
            together.add(self, *id);
        }
        together
    }

    /// The schemas of a property of an object to which these apply.
    pub(super) fn of_property(&self, nodes: &[NodeId], name: &str) -> Vec<NodeId> {
        let mut found = Vec::new();
        for id in nodes {
            let node = self.graph.node(*id);
            let before = found.len();
            found.extend(node.properties.get(name));
            let matching =
                |(pattern, _): &&(String, NodeId)| self.validators.matches(pattern, name);
            found.extend(node.patterns.iter().filter(matching).map(|(_, id)| *id));
            if found.len() == before {
                found.extend(node.additional);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    pub(super) fn of_item(&self, nodes: &[NodeId], index: usize) -> Vec<NodeId> {
        let items = nodes
            .iter()
            .filter_map(|id| self.graph.node(*id).item(index));
        let mut found: Vec<NodeId> = items.collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Together {
    fn add(&mut self, compiled: &Compiled, id: NodeId) {
        let mut queue = VecDeque::from([id]);
        while let Some(id) = queue.pop_front() {
            if !self.known.insert(id) {
                continue;
            }
            self.nodes.push(id);
            let node = compiled.graph.node(id);
            queue.extend(&node.all);
            for branches in &node.choices {
                let admits = |id: &NodeId| compiled.analysis.kinds[id.index()].holds(self.kind);
                let fitting: Vec<NodeId> = branches.iter().copied().filter(admits).collect();
                match fitting.as_slice() {
                    [] => {}
                    [only] => queue.push_back(*only),
                    _ => self.choices.push_back(fitting),
                }
            }
        }
    }
}
