//! Unknown outcomes: a call that was sent and not answered is repeated where that does no harm, else the run is held
//! until a person has decided.

use super::Decider;
use super::reading::read_result;
use crate::event::{Lost, Output, Resolution, What};
use crate::failure::{Code, Failure};
use crate::identity::Slot;
use crate::limits::{CRASH_REPEATS_MAX, LOST_REPEATS_MAX};
use onecall_workflow::plan::Repeatable;
use serde_json::Value;
use std::sync::Arc;

impl Decider<'_> {
    pub(super) fn attempt_lost(&mut self, slot: Slot, lost: &Lost) {
        let plan = Arc::clone(&self.state.plan);
        let own = Self::governing(&plan, slot);
        let tool = plan.tool(slot.step as usize);
        let may_repeat = own.call().is_some_and(|call| call.idempotent)
            || tool.is_some_and(|tool| tool.repeatable != Repeatable::No)
            || own.on_error.retry.is_some();
        let reason = match lost {
            Lost::Crash => "the process ended while the call was in flight".to_owned(),
            Lost::Connection { reason } => reason.clone(),
            Lost::Deadline => "the time-out passed while the call was in flight".to_owned(),
            Lost::Cancelled => "the call was cancelled while in flight".to_owned(),
        };
        if !may_repeat {
            self.emit(What::Held { slot, reason });
            return;
        }
        if *lost == Lost::Crash {
            self.repeat_after_crash(slot, reason);
            return;
        }
        let failure = Failure::new(
            Code::UnknownOutcomeUnanswered,
            format!("the call was sent and not answered: {reason}"),
        );
        let repeats = self.state.work(slot).map_or(0, |work| work.lost);
        if own.on_error.retry.is_none() && repeats < LOST_REPEATS_MAX {
            self.repeat_later(slot, failure);
        } else {
            self.attempt_failed(slot, failure);
        }
    }

    /// A call whose answer kills the process would be repeated for ever; after a while a person decides.
    fn repeat_after_crash(&mut self, slot: Slot, reason: String) {
        let crashed = self.state.work(slot).map_or(0, |work| work.crashed);
        if crashed > CRASH_REPEATS_MAX {
            self.emit(What::Held { slot, reason });
        } else {
            // The time in which no process lived does not count against the call.
            self.attempt(slot, true);
        }
    }

    pub(super) fn resolve(&mut self, slot: Slot, resolution: Resolution) {
        if !self.state.held.contains_key(&slot) {
            return;
        }
        self.emit(What::HeldResolved {
            slot,
            resolution: resolution.clone(),
        });
        match resolution {
            Resolution::Retry => self.start_attempt(slot),
            Resolution::Fail => {
                let message = "the call was sent and not answered, and was given up by a person";
                self.slot_failed(slot, Failure::new(Code::UnknownOutcomeHeld, message));
            }
            Resolution::Result(value) => self.resolved_with(slot, value),
        }
        self.keep_budget(slot);
    }

    /// A person gives the result: a tool result as it is, anything else as structured content.
    fn resolved_with(&mut self, slot: Slot, value: Value) {
        let plan = Arc::clone(&self.state.plan);
        let call = Self::governing(&plan, slot).call();
        let is_result = value.get("content").is_some_and(Value::is_array);
        let output = if is_result {
            let attempts = self.state.work(slot).map_or(0, |work| work.attempts);
            self.count_usage(slot.attempt(attempts.saturating_sub(1)), &value);
            match read_result(self.reading(slot), &Arc::new(value.clone())) {
                Output::Structured => value.get("structuredContent").cloned(),
                Output::Value(value) => Some(Value::clone(&value)),
                Output::Nothing => None,
            }
        } else {
            Some(value.clone())
        };
        let output = Output::Value(Arc::new(output.unwrap_or(Value::Null)));
        match call.and_then(|call| call.transform.as_ref()) {
            None => self.slot_completed(slot, output),
            Some(program) => self.reshaped(slot, program, &Arc::new(value), &output),
        }
    }
}
