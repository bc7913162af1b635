//! All semantics: an input and a state give events. Each event is folded as it is decided, so that what
//! follows sees it; the caller stores the events before it performs anything.
//!
//! No clock, randomness, I/O or hash-ordered iteration: time and seeds arrive in inputs.
//!
//! In the order of a run: `ready` starts steps and skips them, `attempt` makes calls, `reading` reads results, `mock`
//! stands in for them, `each` loops, `ask` asks people for a step and `inquire` for a tool; `unknown`, `retry` and
//! `failure` say what follows when a call was lost or failed, `timer` what has fallen due, `bounds` what was used up;
//! `output` ends the run.

mod ready;

mod attempt;
mod each;
mod mock;
mod reading;

mod ask;
mod inquire;

mod bounds;
mod failure;
mod retry;
mod timer;
mod unknown;

mod output;

use crate::evaluate::{Evaluator, PlanEvaluator};
use crate::event::{Answer, Event, Kept, Lost, Outcome, Resolution, What};
use crate::evolve::evolve;
use crate::failure::{Code, Failure};
use crate::identity::{CallId, Slot, Timestamp};
use crate::state::State;
use crate::view::{RUNNING, View};
use onecall_workflow::policy::WhileAsking;
use serde_json::Value;
use std::sync::Arc;

/// Something that happened outside.
#[derive(Clone, Debug)]
pub enum Input {
    /// The run begins, with parameters that were accepted.
    Start { input: Arc<Value>, seed: u64 },
    /// The run repeats an earlier one and keeps some of its steps. It is stored at rest: its first steps start
    /// when a process takes it up with `Resume`.
    Repeat {
        input: Arc<Value>,
        seed: u64,
        kept: Kept,
    },
    /// A call ended.
    Ended { call: CallId, outcome: Outcome },
    /// A tool asks while its call is in flight; `key` tells its questions apart.
    CallAsks {
        call: CallId,
        key: String,
        request: Value,
    },
    /// Time passed.
    Time,
    /// Somebody answered the question of a step. `round` names which asking was answered.
    Answer {
        step: u32,
        round: Option<u32>,
        answer: Answer,
    },
    /// Somebody wants the run to stop.
    Cancel { reason: String },
    /// The run was loaded again after its process died: what was in flight is lost.
    Resume,
    /// A person decided about a call with an unknown outcome.
    Resolve { slot: Slot, resolution: Resolution },
}

impl Input {
    /// Whether a run begins with it.
    fn begins(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::Repeat { .. })
    }
}

/// Decides what follows from an input, and folds it into the state.
pub fn decide(
    state: &mut State,
    at: Timestamp,
    input: Input,
    evaluator: &dyn Evaluator,
) -> Vec<Event> {
    let mut decider = Decider {
        state,
        evaluator,
        now: at,
        events: Vec::new(),
    };
    // A run starts once, and nothing happens to it before.
    let has_started = decider.state.events > 0;
    if has_started != input.begins() {
        let rests = matches!(input, Input::Repeat { .. });
        decider.input(input);
        if !rests {
            decider.settle();
        }
    }
    decider.events
}

/// Ends a run that cannot be decided any further, because deciding it panicked. Evaluates nothing.
pub(crate) fn end_with_fault(state: &mut State, at: Timestamp) -> Vec<Event> {
    let message = "the run met a fault of ours and was ended";
    end_with(state, at, Failure::new(Code::InternalFault, message))
}

/// Ends a run where it is, with this failure. Evaluates nothing.
pub fn end_with(state: &mut State, at: Timestamp, failure: Failure) -> Vec<Event> {
    let mut decider = Decider {
        state,
        evaluator: &PlanEvaluator::default(),
        now: at,
        events: Vec::new(),
    };
    if decider.state.end.is_none() {
        decider.end_failed(failure);
    }
    decider.events
}

pub(crate) struct Decider<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) evaluator: &'a dyn Evaluator,
    pub(crate) now: Timestamp,
    pub(crate) events: Vec<Event>,
}

impl Decider<'_> {
    fn input(&mut self, input: Input) {
        if self.state.end.is_some() {
            self.too_late(&input);
            return;
        }
        // What was in flight when the process died is lost before anything that fell due since is begun:
        // a call that only waking up decides on was never sent.
        if matches!(input, Input::Resume) {
            self.resume();
        }
        // What was due before this input happened before it.
        if !input.begins() && self.state.end.is_none() {
            self.elapse();
        }
        if self.state.end.is_some() {
            self.too_late(&input);
            return;
        }
        match input {
            Input::Start { input, seed } => self.start(input, seed, None),
            Input::Repeat { input, seed, kept } => self.repeat(input, seed, kept),
            Input::Ended { call, outcome } => self.call_ended(call, outcome),
            Input::CallAsks { call, key, request } => self.call_asks(call, key, request),
            Input::Time | Input::Resume => {}
            Input::Answer {
                step,
                round,
                answer,
            } => self.answered(step, round, answer),
            Input::Cancel { reason } => self.cancel(&reason),
            Input::Resolve { slot, resolution } => self.resolve(slot, resolution),
        }
    }

    fn start(&mut self, input: Arc<Value>, seed: u64, kept: Option<Kept>) {
        let limit = self
            .state
            .plan
            .workflow
            .policy
            .timeout
            .map(|timeout| timeout.limit);
        let deadline = limit.map(|limit| self.now.plus(limit));
        self.emit(What::RunStarted {
            input,
            seed,
            deadline,
            kept,
        });
    }

    /// Nobody drives the run yet, so a default time-out stands still as if people were asked.
    fn repeat(&mut self, input: Arc<Value>, seed: u64, kept: Kept) {
        self.start(input, seed, Some(kept));
        let timeout = self.state.plan.workflow.policy.timeout;
        if timeout.is_some_and(|timeout| timeout.while_asking != WhileAsking::Ticks) {
            self.emit(What::ClockStopped);
        }
    }

    /// After the end nothing is applied; what still arrives is noted.
    fn too_late(&mut self, input: &Input) {
        let text = match input {
            Input::Ended { call, outcome } => {
                let what = match outcome {
                    Outcome::Returned(_) => "a result",
                    Outcome::Failed { .. } => "a failure",
                    Outcome::Asks(_) => "a question",
                    Outcome::Unknown(Lost::Cancelled) => return,
                    Outcome::Unknown(_) => "a lost answer",
                };
                format!(
                    "{what} of step `{}` arrived late",
                    self.state.step_name(call.step)
                )
            }
            Input::Answer { step, .. } => {
                format!(
                    "an answer to step `{}` arrived late",
                    self.state.step_name(*step)
                )
            }
            Input::Start { .. }
            | Input::Repeat { .. }
            | Input::CallAsks { .. }
            | Input::Time
            | Input::Cancel { .. }
            | Input::Resume
            | Input::Resolve { .. } => return,
        };
        self.emit(What::Note { text });
    }

    /// What was in flight when the process died was sent and not answered.
    fn resume(&mut self) {
        self.end_if_over();
        let lost: Vec<CallId> = self.state.calls.keys().copied().collect();
        for call in lost {
            if self.state.end.is_none() {
                self.call_ended(call, Outcome::Unknown(Lost::Crash));
            }
        }
    }

    fn cancel(&mut self, reason: &str) {
        self.emit(What::CancelAsked {
            reason: reason.to_owned(),
        });
        let failure = Failure::new(
            Code::CancelledRun,
            format!("the run was cancelled: {reason}"),
        );
        self.end_cancelled(failure);
    }

    /// Starts what can start, ends what has nothing left to do.
    fn settle(&mut self) {
        self.advance();
        self.keep_limits();
        if self.state.end.is_none() && self.state.ended_steps as usize == self.state.steps.len() {
            self.finish();
        }
        self.tend_clock();
    }

    /// Loops and ready steps feed each other: a loop that ends makes steps ready, a ready step may be a loop.
    pub(crate) fn advance(&mut self) {
        loop {
            let before = self.events.len();
            self.fill_loops();
            self.start_ready();
            if self.state.end.is_some() || self.events.len() == before {
                return;
            }
        }
    }

    /// A default time-out stands still while the run waits for people only.
    fn tend_clock(&mut self) {
        let Some(timeout) = self.state.plan.workflow.policy.timeout else {
            return;
        };
        if timeout.while_asking == WhileAsking::Ticks || self.state.end.is_some() {
            return;
        }
        match (self.state.waits_for_people_only(), self.state.clock_stopped) {
            (true, None) => self.emit(What::ClockStopped),
            (false, Some(since)) => {
                let stood = self.now.since(since);
                let deadline = self.state.deadline.map(|deadline| deadline.plus(stood));
                self.emit(What::ClockStarted { deadline });
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    pub(crate) fn emit(&mut self, what: What) {
        let event = Event { at: self.now, what };
        evolve(self.state, &event);
        self.events.push(event);
    }

    pub(crate) fn view(&self, slot: Slot) -> View<'_> {
        View {
            state: self.state,
            now: self.now,
            item: slot.item.map(|item| (slot.step, item)),
            run_status: RUNNING,
            bounds: self.evaluator.limits().expression,
            reader: Some(slot.step),
        }
    }

    /// The same failure with the place it happened at.
    pub(crate) fn located(&self, slot: Slot, mut failure: Failure) -> Failure {
        failure
            .step
            .get_or_insert_with(|| self.state.step_name(slot.step).to_owned());
        failure.item = failure.item.or(slot.item);
        let attempts = self.state.work(slot).map_or(0, |work| work.attempts);
        failure.attempt = failure.attempt.or((attempts > 0).then_some(attempts));
        failure
    }
}
