//! Time: what is due by now, in the order it fell due.

use super::Decider;
use crate::event::{Lost, Outcome, What};
use crate::failure::{Code, Failure};
use crate::identity::{CallId, Slot, Timestamp};
use crate::outstanding::next_due;

/// One thing that time brings about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Run,
    Budget,
    Step(u32),
    Call(CallId),
    Question(u32),
    Retry(Slot),
}

impl Decider<'_> {
    /// Handles everything due up to now, the earliest first.
    pub(super) fn elapse(&mut self) {
        while self.state.end.is_none() {
            let Some(due) = next_due(self.state).filter(|due| *due <= self.now) else {
                return;
            };
            let Some(what) = self.due_at(due) else { return };
            match what {
                Due::Run => self.run_timed_out(),
                Due::Budget => self.time_used_up(),
                Due::Step(step) => self.step_timed_out(step),
                Due::Call(call) => self.call_timed_out(call),
                Due::Question(step) => self.question_timed_out(step),
                Due::Retry(slot) => self.start_attempt(slot),
            }
            self.advance();
        }
    }

    /// Ends a run whose own time is over, before anything is begun again for it.
    pub(super) fn end_if_over(&mut self) {
        match self.run_due_at(self.now) {
            Some(Due::Run) => self.run_timed_out(),
            Some(Due::Budget) => self.time_used_up(),
            Some(Due::Step(_) | Due::Call(_) | Due::Question(_) | Due::Retry(_)) | None => {}
        }
    }

    fn run_due_at(&self, due: Timestamp) -> Option<Due> {
        let is_due = |deadline: Option<Timestamp>| deadline.is_some_and(|deadline| deadline <= due);
        if is_due(self.state.deadline) && self.state.clock_stopped.is_none() {
            return Some(Due::Run);
        }
        is_due(self.state.budget_ends()).then_some(Due::Budget)
    }

    fn due_at(&self, due: Timestamp) -> Option<Due> {
        let is_due = |deadline: Option<Timestamp>| deadline.is_some_and(|deadline| deadline <= due);
        if let Some(over) = self.run_due_at(due) {
            return Some(over);
        }
        let state = &self.state;
        // A question has the deadline of its step, and says more about it.
        let question = state
            .questions
            .iter()
            .find(|(_, question)| is_due(question.deadline));
        let step = state
            .active
            .iter()
            .find(|step| !state.stands_still(**step) && is_due(state.step(**step).deadline));
        let call = state
            .calls
            .iter()
            .find(|(id, call)| !state.is_asking(id.slot()) && is_due(call.deadline));
        let retry = state.waits.iter().find(|(_, wait)| wait.due <= due);
        question
            .map(|(step, _)| Due::Question(*step))
            .or(step.map(|step| Due::Step(*step)))
            .or(call.map(|(call, _)| Due::Call(*call)))
            .or(retry.map(|(slot, _)| Due::Retry(*slot)))
    }

    fn run_timed_out(&mut self) {
        let limit = self
            .state
            .plan
            .workflow
            .policy
            .timeout
            .map(|timeout| timeout.limit);
        let message = format!("the run took longer than {:?}", limit.unwrap_or_default());
        self.end_timed_out(Failure::new(Code::TimeoutRun, message));
    }

    fn step_timed_out(&mut self, step: u32) {
        let limit = self
            .state
            .plan
            .step(step as usize)
            .timeout
            .unwrap_or_default();
        let slot = Slot::of_step(step);
        let lost = self.lose_calls(|call| call.step == step);
        let message = format!("the step took longer than {limit:?}{}", in_flight(lost));
        let failure = self.located(slot, Failure::new(Code::TimeoutStep, message));
        if self.state.step(step).each.is_some() {
            self.loop_failed(step, failure);
        } else {
            self.slot_failed(slot, failure);
        }
    }

    fn call_timed_out(&mut self, call: CallId) {
        self.lose_calls(|other| other == call);
        let message = "the call took longer than its time-out and may have acted";
        self.slot_failed(call.slot(), Failure::new(Code::TimeoutStep, message));
    }

    /// Gives up calls in flight, whose outcome is unknown from then on, and says how many.
    pub(super) fn lose_calls(&mut self, is_lost: impl Fn(CallId) -> bool) -> usize {
        let calls: Vec<CallId> = self
            .state
            .calls
            .keys()
            .copied()
            .filter(|call| is_lost(*call))
            .collect();
        for call in &calls {
            let outcome = Outcome::Unknown(Lost::Deadline);
            let call = *call;
            self.emit(What::AttemptEnded { call, outcome });
        }
        calls.len()
    }
}

/// What a caller must know who thinks of calling again.
fn in_flight(calls: usize) -> &'static str {
    match calls {
        0 => "",
        1 => "; its call was in flight and may have acted",
        _ => "; calls were in flight and may have acted",
    }
}
