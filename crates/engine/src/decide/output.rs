//! The end of a run that has nothing left to do: its output, or why there is none.

use super::Decider;
use crate::event::{End, Status, What};
use crate::failure::{Code, Failure};
use crate::identity::Slot;
use crate::journal::Phase;
use crate::view::View;
use onecall_workflow::output::Absent;
use onecall_workflow::policy::{AllFailed, AnyFailed};
use onecall_workflow::workflow::{Output, OutputProperties};
use serde_json::{Map, Value, json};
use std::sync::Arc;

impl Decider<'_> {
    pub(super) fn finish(&mut self) {
        let plan = Arc::clone(&self.state.plan);
        if plan.workflow.policy.all_failed == AllFailed::Fails
            && let Some(failure) = self.all_failed()
        {
            return self.abort(failure);
        }
        match &plan.workflow.output {
            Output::LastCompleted => {
                let from_step = self.last_completed();
                self.complete_with(from_step);
            }
            Output::LastInOrder => {
                let from_step = self.last_in_order();
                self.complete_with(from_step);
            }
            Output::Properties(block) => self.finish_properties(block),
            Output::Value(template) => {
                let view = self.whole_view(Phase::Completed);
                match self.evaluator.filled("output", template, &view) {
                    Ok(output) => self.complete(Arc::new(output), None, None),
                    Err(failure) => self.abort(failure),
                }
            }
        }
    }

    /// The state as the output sees it, in a run that ends so.
    fn whole_view(&self, ends: Phase) -> View<'_> {
        View {
            state: self.state,
            now: self.now,
            item: None,
            run_status: ends.as_str(),
            bounds: self.evaluator.limits().expression,
            reader: None,
        }
    }

    fn all_failed(&self) -> Option<Failure> {
        let mut steps = self.state.steps.iter();
        let all = steps.all(|step| step.status.0 == Status::Failed);
        all.then(|| {
            self.state
                .steps
                .iter()
                .find_map(|step| step.failure.clone())
        })
        .flatten()
    }

    /// The first failure that no default made up for, where the workflow says that it counts.
    fn any_failed(&self) -> Option<Failure> {
        if self.state.plan.workflow.policy.any_failed == AnyFailed::Completes {
            return None;
        }
        let mut steps = self.state.steps.iter().filter(|step| !step.defaulted);
        steps.find_map(|step| step.failure.clone())
    }

    fn last_completed(&self) -> Option<u32> {
        let completed = (0_u32..)
            .zip(&self.state.steps)
            .filter(|(_, step)| step.status.0 == Status::Completed);
        completed.map(|(index, _)| index).last()
    }

    /// The last of a topological order that prefers declared order.
    fn last_in_order(&self) -> Option<u32> {
        let needs = &self.state.needs;
        let mut unmet: Vec<usize> = needs.of.iter().map(Vec::len).collect();
        let mut ready: std::collections::BTreeSet<u32> = (0_u32..)
            .zip(&unmet)
            .filter(|(_, unmet)| **unmet == 0)
            .map(|(step, _)| step)
            .collect();
        let mut last = None;
        while let Some(step) = ready.pop_first() {
            last = Some(step);
            for dependent in &needs.dependents[step as usize] {
                unmet[*dependent as usize] -= 1;
                if unmet[*dependent as usize] == 0 {
                    ready.insert(*dependent);
                }
            }
        }
        last
    }

    fn complete_with(&mut self, from_step: Option<u32>) {
        let output = from_step.and_then(|step| self.state.step(step).output.share());
        self.complete(output.unwrap_or_default(), from_step, None);
    }

    fn finish_properties(&mut self, block: &OutputProperties) {
        let skipped = self.state.skipping_after;
        let absent = if skipped.is_some() {
            Absent::LeftOut
        } else {
            Absent::Fails
        };
        let view = self.whole_view(Phase::Completed);
        let produced = match self.evaluator.properties(block, &view, absent) {
            Ok(produced) => produced,
            Err(failure) => return self.abort(failure),
        };
        for (property, reason) in produced.defaulted {
            self.emit(What::DefaultUsed { property, reason });
        }
        let failure = (!produced.lacking.is_empty()).then(|| {
            let names = produced.lacking.join("`, `");
            let message = format!("the remaining steps were skipped, so `{names}` is missing");
            let failure = Failure::new(Code::DeclinedRemaining, message);
            skipped.map_or(failure.clone(), |step| {
                self.located(Slot::of_step(step), failure)
            })
        });
        self.complete(Arc::new(Value::Object(produced.value)), None, failure);
    }

    fn complete(&mut self, output: Arc<Value>, from_step: Option<u32>, failure: Option<Failure>) {
        let failure = failure.or_else(|| self.any_failed());
        self.emit(What::RunEnded {
            end: End::Completed {
                output,
                from_step,
                failure,
            },
        });
    }

    /// What can be told of a run that did not complete: computable output and the status of each step.
    pub(super) fn partial(&self) -> Arc<Value> {
        let plan = Arc::clone(&self.state.plan);
        let output = match &plan.workflow.output {
            Output::Properties(block) => self
                .evaluator
                .properties(block, &self.whole_view(Phase::Failed), Absent::LeftOut)
                .map(|produced| produced.value)
                .unwrap_or_default(),
            Output::LastCompleted | Output::LastInOrder | Output::Value(_) => Map::new(),
        };
        Arc::new(json!({ "output": output, "steps": self.state.statuses() }))
    }
}
