//! What a stored run has done, step by step, as plain data: for `runs show`, reports and the console.
//! Read from its events alone.

mod shown;
#[cfg(test)]
mod tests;
mod times;

use crate::limits;
use onecall_engine::event::{End, Event, Outcome, Resolution, Status, What};
use onecall_engine::failure::Failure;
use onecall_engine::identity::{CallId, Slot, Timestamp};
use onecall_engine::journal::{StoredRun, Summary};
use onecall_engine::state::State;
use onecall_workflow::stored::ReadPlanError;
use serde::Serialize;
use serde_json::Value;
pub use shown::{event_json, summary_json};
pub use times::Spent;

#[derive(Clone, Debug, Serialize)]
pub struct RunHistory {
    #[serde(serialize_with = "shown::summary")]
    pub summary: Summary,
    /// Hash of the plan it is pinned to.
    pub plan: String,
    pub input: Value,
    pub steps: Vec<StepHistory>,
    pub used: UsedUp,
    /// The tool result, once the run has ended.
    pub result: Option<Value>,
    /// The end of the run, or the moment it is looked at.
    #[serde(rename = "until_ms", serialize_with = "shown::ms")]
    pub until: Timestamp,
    pub notes: Vec<String>,
}

/// What a run has used up, by the events of its calls. Every call counts that was sent; one that died with its process
/// and was made again counts twice here, and once against a budget.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct UsedUp {
    pub calls: u64,
    pub cost_usd: f64,
    pub tokens: u64,
}

impl RunHistory {
    pub fn step(&self, name: &str) -> Option<&StepHistory> {
        self.steps.iter().find(|step| step.name == name)
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct StepHistory {
    pub name: String,
    pub status: Status,
    /// The steps it waits for.
    pub needs: Vec<String>,
    #[serde(rename = "started_ms", serialize_with = "shown::ms_or_null")]
    pub started: Option<Timestamp>,
    #[serde(rename = "ended_ms", serialize_with = "shown::ms_or_null")]
    pub ended: Option<Timestamp>,
    pub spent: Spent,
    pub attempts: Vec<AttemptHistory>,
    /// The items of a loop, in input order.
    pub items: Vec<ItemHistory>,
    pub output: Option<Value>,
    pub defaulted: bool,
    /// The output is that of the run which this one repeats.
    pub kept: bool,
    pub failure: Option<Failure>,
    /// Why it was skipped, or what it waits for.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ItemHistory {
    pub status: Status,
    #[serde(rename = "started_ms", serialize_with = "shown::ms_or_null")]
    pub started: Option<Timestamp>,
    #[serde(rename = "ended_ms", serialize_with = "shown::ms_or_null")]
    pub ended: Option<Timestamp>,
    pub spent: Spent,
    pub failure: Option<Failure>,
    /// Why it is held.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct AttemptHistory {
    pub item: Option<u32>,
    /// Counted from one.
    pub number: u32,
    pub key: String,
    pub arguments: Value,
    #[serde(rename = "started_ms", serialize_with = "shown::ms")]
    pub started: Timestamp,
    #[serde(rename = "ended_ms", serialize_with = "shown::ms_or_null")]
    pub ended: Option<Timestamp>,
    pub outcome: Option<Outcome>,
}

/// Reads a stored run as it stood after its last event.
pub fn of(stored: &StoredRun) -> Result<RunHistory, ReadPlanError> {
    at(stored, stored.summary.updated)
}

/// Reads a stored run as it stands at a time: what has not ended lasts until then.
pub fn at(stored: &StoredRun, now: Timestamp) -> Result<RunHistory, ReadPlanError> {
    let until = stored.summary.ended.unwrap_or(now);
    let state = crate::tend::fold(&stored.summary.id, stored)?;
    let mut steps: Vec<StepHistory> = (0_u32..)
        .zip(state.plan.workflow.step_names())
        .map(|(index, name)| step_history(&state, index, name.as_str()))
        .collect();
    let mut notes = Vec::new();
    for event in &stored.events {
        add(&mut steps, &mut notes, event);
    }
    times::fill(&mut steps, &stored.summary, until);
    let result = state
        .end
        .as_ref()
        .map(|end: &End| crate::result::of_run(&state, end));
    Ok(RunHistory {
        summary: stored.summary.clone(),
        plan: stored.plan_hash.clone(),
        input: Value::clone(&state.input),
        used: UsedUp {
            calls: steps.iter().map(|step| step.attempts.len() as u64).sum(),
            cost_usd: state.spent.cost.as_usd(),
            tokens: state.spent.tokens,
        },
        steps,
        result,
        until,
        notes,
    })
}

fn step_history(state: &State, index: u32, name: &str) -> StepHistory {
    let step = state.step(index);
    let question = state.questions.get(&index);
    let waiting = question
        .map(|question| {
            let url = question.url.as_ref().map(|url| format!(" {url}"));
            format!("asks: {}{}", question.message, url.unwrap_or_default())
        })
        .or_else(|| held(state, index, name));
    let needs = state.plan.step(index as usize).needs.iter();
    StepHistory {
        name: name.to_owned(),
        status: step.status.0,
        needs: needs.map(|need| need.step.as_str().to_owned()).collect(),
        started: step.started,
        ended: step.ended,
        spent: Spent::default(),
        attempts: Vec::new(),
        items: items(state, index),
        output: step.output.get().cloned(),
        defaulted: step.defaulted,
        kept: false,
        failure: step.failure.clone(),
        reason: step.skip_reason.clone().or(waiting),
    }
}

/// Why a step is held; of a loop, which items are, by the names that `runs answer` takes.
fn held(state: &State, index: u32, name: &str) -> Option<String> {
    let held = state.held.iter().filter(|(slot, _)| slot.step == index);
    let (items, whole): (Vec<_>, Vec<_>) = held.partition(|(slot, _)| slot.item.is_some());
    if let Some((_, held)) = whole.first() {
        return Some(format!("held: {}", held.reason));
    }
    let names = items.iter().map(|(slot, _)| slot.named(name));
    let names: Vec<String> = names.take(limits::HELD_SHOWN_MAX).collect();
    let more = items.len() - names.len();
    let more = (more > 0).then(|| format!(" and {more} more"));
    (!names.is_empty()).then(|| format!("held: {}{}", names.join(", "), more.unwrap_or_default()))
}

fn items(state: &State, step: u32) -> Vec<ItemHistory> {
    let each = state.step(step).each.iter();
    let states = each.flat_map(|each| &each.states);
    let items = (0_u32..).zip(states).map(|(index, item)| {
        let slot = Slot {
            step,
            item: Some(index),
        };
        let held = state.held.get(&slot);
        ItemHistory {
            status: item.status.0,
            started: None,
            ended: None,
            spent: Spent::default(),
            failure: item.failure.clone(),
            reason: held.map(|held| format!("held: {}", held.reason)),
        }
    });
    items.collect()
}

fn add(steps: &mut [StepHistory], notes: &mut Vec<String>, event: &Event) {
    match &event.what {
        What::AttemptStarted {
            call,
            arguments,
            key,
            ..
        } => {
            let Some(step) = steps.get_mut(call.step as usize) else {
                return;
            };
            step.attempts.push(AttemptHistory {
                item: call.item,
                number: call.attempt + 1,
                key: key.clone(),
                arguments: Value::clone(arguments),
                started: event.at,
                ended: None,
                outcome: None,
            });
        }
        What::AttemptEnded { call, outcome } => ended(steps, *call, outcome, event.at),
        What::ItemEnded { step, item, .. } => {
            let step = steps.get_mut(*step as usize);
            if let Some(item) = step.and_then(|step| step.items.get_mut(*item as usize)) {
                item.ended = Some(event.at);
            }
        }
        What::RunStarted {
            kept: Some(kept), ..
        } => {
            for kept in &kept.steps {
                if let Some(step) = steps.get_mut(kept.step as usize) {
                    step.kept = true;
                }
            }
        }
        What::DefaultUsed { property, reason } => {
            notes.push(format!("default used for output `{property}`: {reason}"));
        }
        What::Note { text } => notes.push(text.clone()),
        What::CancelAsked { reason } => notes.push(format!("cancel asked: {reason}")),
        What::AnswerRefused { reason, .. } => notes.push(format!("answer refused: {reason}")),
        What::HeldResolved { slot, resolution } => {
            let step = steps.get(slot.step as usize);
            let name = slot.named(step.map_or("", |step| &step.name));
            let what = match resolution {
                Resolution::Retry => "was made again",
                Resolution::Result(_) => "was given its result",
                Resolution::Fail => "was given up",
            };
            notes.push(format!("the held call of `{name}` {what} by a person"));
        }
        What::StepEnded { .. }
        | What::RunStarted { .. }
        | What::Used { .. }
        | What::RetryAt { .. }
        | What::Mocked { .. }
        | What::ItemsAre { .. }
        | What::CallAsked { .. }
        | What::QuestionAsked { .. }
        | What::QuestionAnswered { .. }
        | What::ClockStopped
        | What::ClockStarted { .. }
        | What::Held { .. }
        | What::RemainingSkipped { .. }
        | What::RunEnded { .. } => {}
    }
}

fn ended(steps: &mut [StepHistory], call: CallId, outcome: &Outcome, at: Timestamp) {
    let Some(step) = steps.get_mut(call.step as usize) else {
        return;
    };
    let is_it = |attempt: &&mut AttemptHistory| {
        attempt.item == call.item && attempt.number == call.attempt + 1
    };
    if let Some(attempt) = step.attempts.iter_mut().find(is_it) {
        attempt.ended = Some(at);
        attempt.outcome = Some(outcome.clone());
    }
}
