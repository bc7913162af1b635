//! Readiness: a step starts when its own needs have ended; there are no levels.
//! Skips travel here too: by condition, by a skipped need, by a question that skips the rest.

use super::Decider;
use crate::event::{Output, Status, What};
use crate::identity::Slot;
use onecall_workflow::policy::SkippedNeed;
use onecall_workflow::step::{Action, Step};
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
        if let Some(reason) = self.skipped_by_need(step, own) {
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
        if let Some(mock) = &own.mock {
            return self.mocked(step, own, mock);
        }
        match &own.action {
            Action::Call(_) => self.start_attempt(slot),
            Action::Ask(ask) => self.put_question(step, ask),
            Action::Each(each) => self.start_each(step, each),
        }
    }

    /// Why a step is skipped: a need of it ended without output, and has no default to stand in.
    fn skipped_by_need(&self, step: u32, own: &Step) -> Option<String> {
        let after_failure = match own.skipped_need {
            SkippedNeed::Runs => return None,
            SkippedNeed::Skips => false,
            SkippedNeed::SkipsAfterFailure => true,
        };
        let is_optional = |name: &str| {
            let mut needs = own.needs.iter();
            needs.any(|need| need.optional && need.step == name)
        };
        let needs = &self.state.needs.of[step as usize];
        needs.iter().find_map(|need| {
            let other = self.state.step(*need);
            let name = self.state.step_name(*need);
            let what = match other.status.0 {
                Status::Skipped => "was skipped",
                Status::Failed if after_failure => "failed",
                _ => return None,
            };
            if other.defaulted || is_optional(name) {
                return None;
            }
            Some(format!("needs `{name}`, which {what}"))
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
