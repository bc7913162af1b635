//! What one run may use: the budget its author gave it, and our limits. Passing any of them ends the run.

use super::Decider;
use crate::event::{End, What};
use crate::failure::{Code, Failure};
use crate::identity::{CallId, Slot};
use crate::usage::{Cost, Usage};
use onecall_source::counted;
use onecall_workflow::policy::{Budget, CallBudget};
use serde_json::Value;

impl Decider<'_> {
    fn budget(&self) -> Option<&Budget> {
        self.state.plan.workflow.policy.budget.as_ref()
    }

    /// One more call would be one too many.
    pub(super) fn no_call_left(&self) -> Option<Failure> {
        let calls = self.budget()?.calls?;
        (self.state.calls_made >= calls).then(|| {
            let calls = counted(calls, "call");
            let message = format!("the budget of {calls} is used up");
            Failure::new(Code::BudgetCalls, message)
        })
    }

    /// Records what a call reported it cost, where it did.
    pub(super) fn count_usage(&mut self, call: CallId, result: &Value) {
        if let Some(usage) = Usage::of_result(result) {
            let total = self.state.spent.plus(&usage);
            self.emit(What::Used { call, usage, total });
        }
    }

    /// After the end of a call: ends the run if it has cost too much by now.
    pub(super) fn keep_budget(&mut self, slot: Slot) {
        if self.state.end.is_none()
            && let Some(failure) = self.overspent()
        {
            let failure = self.located(slot, failure);
            self.budget_tripped(failure);
        }
    }

    fn overspent(&self) -> Option<Failure> {
        let budget = self.budget()?;
        let spent = self.state.spent;
        if let Some(cap) = budget.cost_usd.map(Cost::from_usd)
            && spent.cost > cap
        {
            let message = format!("the run cost {}, more than its budget of {cap}", spent.cost);
            return Some(Failure::new(Code::BudgetCost, message));
        }
        let cap = budget.tokens.filter(|cap| spent.tokens > *cap)?;
        let message = format!(
            "the run used {} tokens, more than its budget of {cap}",
            spent.tokens
        );
        Some(Failure::new(Code::BudgetTokens, message))
    }

    /// The budget of time has run out.
    pub(super) fn time_used_up(&mut self) {
        let time = self.budget().and_then(|budget| budget.time);
        let message = format!(
            "the run took longer than its budget of {:?}",
            time.unwrap_or_default()
        );
        self.budget_tripped(Failure::new(Code::BudgetTime, message));
    }

    /// Calls in flight are cancelled, what has not started is skipped, the run fails and says which cap.
    pub(super) fn budget_tripped(&mut self, failure: Failure) {
        self.cancel_active();
        self.skip_pending(&failure.message);
        let partial = self.partial();
        self.emit(What::RunEnded {
            end: End::Failed { failure, partial },
        });
    }

    /// Ends a run that has grown over our limits.
    pub(super) fn keep_limits(&mut self) {
        if self.state.end.is_none()
            && let Some(failure) = self.overgrown()
        {
            self.abort(failure);
        }
    }

    pub(super) fn overgrown(&self) -> Option<Failure> {
        let limits = self.evaluator.limits();
        if self.state.events > limits.events {
            let message = format!("the run has more than {} events", limits.events);
            return Some(Failure::new(Code::LimitEvents, message));
        }
        (self.state.data_bytes > limits.data_bytes).then(|| {
            let message = format!(
                "the run holds more than {} bytes of data",
                limits.data_bytes
            );
            Failure::new(Code::LimitData, message)
        })
    }
}

/// Why the result of one call is over the caps of its step.
pub(super) fn over_call_budget(budget: &CallBudget, result: &Value) -> Option<Failure> {
    let used = Usage::of_result(result)?;
    if let Some(cap) = budget.cost_usd.map(Cost::from_usd)
        && used.cost > cap
    {
        let message = format!("the call cost {}, more than its budget of {cap}", used.cost);
        return Some(Failure::new(Code::BudgetCost, message));
    }
    let cap = budget.tokens.filter(|cap| used.tokens > *cap)?;
    let message = format!(
        "the call used {} tokens, more than its budget of {cap}",
        used.tokens
    );
    Some(Failure::new(Code::BudgetTokens, message))
}
