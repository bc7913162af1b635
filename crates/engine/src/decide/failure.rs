//! Failure: what a failed step does to the run, and the ends that are not success.

use super::Decider;
use crate::event::{End, Lost, Outcome, Output, Status, What};
use crate::failure::{Code, Failure};
use crate::identity::{CallId, Slot};
use onecall_workflow::policy::Then;
use serde_json::json;
use std::sync::Arc;

impl Decider<'_> {
    /// All attempts of a slot are used up, or it could not even start.
    pub(super) fn slot_failed(&mut self, slot: Slot, failure: Failure) {
        let failure = self.located(slot, failure);
        match slot.item {
            Some(item) => self.item_failed(slot.step, item, failure),
            None => self.step_failed(slot.step, failure, Output::Nothing),
        }
    }

    pub(super) fn step_completed(&mut self, step: u32, output: Output) {
        let status = Status::Completed;
        let (defaulted, failure, reason) = (false, None, None);
        self.emit(What::StepEnded {
            step,
            status,
            output,
            defaulted,
            failure,
            reason,
        });
    }

    /// `partial` is what a loop has so far; a default takes its place where the run goes on.
    pub(super) fn step_failed(&mut self, step: u32, failure: Failure, partial: Output) {
        let plan = Arc::clone(&self.state.plan);
        let own = plan.step(step as usize);
        let goes_on = own.on_error.then == Then::Continue;
        let default = own.default.clone().filter(|_| goes_on);
        let defaulted = default.is_some();
        let output = default.map_or(partial, |value| Output::Value(Arc::new(value)));
        self.emit(What::StepEnded {
            step,
            status: Status::Failed,
            output,
            defaulted,
            failure: Some(failure.clone()),
            reason: None,
        });
        if !goes_on {
            self.abort(failure);
        }
    }

    /// The run fails; what is in flight is cancelled with unknown outcome.
    pub(super) fn abort(&mut self, failure: Failure) {
        self.cancel_active();
        let partial = self.partial();
        self.emit(What::RunEnded {
            end: End::Failed { failure, partial },
        });
    }

    pub(super) fn end_cancelled(&mut self, failure: Failure) {
        self.cancel_active();
        let partial = self.partial();
        self.emit(What::RunEnded {
            end: End::Cancelled { failure, partial },
        });
    }

    pub(super) fn end_timed_out(&mut self, failure: Failure) {
        self.cancel_active();
        let partial = self.partial();
        self.emit(What::RunEnded {
            end: End::TimedOut { failure, partial },
        });
    }

    pub(super) fn end_failed(&mut self, failure: Failure) {
        self.cancel_active();
        let partial = Arc::new(json!({ "output": {}, "steps": self.state.statuses() }));
        self.emit(What::RunEnded {
            end: End::Failed { failure, partial },
        });
    }

    pub(super) fn cancel_active(&mut self) {
        let active: Vec<u32> = self.state.active.iter().copied().collect();
        for step in active {
            self.cancel_calls(step);
            let failure = Failure::new(Code::CancelledAborted, "cancelled when the run ended");
            let failure = Some(self.located(Slot::of_step(step), failure));
            let output = self.loop_output(step);
            let (status, defaulted, reason) = (Status::Cancelled, false, None);
            self.emit(What::StepEnded {
                step,
                status,
                output,
                defaulted,
                failure,
                reason,
            });
        }
    }

    /// Ends the calls of a step that are in flight; whether they had an effect is unknown.
    pub(super) fn cancel_calls(&mut self, step: u32) {
        let calls: Vec<CallId> = self
            .state
            .calls
            .keys()
            .copied()
            .filter(|call| call.step == step)
            .collect();
        for call in calls {
            let outcome = Outcome::Unknown(Lost::Cancelled);
            self.emit(What::AttemptEnded { call, outcome });
        }
    }
}
