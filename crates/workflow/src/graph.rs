//! The graph of steps: order, cycles, and pictures of it.
//! Edges are the needs of the steps; who makes an edge is decided by `builder`.

mod draw;

pub use draw::{dot, mermaid, text};

use crate::step::{Need, Step};
use std::collections::BTreeMap;

/// Steps by index, with the steps each one needs.
#[derive(Clone, Debug)]
pub struct Graph {
    /// For each step the indexes of the steps it needs, and which of its needs says so.
    needs: Vec<Vec<Edge>>,
}

/// One edge: the step at `to` must have ended first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub to: usize,
    /// Index into `Step::needs`.
    pub need: usize,
}

impl Graph {
    /// The graph of these steps. Needs of unknown steps make no edge.
    pub fn of(steps: &[Step]) -> Self {
        let mut indexes = BTreeMap::new();
        for (index, step) in steps.iter().enumerate() {
            indexes.entry(step.name.as_str()).or_insert(index);
        }
        let edges = |needs: &[Need]| {
            needs
                .iter()
                .enumerate()
                .filter_map(|(need, edge)| {
                    let to = *indexes.get(edge.step.as_str())?;
                    Some(Edge { to, need })
                })
                .collect()
        };
        Self {
            needs: steps.iter().map(|step| edges(&step.needs)).collect(),
        }
    }

    pub fn needs(&self, step: usize) -> &[Edge] {
        &self.needs[step]
    }

    /// A topological order that prefers declared order. Steps of a cycle and behind one are left out.
    pub fn order(&self) -> Vec<usize> {
        let mut unmet: Vec<usize> = self.needs.iter().map(Vec::len).collect();
        let mut dependents = vec![Vec::new(); self.needs.len()];
        for (step, edges) in self.needs.iter().enumerate() {
            for edge in edges {
                dependents[edge.to].push(step);
            }
        }
        let mut ready: std::collections::BTreeSet<usize> =
            (0..unmet.len()).filter(|step| unmet[*step] == 0).collect();
        let mut order = Vec::with_capacity(unmet.len());
        while let Some(step) = ready.pop_first() {
            order.push(step);
            for dependent in &dependents[step] {
                unmet[*dependent] -= 1;
                if unmet[*dependent] == 0 {
                    ready.insert(*dependent);
                }
            }
        }
        order
    }

    /// For each step the length of the longest chain of needs behind it; 0 starts at once.
    pub fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.needs.len()];
        for step in self.order() {
            depths[step] = self.needs[step]
                .iter()
                .map(|edge| depths[edge.to] + 1)
                .max()
                .unwrap_or(0);
        }
        depths
    }

    /// Cycles that have no step in common, each as steps with the edge that leads to the next one.
    pub fn cycles(&self) -> Vec<Vec<(usize, Edge)>> {
        let mut state = vec![Mark::New; self.needs.len()];
        let mut cycles = Vec::new();
        for start in 0..self.needs.len() {
            if state[start] == Mark::New
                && let Some(cycle) = self.walk(start, &mut state)
            {
                cycles.push(cycle);
            }
        }
        cycles
    }

    /// Depth first without recursion. A cycle ends the walk; all it touched is done.
    fn walk(&self, start: usize, state: &mut [Mark]) -> Option<Vec<(usize, Edge)>> {
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        state[start] = Mark::Open;
        while let Some((step, next)) = path.last_mut() {
            let Some(edge) = self.needs[*step].get(*next).copied() else {
                state[*step] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match state[edge.to] {
                Mark::Done => {}
                Mark::New => {
                    state[edge.to] = Mark::Open;
                    path.push((edge.to, 0));
                }
                Mark::Open => {
                    let from = path.iter().position(|(step, _)| *step == edge.to)?;
                    let cycle = path[from..]
                        .iter()
                        .map(|(step, next)| (*step, self.needs[*step][*next - 1]))
                        .collect();
                    for (step, _) in path {
                        state[step] = Mark::Done;
                    }
                    return Some(cycle);
                }
            }
        }
        None
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}
