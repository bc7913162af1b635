//! What a schema can cost, told before any value is checked: endless or overlong references are refused,
//! and recursion is marked so that `measure` can bound each check. A validator alone bounds none of this.

use super::graph::{Graph, Kinds, NodeId};
use super::limits;
use super::patterns;
use serde_json::Value;
use std::collections::BTreeSet;

#[derive(Debug)]
pub(super) struct Analysis {
    /// What each schema admits, with all that applies to the same value.
    pub(super) kinds: Vec<Kinds>,
    /// Targets of recursion.
    heads: Vec<bool>,
    /// The schema unfolds to so little that checks need not be measured.
    light: bool,
    /// Patterns of `patternProperties` that backtrack.
    pub(super) name_patterns: usize,
}

impl Analysis {
    /// `None` when the schema must not be used for checking; the faults say why.
    pub(super) fn of(graph: &Graph, faults: &mut Vec<String>) -> Option<Self> {
        let kinds = in_place(graph, faults)?;
        let mut left = limits::LIGHT_MAX;
        Some(Self {
            kinds,
            heads: heads(graph),
            light: unfold(graph, NodeId::ROOT, &mut left),
            name_patterns: name_patterns(graph),
        })
    }

    pub(super) fn is_light(&self) -> bool {
        self.light
    }

    /// The cost of checking a value, or `None` when it is too much.
    pub(super) fn measure(&self, graph: &Graph, node: NodeId, value: &Value) -> Option<u64> {
        if self.light {
            return Some(size(value));
        }
        let mut meter = Meter {
            graph,
            heads: &self.heads,
            seen: BTreeSet::new(),
            left: limits::VISITS_MAX,
            charge: Charge::Visit,
        };
        meter.visit(node, value, 0)?;
        Some(limits::VISITS_MAX - meter.left)
    }

    /// Whether the check that tells every fault may be made: it remembers nothing and copies values.
    pub(super) fn may_explain(graph: &Graph, node: NodeId, value: &Value) -> bool {
        let mut meter = Meter {
            graph,
            heads: &[],
            seen: BTreeSet::new(),
            left: limits::EXPLAIN_MAX,
            charge: Charge::Size,
        };
        meter.visit(node, value, 0).is_some()
    }
}

fn name_patterns(graph: &Graph) -> usize {
    let patterns = graph.nodes.iter().flat_map(|node| &node.patterns);
    patterns
        .filter(|(pattern, _)| patterns::backtracks(pattern))
        .count()
}

/// Values in a value, itself included.
pub(super) fn size(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(object) => object.values().map(size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Refuses schemas that apply to themselves or apply in too many ways to one value, without recursion.
/// Gives what each schema admits.
fn in_place(graph: &Graph, faults: &mut Vec<String>) -> Option<Vec<Kinds>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let count = graph.nodes.len();
    let mut marks = vec![Mark::New; count];
    let mut chains = vec![0_u32; count];
    let mut ways = vec![0_u64; count];
    let mut kinds = vec![Kinds::ALL; count];
    for start in graph.ids() {
        let mut stack = vec![start];
        while let Some(&id) = stack.last() {
            let node = graph.node(id);
            if marks[id.index()] == Mark::New {
                marks[id.index()] = Mark::Open;
                for below in node.in_place() {
                    match marks[below.index()] {
                        Mark::New => stack.push(below),
                        Mark::Open => {
                            let place = &node.pointer;
                            faults.push(format!("at `#{place}`: the schema leads back to itself"));
                            return None;
                        }
                        Mark::Done => {}
                    }
                }
                continue;
            }
            stack.pop();
            if marks[id.index()] == Mark::Done {
                continue;
            }
            marks[id.index()] = Mark::Done;
            let own = id.index();
            for below in node.in_place() {
                chains[own] = chains[own].max(chains[below.index()] + 1);
                ways[own] = ways[own].saturating_add(ways[below.index()]);
            }
            ways[own] = ways[own].saturating_add(1);
            kinds[own] = admitted(graph, id, &kinds);
            if chains[own] > limits::CHAIN_MAX || ways[own] > limits::WAYS_MAX {
                faults.push(format!(
                    "at `#{}`: too many schemas apply to one value through `$ref`, `allOf`, `anyOf`",
                    node.pointer
                ));
                return None;
            }
        }
    }
    Some(kinds)
}

fn admitted(graph: &Graph, id: NodeId, kinds: &[Kinds]) -> Kinds {
    let node = graph.node(id);
    let all = node.all.iter().map(|below| kinds[below.index()]);
    let choices = node.choices.iter().map(|branches| {
        branches
            .iter()
            .fold(Kinds::NONE, |any, branch| any | kinds[branch.index()])
    });
    all.chain(choices).fold(node.kinds, Kinds::and)
}

/// The targets of back edges of a walk in document order, where a validator remembers its results too.
fn heads(graph: &Graph) -> Vec<bool> {
    let count = graph.nodes.len();
    let mut heads = vec![false; count];
    let mut open = vec![false; count];
    let mut seen = vec![false; count];
    let mut stack = vec![(NodeId::ROOT, false)];
    while let Some((id, leaving)) = stack.pop() {
        if leaving {
            open[id.index()] = false;
            continue;
        }
        if open[id.index()] {
            heads[id.index()] = true;
            continue;
        }
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        open[id.index()] = true;
        stack.push((id, true));
        let node = graph.node(id);
        let below: Vec<NodeId> = node.in_place().chain(node.inside()).collect();
        stack.extend(below.into_iter().rev().map(|id| (id, false)));
    }
    heads
}

/// Whether the schema unfolds to few schemas. A recursive one never does.
fn unfold(graph: &Graph, id: NodeId, left: &mut u32) -> bool {
    let Some(less) = left.checked_sub(1) else {
        return false;
    };
    *left = less;
    let node = graph.node(id);
    node.in_place()
        .chain(node.inside())
        .all(|below| unfold(graph, below, left))
}

#[derive(Clone, Copy, PartialEq)]
enum Charge {
    Visit,
    Size,
}

/// Walks schema and value together as a validator would that never stops early.
struct Meter<'a> {
    graph: &'a Graph,
    heads: &'a [bool],
    /// A value at the target of recursion is checked once; values are told apart by address.
    seen: BTreeSet<(NodeId, usize)>,
    left: u64,
    charge: Charge,
}

impl Meter<'_> {
    fn visit(&mut self, id: NodeId, value: &Value, depth: u32) -> Option<()> {
        let cost = match self.charge {
            Charge::Visit => 1,
            Charge::Size => size(value),
        };
        self.left = self.left.checked_sub(cost)?;
        if depth > limits::VISIT_DEPTH_MAX {
            return None;
        }
        let container = value.is_object() || value.is_array();
        let head = self.heads.get(id.index()).copied().unwrap_or(false);
        if container && head && !self.seen.insert((id, std::ptr::from_ref(value).addr())) {
            return Some(());
        }
        let graph = self.graph;
        let node = graph.node(id);
        for below in node.in_place() {
            self.visit(below, value, depth + 1)?;
        }
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    let patterns = node.patterns.iter().map(|(_, id)| id);
                    let all = (node.properties.get(key).into_iter())
                        .chain(patterns)
                        .chain(&node.additional)
                        .chain(&node.beneath);
                    for below in all {
                        self.visit(*below, value, depth + 1)?;
                    }
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    for below in node.item(index).iter().chain(&node.beneath) {
                        self.visit(*below, value, depth + 1)?;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Some(())
    }
}
