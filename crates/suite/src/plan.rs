//! The projection of a run before anything runs: rows x attempts x nodes x elements, and the most it can cost.

use crate::eval::Metric;
use crate::execute::Selected;
use crate::tapes::{Source, Tapes};
use onecall_workflow::step::{Action, Step};
use onecall_workflow::workflow::Workflow;
use serde::Serialize;
use std::fmt::Write as _;

/// What one composition would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Projection {
    pub name: String,
    pub rows: u64,
    /// How often each row runs at most.
    pub attempts: u64,
    pub nodes: u64,
    /// Calls of servers: at least, if every loop is empty and every condition holds, and at most.
    pub calls_min: u64,
    pub calls_max: u64,
    /// The most that all rows can cost by their caps; absent if no cap bounds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd_max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// Questions to judges at most.
    pub judge_requests: u64,
}

/// The projection of each composition with selected rows.
pub fn projection(
    rows: &[Selected<'_>],
    workflows: &[Workflow],
    tapes: &Tapes,
    retries: u32,
) -> Vec<Projection> {
    let mut found: Vec<Projection> = Vec::new();
    for row in rows {
        let composition = row.composition();
        let known = found.iter_mut().find(|own| own.name == composition.name());
        if let Some(own) = known {
            own.rows += 1;
            continue;
        }
        let own = |workflow: &&Workflow| workflow.name.as_str() == composition.name();
        let Some(workflow) = workflows.iter().find(own) else {
            continue;
        };
        found.push(of_one(row, workflow, tapes, u64::from(retries) + 1));
    }
    for own in &mut found {
        let times = own.rows * own.attempts;
        own.calls_min = own.calls_min.saturating_mul(own.rows);
        own.calls_max = own.calls_max.saturating_mul(times);
        own.judge_requests = own.judge_requests.saturating_mul(times);
        own.tokens_max = own.tokens_max.map(|tokens| tokens.saturating_mul(times));
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let times = times as f64;
        own.cost_usd_max = own.cost_usd_max.map(|cost| cost * times);
    }
    found
}

/// One run.
fn of_one(row: &Selected<'_>, workflow: &Workflow, tapes: &Tapes, attempts: u64) -> Projection {
    let composition = row.composition();
    let (mut calls_min, mut calls_max) = (0, 0);
    let (mut cost, mut tokens) = (Some(0.0), Some(0_u64));
    for step in &workflow.steps {
        let Some(call) = step.call() else { continue };
        let tool = call.tool.as_str();
        let server = tool.split_once('.').map_or("", |(server, _)| server);
        let freeze = composition.freeze(step.name.as_str());
        if tapes.source(freeze, server) == Source::Tape {
            continue;
        }
        let (min, max) = calls_of(step);
        calls_min += min;
        calls_max += max;
        let budget = call.budget.unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let of_step = budget.cost_usd.map(|cap| cap * max as f64);
        cost = cost.zip(of_step).map(|(sum, own)| sum + own);
        let of_step = budget.tokens.map(|cap| cap.saturating_mul(max));
        tokens = tokens
            .zip(of_step)
            .map(|(sum, own)| sum.saturating_add(own));
    }
    let budget = workflow.policy.budget.clone().unwrap_or_default();
    let metrics = composition.metrics();
    Projection {
        name: composition.name().to_owned(),
        rows: 1,
        attempts,
        nodes: workflow.steps.len() as u64,
        calls_min,
        calls_max,
        cost_usd_max: least(cost, budget.cost_usd, f64::min),
        tokens_max: least(tokens, budget.tokens, u64::min),
        judge_requests: metrics.iter().map(Metric::requests_max).sum::<u64>()
            * composition.judge_answers(),
    }
}

/// Calls of a node: at least, without conditions, and at most.
fn calls_of(step: &Step) -> (u64, u64) {
    let min = u64::from(step.when.is_none());
    match &step.action {
        Action::Each(each) => (0, u64::from(each.iterations_max)),
        Action::Call(_) | Action::Ask(_) => (min, 1),
    }
}

/// The smaller of two bounds, if there is any.
fn least<T: Copy>(a: Option<T>, b: Option<T>, min: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(min(a, b)),
        (a, b) => a.or(b),
    }
}

impl Projection {
    /// One line for people.
    pub fn line(&self) -> String {
        let Self {
            name,
            rows,
            attempts,
            nodes,
            calls_min,
            calls_max,
            ..
        } = self;
        let attempts = match attempts {
            1 => String::new(),
            attempts => format!(" x up to {attempts} runs"),
        };
        let calls = if calls_min == calls_max {
            format!("{calls_max} calls")
        } else {
            format!("{calls_min} to {calls_max} calls")
        };
        let mut line = format!("{name}: {rows} rows{attempts} x {nodes} nodes, {calls}");
        match self.cost_usd_max.filter(|_| *calls_max > 0) {
            Some(cost) => {
                let _ = write!(line, ", at most ${cost}");
            }
            None if *calls_max > 0 => line.push_str(", cost not capped"),
            None => {}
        }
        if self.judge_requests > 0 {
            let _ = write!(line, ", up to {} questions to judges", self.judge_requests);
        }
        line
    }
}
