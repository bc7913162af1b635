//! Attempts: making a call, and what its end means. Results are read in `reading`; a call that was sent and not
//! answered is for `unknown`.

use super::Decider;
use super::bounds::over_call_budget;
use super::reading::{judged, read_result};
use crate::event::{Lost, Outcome, Output, What};
use crate::failure::{Category, Code, Failure};
use crate::identity::{CallId, Slot, Timestamp};
use onecall_workflow::expression::JqProgram;
use onecall_workflow::plan::{BoundTool, Plan};
use onecall_workflow::step::{Action, Call, Reading, Step};
use onecall_workflow::stored::hash_text;
use serde_json::Value;
use std::sync::Arc;

impl Decider<'_> {
    /// The step whose policies govern a slot: the step itself, or the body of its loop.
    pub(super) fn governing(plan: &Plan, slot: Slot) -> &Step {
        let step = plan.step(slot.step as usize);
        match (&step.action, slot.item) {
            (Action::Each(each), Some(_)) => &each.body,
            (Action::Each(_) | Action::Call(_) | Action::Ask(_), _) => step,
        }
    }

    /// Makes the next attempt of a slot. Arguments are evaluated once and used for every attempt.
    pub(super) fn start_attempt(&mut self, slot: Slot) {
        let is_first = self.state.work(slot).is_none_or(|work| work.attempts == 0);
        self.attempt(slot, is_first);
    }

    /// Everything the tool asked is answered: the call is repeated with the answers, on a fresh clock.
    pub(super) fn repeat_answered(&mut self, slot: Slot) {
        self.attempt(slot, true);
    }

    /// `is_fresh`: the clock of the slot starts now.
    pub(super) fn attempt(&mut self, slot: Slot, is_fresh: bool) {
        let plan = Arc::clone(&self.state.plan);
        let own = Self::governing(&plan, slot);
        let (Some(call), Some(tool)) = (own.call(), plan.tool(slot.step as usize)) else {
            let failure = Failure::new(Code::InternalFault, "the step has no tool to call");
            return self.slot_failed(slot, failure);
        };
        // Several things may have fallen due at once; nothing begins after the end of the run's own time.
        self.end_if_over();
        if self.state.end.is_some() {
            return;
        }
        if let Some(failure) = self.overgrown() {
            return self.abort(self.located(slot, failure));
        }
        if let Some(failure) = self.no_call_left() {
            let failure = self.located(slot, failure);
            return self.budget_tripped(failure);
        }
        let arguments = match self.arguments(slot, call, tool) {
            Ok(arguments) => arguments,
            Err(failure) => return self.slot_failed(slot, failure),
        };
        let fresh = own.timeout.map(|timeout| self.now.plus(timeout));
        let deadline = if is_fresh {
            fresh
        } else {
            self.known_deadline(slot)
        };
        let work = self.state.work(slot);
        let attempt = work.map_or(0, |work| work.attempts);
        let definite = work.map_or(0, |work| work.definite_failures);
        let key = idempotency_key(self.state.run.as_str(), own.name.as_str(), slot, definite);
        let call = slot.attempt(attempt);
        self.emit(What::AttemptStarted {
            call,
            arguments,
            key,
            deadline,
            carried: self.state.carried(slot),
        });
    }

    fn arguments(&self, slot: Slot, call: &Call, tool: &BoundTool) -> Result<Arc<Value>, Failure> {
        if let Some(arguments) = self
            .state
            .work(slot)
            .and_then(|work| work.arguments.as_ref())
        {
            return Ok(Arc::clone(arguments));
        }
        self.evaluator
            .arguments(call, Some(tool), &self.view(slot))
            .map(Arc::new)
    }

    /// The deadline of a slot that has started already.
    fn known_deadline(&self, slot: Slot) -> Option<Timestamp> {
        let step = self.state.step(slot.step);
        let Some(item) = slot.item else {
            return step.deadline;
        };
        step.each.as_ref()?.states.get(item as usize)?.deadline
    }

    pub(super) fn call_ended(&mut self, call: CallId, outcome: Outcome) {
        if !self.state.calls.contains_key(&call) {
            if !matches!(outcome, Outcome::Unknown(Lost::Cancelled)) {
                let step = self.state.step_name(call.step);
                let text = format!("an answer of step `{step}` arrived late");
                self.emit(What::Note { text });
            }
            return;
        }
        let slot = call.slot();
        let outcome = self.explained(call, judged(outcome));
        self.emit(What::AttemptEnded {
            call,
            outcome: outcome.clone(),
        });
        if let Some(result) = outcome.result() {
            self.count_usage(call, result);
        }
        match outcome {
            Outcome::Returned(result) => self.returned(slot, &result),
            Outcome::Failed { failure, .. } if self.is_unsent(slot, &failure) => {
                self.attempt_unsent(slot, &failure);
            }
            Outcome::Failed { failure, .. } => self.attempt_failed(slot, failure),
            Outcome::Asks(inquiry) => self.inquired(slot, &inquiry),
            Outcome::Unknown(lost) => self.attempt_lost(slot, &lost),
        }
        // A tool that had asked in the middle of its call asks no longer; another item may.
        self.ask_next(slot.step);
        self.keep_budget(slot);
    }

    /// A tool that refused arguments which do not fit its schema: the failure shows what was sent.
    fn explained(&self, call: CallId, outcome: Outcome) -> Outcome {
        let Outcome::Failed {
            mut failure,
            result,
        } = outcome
        else {
            return outcome;
        };
        if failure.code.category() == Category::Tool
            && let Some(open) = self.state.calls.get(&call)
            && let Some(tool) = self.state.plan.tool(call.step as usize)
            && let Some(misfit) = self.evaluator.misfit(tool, &open.arguments)
        {
            failure.message = format!("{} (arguments sent: {misfit})", failure.message);
        }
        Outcome::Failed { failure, result }
    }

    /// A repetition of a call that may have acted, and nothing of this one reached the tool.
    fn is_unsent(&self, slot: Slot, failure: &Failure) -> bool {
        let is_unsettled = self.state.work(slot).is_some_and(|work| work.is_unsettled);
        is_unsettled && !failure.code.may_have_acted()
    }

    pub(super) fn returned(&mut self, slot: Slot, result: &Arc<Value>) {
        let plan = Arc::clone(&self.state.plan);
        let call = Self::governing(&plan, slot).call();
        let budget = call.and_then(|call| call.budget.as_ref());
        if let Some(failure) = budget.and_then(|budget| over_call_budget(budget, result)) {
            return self.slot_failed(slot, failure);
        }
        let output = read_result(self.reading(slot), result);
        match call.and_then(|call| call.transform.as_ref()) {
            None => self.slot_completed(slot, output),
            Some(program) => self.reshaped(slot, program, result, &output),
        }
    }

    /// The call has returned; what its step makes of the result may still fail.
    pub(super) fn reshaped(
        &mut self,
        slot: Slot,
        program: &JqProgram,
        result: &Arc<Value>,
        output: &Output,
    ) {
        let payload = match output {
            Output::Nothing => &Value::Null,
            Output::Structured => result.get("structuredContent").unwrap_or(&Value::Null),
            Output::Value(value) => value,
        };
        match self.evaluator.transform(program, result, payload) {
            Ok(value) => self.slot_completed(slot, Output::Value(Arc::new(value))),
            Err(failure) => self.slot_failed(slot, failure),
        }
    }

    pub(super) fn reading(&self, slot: Slot) -> Reading {
        let call = Self::governing(&self.state.plan, slot).call();
        call.map_or(Reading::ContentMap, |call| call.reading)
    }

    pub(super) fn slot_completed(&mut self, slot: Slot, output: Output) {
        match slot.item {
            Some(item) => self.item_completed(slot.step, item, output),
            None => self.step_completed(slot.step, output),
        }
    }
}

/// The same for the same call of the same run, until it has definitely failed.
fn idempotency_key(run: &str, step: &str, slot: Slot, definite_failures: u32) -> String {
    let parts = serde_json::to_string(&(run, step, slot.item, definite_failures));
    hash_text(&parts.expect("texts and numbers are JSON"))
}
