//! Attribution: what was spent, by node and by model.

use crate::row::Row;
use serde::Serialize;
use std::collections::BTreeMap;

/// What all rows together spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spending {
    /// By `composition/node`.
    pub nodes: BTreeMap<String, Spent>,
    pub models: BTreeMap<String, Spent>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    pub cost_usd: f64,
    pub tokens: u64,
}

impl Spending {
    pub fn of(rows: &[Row]) -> Self {
        let mut spending = Self::default();
        for row in rows {
            let nodes = row.trace.iter().flat_map(|trace| &trace.nodes);
            for (id, node) in nodes {
                let cost_usd = node["cost_usd"].as_f64();
                let tokens = node["tokens"].as_u64();
                if cost_usd.is_none() && tokens.is_none() {
                    continue;
                }
                let own = Spent {
                    cost_usd: cost_usd.unwrap_or_default(),
                    tokens: tokens.unwrap_or_default(),
                };
                let node_key = format!("{}/{id}", row.name);
                spending.nodes.entry(node_key).or_default().add(own);
                let model = node["model"].as_str().unwrap_or("no model named");
                spending
                    .models
                    .entry(model.to_owned())
                    .or_default()
                    .add(own);
            }
        }
        spending
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Lines for people, the dearest first.
    pub fn lines(&self) -> Vec<String> {
        let of = |kind: &str, all: &BTreeMap<String, Spent>| {
            let mut all: Vec<_> = all.iter().collect();
            all.sort_by(|a, b| {
                b.1.cost_usd
                    .total_cmp(&a.1.cost_usd)
                    .then(b.1.tokens.cmp(&a.1.tokens))
            });
            let lines = all.into_iter().map(|(name, own)| {
                format!(
                    "spent by {kind} {name}: ${}, {} tokens",
                    own.cost_usd, own.tokens
                )
            });
            lines.collect::<Vec<_>>()
        };
        let mut lines = of("node", &self.nodes);
        lines.extend(of("model", &self.models));
        lines
    }
}

impl Spent {
    fn add(&mut self, other: Self) {
        // Whole billionths, so that sums print as they are meant.
        self.cost_usd = ((self.cost_usd + other.cost_usd) * 1e9).round() / 1e9;
        self.tokens = self.tokens.saturating_add(other.tokens);
    }
}
