//! Readiness: a step starts when its own needs have ended; there are no levels.
//! Skips travel here too: by condition, by a skipped need, by a question that skips the rest.

use super::Decider;
use crate::event::{Output, Status, What};
use crate::identity::Slot;
use onecall_workflow::policy::SkippedNeed;
use onecall_workflow::step::Action;
use std::sync::Arc;

impl Decider<'_> {
    /// Starts ready steps in declared order, as far as the run's width allows.
    pub(super) fn start_ready(&mut self) {
        let width = self.state.plan.workflow.policy.steps_parallel_max;
        while self.state.end.is_none() {
            if let Some(after) = self.state.skipping_after {
                self.skip_rest(after);
                return;
            }
            let is_full = width.is_some_and(|width| self.state.active.len() >= width as usize);
            let Some(step) = self.state.ready.first().copied().filter(|_| !is_full) else {
                return;
            };
            self.start_step(step);
        }
    }

    fn start_step(&mut self, step: u32) {
        let plan = Arc::clone(&self.state.plan);
        let own = plan.step(step as usize);
        if own.skipped_need == SkippedNeed::Skips
            && let Some(need) = self.skipped_need(step)
        {
            let reason = format!("needs `{}`, which was skipped", self.state.step_name(need));
            self.skip(step, reason);
            return;
        }
        let slot = Slot::of_step(step);
        if let Some(condition) = &own.when {
            match self.evaluator.condition(condition, &self.view(slot)) {
                Ok(true) => {}
                Ok(false) => {
                    self.skip(step, "its condition is false".to_owned());
                    return;
                }
                Err(failure) => {
                    self.slot_failed(slot, failure);
                    return;
                }
            }
        }
        match &own.action {
            Action::Call(_) => self.start_attempt(slot),
            Action::Ask(ask) => self.put_question(step, ask),
            Action::Each(each) => self.start_each(step, each),
        }
    }

    /// A need that was skipped and has no default to stand in.
    fn skipped_need(&self, step: u32) -> Option<u32> {
        let needs = &self.state.needs.of[step as usize];
        needs.iter().copied().find(|need| {
            let other = self.state.step(*need);
            other.status.0 == Status::Skipped && !other.defaulted
        })
    }

    pub(super) fn skip(&mut self, step: u32, reason: String) {
        let default = self.state.plan.step(step as usize).default.clone();
        let defaulted = default.is_some();
        let output = default.map_or(Output::Nothing, |value| Output::Value(Arc::new(value)));
        let status = Status::Skipped;
        let reason = Some(reason);
        self.emit(What::StepEnded {
            step,
            status,
            output,
            defaulted,
            failure: None,
            reason,
        });
    }

    /// Steps in flight finish; everything that has not started is skipped.
    fn skip_rest(&mut self, after: u32) {
        let reason = format!("declined at {}", self.state.step_name(after));
        self.skip_pending(&reason);
    }

    /// Everything that has not started is skipped, for this reason.
    pub(super) fn skip_pending(&mut self, reason: &str) {
        for step in 0..u32::try_from(self.state.steps.len()).unwrap_or(u32::MAX) {
            if self.state.step(step).status.0 == Status::Pending {
                self.skip(step, reason.to_owned());
            }
        }
    }
}
