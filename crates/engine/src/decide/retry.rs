//! Retries: whether a failed attempt is followed by another, and when.

use super::Decider;
use crate::event::What;
use crate::failure::{Category, Code, Failure};
use crate::identity::{Slot, Timestamp};
use crate::limits::RETRY_WAIT_FACTOR_MAX;
use crate::state::Work;
use onecall_workflow::policy::{Retry, RetryOn};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// The first wait where none is given.
const FIRST_WAIT: Duration = Duration::from_secs(1);

impl Decider<'_> {
    /// An attempt failed: another follows, or the slot has failed.
    pub(super) fn attempt_failed(&mut self, slot: Slot, failure: Failure) {
        let failure = self.located(slot, failure);
        let plan = Arc::clone(&self.state.plan);
        let own = Self::governing(&plan, slot);
        let attempts = self.state.work(slot).map_or(0, |work| work.attempts);
        let counted = self.state.work(slot).map_or(0, Work::attempts_counted);
        let retry = own
            .on_error
            .retry
            .as_ref()
            .filter(|retry| counted <= retry.times && is_retried(retry, &failure));
        let Some(retry) = retry else {
            return self.slot_failed(slot, failure);
        };
        let due = self.now.plus(self.wait(slot, retry.delay, counted));
        if self.is_past_a_deadline(slot, due) {
            return self.slot_failed(slot, failure);
        }
        self.emit(What::RetryAt {
            call: slot.attempt(attempts),
            due,
        });
    }

    /// An answer was lost and the call may be repeated: it is, after a wait, without counting as a retry.
    pub(super) fn repeat_later(&mut self, slot: Slot, failure: Failure) {
        let attempts = self.state.work(slot).map_or(0, |work| work.attempts);
        let due = self.now.plus(self.wait(slot, FIRST_WAIT, attempts));
        if self.is_past_a_deadline(slot, due) {
            return self.slot_failed(slot, failure);
        }
        self.emit(What::RetryAt {
            call: slot.attempt(attempts),
            due,
        });
    }

    /// A wait that would pass a deadline is not begun.
    fn is_past_a_deadline(&self, slot: Slot, due: Timestamp) -> bool {
        let step = self.state.step(slot.step);
        let item = slot
            .item
            .and_then(|item| step.each.as_ref()?.states.get(item as usize));
        let deadlines = [
            self.state.deadline,
            self.state.budget_ends(),
            step.deadline,
            item.and_then(|item| item.deadline),
        ];
        deadlines
            .into_iter()
            .flatten()
            .any(|deadline| due >= deadline)
    }

    /// Half as long again each time, half of it up or down by the run's seed, at most sixty times the first.
    fn wait(&self, slot: Slot, first: Duration, attempts: u32) -> Duration {
        let cap = first.saturating_mul(u32::try_from(RETRY_WAIT_FACTOR_MAX).unwrap_or(u32::MAX));
        let mut wait = first;
        for _ in 1..attempts {
            wait = wait
                .saturating_mul(3)
                .checked_div(2)
                .unwrap_or(cap)
                .min(cap);
        }
        let text = format!(
            "{}/{}/{:?}/{attempts}",
            self.state.seed, slot.step, slot.item
        );
        let digest = Sha256::digest(text.as_bytes());
        // 0..=1000, in thousandths: 500 of which are added to a half.
        let share = u32::from(u16::from_be_bytes([digest[0], digest[1]])) * 1_000 / 65_535;
        wait.saturating_mul(500 + share)
            .checked_div(1_000)
            .unwrap_or(wait)
            .min(cap)
    }
}

pub(super) fn is_retried(retry: &Retry, failure: &Failure) -> bool {
    match &retry.on {
        RetryOn::Listed(names) => failure.is_named_by(names),
        RetryOn::Retryable => match failure.code.category() {
            Category::Denied | Category::Cancelled | Category::Expression | Category::Input => {
                false
            }
            Category::Tool
            | Category::Transport
            | Category::Timeout
            | Category::Declined
            | Category::Budget
            | Category::Limit
            | Category::UnknownOutcome
            | Category::Pending
            | Category::Internal => failure.code != Code::ToolArguments,
        },
    }
}
