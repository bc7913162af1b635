//! Unknown outcomes: a call that was sent and not answered is repeated where that does no harm, else the run is held
//! until a person has decided.

use super::Decider;
use super::reading::judged;
use super::retry::is_retried;
use crate::event::{Lost, Outcome, Resolution, What};
use crate::failure::{Code, Failure};
use crate::identity::Slot;
use crate::limits::{CRASH_REPEATS_MAX, LOST_REPEATS_MAX, UNSENT_REPEATS_MAX};
use crate::result::given_result;
use onecall_workflow::plan::Repeatable;
use serde_json::Value;
use std::sync::Arc;

/// Whether a call that may have acted is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repetition {
    /// It may do harm: a person decides.
    Never,
    /// It does none.
    Free,
    /// The step wants it, as one of its retries.
    Retried,
}

impl Decider<'_> {
    pub(super) fn attempt_lost(&mut self, slot: Slot, lost: &Lost) {
        let reason = match lost {
            Lost::Crash => "the process ended while the call was in flight".to_owned(),
            Lost::Connection { reason } => reason.clone(),
            Lost::Deadline => "the time-out passed while the call was in flight".to_owned(),
            Lost::Cancelled => "the call was cancelled while in flight".to_owned(),
        };
        if *lost == Lost::Crash && self.repetition(slot) != Repetition::Never {
            return self.repeat_after_crash(slot, reason);
        }
        let repeats = self.state.work(slot).map_or(0, |work| work.lost);
        let message = format!("the call was sent and not answered: {reason}");
        self.repeat_or_hold(slot, reason, message, repeats < LOST_REPEATS_MAX);
    }

    /// A call that may have acted could not be made again. What it did is as unknown as before.
    pub(super) fn attempt_unsent(&mut self, slot: Slot, failure: &Failure) {
        let reason = format!("it could not be made again: {}", failure.message);
        let repeats = self.state.work(slot).map_or(0, |work| work.unsent);
        let message = format!("the call was sent and not answered, and {reason}");
        self.repeat_or_hold(slot, reason, message, repeats < UNSENT_REPEATS_MAX);
    }

    fn repeat_or_hold(&mut self, slot: Slot, reason: String, message: String, may_go_on: bool) {
        let failure = Failure::unanswered(message, self.is_harmless(slot));
        match self.repetition(slot) {
            Repetition::Never => self.emit(What::Held { slot, reason }),
            Repetition::Free if may_go_on => self.repeat_later(slot, failure),
            Repetition::Free | Repetition::Retried => self.attempt_failed(slot, failure),
        }
    }

    fn repetition(&self, slot: Slot) -> Repetition {
        let plan = Arc::clone(&self.state.plan);
        let own = Self::governing(&plan, slot);
        let lost = Failure::unanswered(String::new(), false);
        if let Some(retry) = &own.on_error.retry
            && is_retried(retry, &lost)
        {
            return Repetition::Retried;
        }
        if self.is_harmless(slot) {
            Repetition::Free
        } else {
            Repetition::Never
        }
    }

    /// Whether the call may be made again whatever became of it.
    fn is_harmless(&self, slot: Slot) -> bool {
        let own = Self::governing(&self.state.plan, slot);
        let tool = self.state.plan.tool(slot.step as usize);
        own.call().is_some_and(|call| call.idempotent)
            || tool.is_some_and(|tool| tool.repeatable != Repeatable::No)
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
            Resolution::Result(value) => self.resolved_with(slot, &value),
        }
        self.keep_budget(slot);
    }

    /// A person gives the result, which is read as if the tool had returned it.
    fn resolved_with(&mut self, slot: Slot, value: &Value) {
        let result = Arc::new(given_result(value));
        let attempts = self.state.work(slot).map_or(0, |work| work.attempts);
        self.count_usage(slot.attempt(attempts.saturating_sub(1)), &result);
        match judged(Outcome::Returned(result)) {
            Outcome::Failed { failure, .. } => self.attempt_failed(slot, failure),
            Outcome::Returned(result) => self.returned(slot, &result),
            Outcome::Asks(_) | Outcome::Unknown(_) => {}
        }
    }
}
