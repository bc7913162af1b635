//! Loops: items are started as slots free up, in input order, and their ends are gathered in input order.

use super::Decider;
use crate::event::{Output, Status, What};
use crate::failure::{Code, Failure};
use crate::identity::Slot;
use crate::state::{ItemState, Loop};
use onecall_workflow::policy::Then;
use onecall_workflow::step::{Action, Each, Shape};
use serde_json::Value;
use std::sync::Arc;

impl Decider<'_> {
    pub(super) fn start_each(&mut self, step: u32, each: &Each) {
        let slot = Slot::of_step(step);
        match self.evaluator.items(each, &self.view(slot)) {
            Err(failure) => self.slot_failed(slot, failure),
            Ok(items) => {
                let timeout = self.state.plan.step(step as usize).timeout;
                let deadline = timeout.map(|timeout| self.now.plus(timeout));
                self.emit(What::ItemsAre {
                    step,
                    items: Arc::new(items),
                    deadline,
                });
            }
        }
    }

    /// Moves every loop on. Ends of items only record themselves; here alone items start.
    pub(super) fn fill_loops(&mut self) {
        let is_loop = |step: &u32| self.state.step(*step).each.is_some();
        let loops: Vec<u32> = self.state.active.iter().copied().filter(is_loop).collect();
        for step in loops {
            self.fill(step);
        }
    }

    /// Starts items until the loop is as wide as it may be, and ends it when all have ended.
    fn fill(&mut self, step: u32) {
        let plan = Arc::clone(&self.state.plan);
        let Action::Each(each) = &plan.step(step as usize).action else {
            return;
        };
        while self.is_running(step) {
            let Some(progress) = self.state.step(step).each.as_ref() else {
                return;
            };
            let count = u32::try_from(progress.items.len()).unwrap_or(u32::MAX);
            if progress.ended == count {
                let output = self.loop_output(step);
                self.step_completed(step, output);
                return;
            }
            if progress.next >= count || progress.open >= each.parallel_max.max(1) {
                return;
            }
            let item = progress.next;
            self.start_item(step, item, each);
        }
    }

    fn is_running(&self, step: u32) -> bool {
        self.state.end.is_none() && self.state.step(step).status.0 == Status::Running
    }

    fn start_item(&mut self, step: u32, item: u32, each: &Each) {
        let slot = Slot {
            step,
            item: Some(item),
        };
        if let Some(condition) = &each.body.when {
            match self.evaluator.condition(condition, &self.view(slot)) {
                Ok(true) => {}
                Ok(false) => {
                    let output = default_of(each);
                    let status = Status::Skipped;
                    self.emit(What::ItemEnded {
                        step,
                        item,
                        status,
                        output,
                        failure: None,
                    });
                    return;
                }
                Err(failure) => return self.slot_failed(slot, failure),
            }
        }
        self.start_attempt(slot);
    }

    pub(super) fn item_completed(&mut self, step: u32, item: u32, output: Output) {
        let status = Status::Completed;
        self.emit(What::ItemEnded {
            step,
            item,
            status,
            output,
            failure: None,
        });
    }

    /// The body's own policy comes first; what it does not continue is for the loop to decide.
    pub(super) fn item_failed(&mut self, step: u32, item: u32, failure: Failure) {
        let plan = Arc::clone(&self.state.plan);
        let own = plan.step(step as usize);
        let Action::Each(each) = &own.action else {
            return;
        };
        let continues = each.body.on_error.then == Then::Continue;
        let output = if continues {
            default_of(each)
        } else {
            Output::Nothing
        };
        let status = Status::Failed;
        let ended = Some(failure.clone());
        self.emit(What::ItemEnded {
            step,
            item,
            status,
            output,
            failure: ended,
        });
        let goes_on = own.on_error.then == Then::Continue && !each.ends_at_failure;
        if continues || goes_on {
            return;
        }
        let message = format!("iteration {item}: {}", failure.message);
        self.loop_failed(step, Failure { message, ..failure });
    }

    /// The rest of the loop is cancelled; what it has so far stays on the failed step.
    pub(super) fn loop_failed(&mut self, step: u32, failure: Failure) {
        self.cancel_calls(step);
        let unended: Vec<u32> = match self.state.step(step).each.as_ref() {
            None => Vec::new(),
            Some(each) => (0..)
                .zip(&each.states)
                .filter(|(_, item)| !item.status.0.is_ended())
                .map(|(index, _)| index)
                .collect(),
        };
        for item in unended {
            let failure = Failure::new(Code::CancelledAborted, "cancelled when the loop ended");
            let failure = Some(self.located(
                Slot {
                    step,
                    item: Some(item),
                },
                failure,
            ));
            let (status, output) = (Status::Cancelled, Output::Nothing);
            self.emit(What::ItemEnded {
                step,
                item,
                status,
                output,
                failure,
            });
        }
        let partial = self.loop_output(step);
        self.step_failed(step, failure, partial);
    }

    /// What the items gave, in input order; nothing for a step that is no loop.
    pub(super) fn loop_output(&self, step: u32) -> Output {
        let shape = match &self.state.plan.step(step as usize).action {
            Action::Each(each) => each.output,
            Action::Call(_) | Action::Ask(_) => return Output::Nothing,
        };
        match (self.state.step(step).each.as_ref(), shape) {
            (None, _) => Output::Nothing,
            (Some(each), Shape::Report) => Output::Value(Arc::new(gathered(each))),
            (Some(each), Shape::Plain) => Output::Value(Arc::new(listed(each))),
        }
    }
}

fn default_of(each: &Each) -> Output {
    each.body
        .default
        .clone()
        .map_or(Output::Nothing, |value| Output::Value(Arc::new(value)))
}

/// The output of each item; null where there is none.
fn listed(each: &Loop) -> Value {
    let outputs = each.states.iter().map(|item| item.output.get());
    Value::Array(
        outputs
            .map(|output| output.cloned().unwrap_or_default())
            .collect(),
    )
}

/// `{iterations, count, completed, failed}`.
fn gathered(each: &Loop) -> Value {
    let count_of = |status: Status| {
        each.states
            .iter()
            .filter(|item| item.status.0 == status)
            .count()
    };
    let iterations: Vec<Value> = each
        .items
        .iter()
        .zip(&each.states)
        .enumerate()
        .map(|(index, (item, state))| iteration(index, item, state))
        .collect();
    let failed = count_of(Status::Failed) + count_of(Status::Cancelled);
    object([
        ("iterations", Value::Array(iterations)),
        ("count", Value::from(each.items.len())),
        ("completed", Value::from(count_of(Status::Completed))),
        ("failed", Value::from(failed)),
    ])
}

fn iteration(index: usize, item: &Value, state: &ItemState) -> Value {
    let status = if state.status.0.is_ended() {
        state.status.0
    } else {
        Status::Cancelled
    };
    let mut entry = object([
        ("index", Value::from(index)),
        ("item", item.clone()),
        ("status", Value::from(status.as_str())),
        ("output", state.output.get().cloned().unwrap_or_default()),
    ]);
    if let Some(failure) = &state.failure {
        entry["error"] = Value::from(failure.message.as_str());
    }
    entry
}

/// An object of values that are moved into it; `json!` would copy each of them through its serializer.
fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries.map(|(key, value)| (key.to_owned(), value));
    Value::Object(entries.into_iter().collect())
}
