//! A run as suites and reports tell it: each node with its status word, inputs, output and time.
//! Read from the state that its events fold into; `docs/suites.md` describes the JSON.

use crate::sensitive::Masker;
use onecall_engine::event::{End, Event, Status};
use onecall_engine::evolve::evolve;
use onecall_engine::failure::Code;
use onecall_engine::journal::StoredRun;
use onecall_engine::state::{ItemState, State, StepState};
use onecall_engine::usage::{Spent, Usage};
use onecall_workflow::name::StepName;
use onecall_workflow::stored::ReadPlanError;
use onecall_workflow::workflow::Workflow;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    pub name: String,
    /// The run ended by itself, no cap of its budget was passed, and no node is `err`.
    pub ran: bool,
    /// The nodes that were begun, in that order.
    pub order: Vec<String>,
    pub nodes: Map<String, Value>,
    pub output: Value,
    pub cost_total: f64,
    pub tokens_total: u64,
    /// The calls that were made.
    #[serde(skip)]
    pub calls: u64,
    /// The cap that ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tripped: Option<&'static str>,
    /// Why the run failed, or why its output cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One node.
#[derive(Debug, Serialize)]
struct Node<'a> {
    id: &'a str,
    status: Word,
    inputs: Value,
    output: Value,
    /// Null for a node that was never begun.
    duration_ms: Option<u64>,
    /// Why it failed or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The elements of a loop, in input order.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Item<'a>>>,
}

#[derive(Debug, Serialize)]
struct Item<'a> {
    status: Word,
    inputs: Value,
    output: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// The three words of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Ok,
    Err,
    Skipped,
}

impl From<Status> for Word {
    fn from(status: Status) -> Self {
        match status {
            Status::Completed => Self::Ok,
            Status::Failed | Status::Cancelled => Self::Err,
            Status::Skipped | Status::Pending | Status::Running => Self::Skipped,
        }
    }
}

/// The trace of a stored run.
pub fn of_stored(stored: &StoredRun) -> Result<Trace, ReadPlanError> {
    Ok(of(&crate::tend::fold(&stored.summary.id, stored)?))
}

/// The trace of a run that was just driven: values that must not be shown are covered in its events first.
pub fn of_driven(state: &State, mut events: Vec<Event>) -> Trace {
    let Some(mut masker) = Masker::of_state(state) else {
        return of(state);
    };
    let mut covered = State::new(state.run.clone(), Arc::clone(&state.plan));
    for event in &mut events {
        masker.cover_event(event);
        evolve(&mut covered, event);
    }
    of(&covered)
}

/// The trace of a run.
pub fn of(state: &State) -> Trace {
    let names: Vec<&str> = state
        .plan
        .workflow
        .step_names()
        .map(onecall_workflow::name::StepName::as_str)
        .collect();
    let steps = || names.iter().copied().zip(&state.steps);
    let nodes = steps().map(|(name, step)| {
        let node = serde_json::to_value(node(name, step)).unwrap_or_default();
        (name.to_owned(), node)
    });
    // Steps that began at the same moment are in the order of their needs.
    let depths = depths(&state.plan.workflow);
    let mut begun: Vec<_> = steps()
        .zip(depths)
        .filter(|((_, step), _)| Word::from(step.status.0) != Word::Skipped)
        .filter_map(|((name, step), depth)| Some((step.started?, depth, name)))
        .collect();
    begun.sort_by_key(|(at, depth, _)| (*at, *depth));
    let failed = steps().any(|(_, step)| Word::from(step.status.0) == Word::Err);
    let is_completed = matches!(state.end, Some(End::Completed { .. }));
    Trace {
        name: state.plan.workflow.name.as_str().to_owned(),
        ran: is_completed && !failed,
        order: begun
            .into_iter()
            .map(|(_, _, name)| name.to_owned())
            .collect(),
        nodes: nodes.collect(),
        output: output(state),
        cost_total: state.spent.cost.as_usd(),
        tokens_total: state.spent.tokens,
        calls: state.calls_made,
        budget_tripped: budget_tripped(state),
        failure: failure(state),
    }
}

/// The length of the longest path of needs that leads to each step.
fn depths(workflow: &Workflow) -> Vec<usize> {
    let index: BTreeMap<&str, usize> = workflow
        .step_names()
        .map(StepName::as_str)
        .zip(0..)
        .collect();
    let mut depths = vec![0; workflow.steps.len()];
    // A path is never longer than there are steps; most graphs settle after a few rounds.
    for _ in 0..workflow.steps.len() {
        let mut is_settled = true;
        for (at, step) in workflow.steps.iter().enumerate() {
            let needs = step.needs.iter();
            let parents = needs.filter_map(|need| index.get(need.step.as_str()));
            let depth = parents.map(|parent| depths[*parent] + 1).max();
            if let Some(depth) = depth
                && depth > depths[at]
            {
                depths[at] = depth;
                is_settled = false;
            }
        }
        if is_settled {
            break;
        }
    }
    depths
}

fn node<'a>(name: &'a str, step: &'a StepState) -> Node<'a> {
    let was_begun = Word::from(step.status.0) != Word::Skipped;
    let times = step.started.zip(step.ended).filter(|_| was_begun);
    let duration = times.map(|(started, ended)| ended.since(started).as_millis());
    let failure = step
        .failure
        .as_ref()
        .map(|failure| failure.message.as_str());
    let items = step
        .each
        .as_ref()
        .map(|each| each.states.iter().map(item).collect::<Vec<_>>());
    let inputs = match &items {
        Some(items) => items.iter().map(|item| item.inputs.clone()).collect(),
        None => step.work.arguments.as_deref().cloned().unwrap_or_default(),
    };
    let used = used(step);
    Node {
        id: name,
        status: step.status.0.into(),
        inputs,
        output: step.output.get().cloned().unwrap_or_default(),
        duration_ms: duration.and_then(|duration| u64::try_from(duration).ok()),
        reason: failure.or(step.skip_reason.as_deref()),
        cost_usd: used.as_ref().map(|(spent, _)| spent.cost.as_usd()),
        tokens: used.as_ref().map(|(spent, _)| spent.tokens),
        model: used.and_then(|(_, model)| model),
        items,
    }
}

/// What the results of a node say they cost, and the model that the last of them names.
fn used(step: &StepState) -> Option<(Spent, Option<String>)> {
    let items = step.each.iter().flat_map(|each| &each.states);
    let works = std::iter::once(&step.work).chain(items.map(|item| &item.work));
    let reported = works.filter_map(|work| Usage::of_result(work.result.as_deref()?));
    reported.fold(None, |sum, usage| {
        let (spent, model) = sum.unwrap_or_default();
        Some((spent.plus(&usage), usage.model.or(model)))
    })
}

fn item(state: &ItemState) -> Item<'_> {
    Item {
        status: state.status.0.into(),
        inputs: state.work.arguments.as_deref().cloned().unwrap_or_default(),
        output: state.output.get().cloned().unwrap_or_default(),
        reason: state
            .failure
            .as_ref()
            .map(|failure| failure.message.as_str()),
    }
}

fn output(state: &State) -> Value {
    match &state.end {
        Some(End::Completed { output, .. }) => Value::clone(output),
        Some(
            End::Failed { partial, .. }
            | End::TimedOut { partial, .. }
            | End::Cancelled { partial, .. },
        ) => partial.get("output").cloned().unwrap_or_default(),
        None => Value::Null,
    }
}

fn failure(state: &State) -> Option<String> {
    let failure = match state.end.as_ref()? {
        End::Completed { failure, .. } => failure.as_ref()?,
        End::Failed { failure, .. }
        | End::TimedOut { failure, .. }
        | End::Cancelled { failure, .. } => failure,
    };
    Some(failure.message.clone())
}

fn budget_tripped(state: &State) -> Option<&'static str> {
    // A step fails with these codes only if one of its calls was over its own caps.
    let of_call = state.steps.iter().find_map(|step| {
        let failure = step.failure.as_ref()?;
        match failure.code {
            Code::BudgetCost => Some("max_cost_per_call_usd"),
            Code::BudgetTokens => Some("max_tokens_per_call"),
            _ => None,
        }
    });
    if of_call.is_some() {
        return of_call;
    }
    let (End::Failed { failure, .. } | End::TimedOut { failure, .. }) = state.end.as_ref()? else {
        return None;
    };
    match failure.code {
        Code::BudgetCost => Some("max_cost_usd"),
        Code::BudgetTokens => Some("max_tokens"),
        Code::BudgetTime => Some("max_duration_ms"),
        Code::BudgetCalls => Some("max_calls"),
        _ => None,
    }
}
