//! Values that must not be shown: those at places that a schema marks (`writeOnly`, `format: password`,
//! `x-sensitive`) of parameters, tools and questions, and the same values wherever else in the run they stand.
//! Sealing them at rest is for the store.

mod places;
mod secrets;
#[cfg(test)]
mod tests;

use onecall_engine::event::{End, Event, Kept, Lost, Outcome, Output, Resolution, What};
use onecall_engine::failure::Failure;
use onecall_engine::journal::StoredRun;
use onecall_engine::state::{MarkedAnswer, State, Work};
use onecall_workflow::coerce::{Coercer, is_marked};
use onecall_workflow::plan::Plan;
use onecall_workflow::step::{Action, Step};
use onecall_workflow::stored::{ReadPlanError, read_plan};
use secrets::Secrets;
use serde_json::Value;
use std::sync::Arc;

/// The same run with `•••` in place of what must not be shown. For looking at; such a run cannot go on.
pub fn masked(mut stored: StoredRun) -> Result<StoredRun, ReadPlanError> {
    let plan = Arc::new(read_plan(&stored.plan)?);
    let asks = stored.events.iter().any(Event::asks_for_a_secret);
    if !(asks || plan.is_sensitive()) {
        return Ok(stored);
    }
    let mut masker = Masker::new(plan);
    for event in &mut stored.events {
        masker.cover_places(&mut event.what);
    }
    for event in &mut stored.events {
        masker.cover_values(&mut event.what);
    }
    Ok(stored)
}

/// Covers the events of one run, one after the other.
#[derive(Debug)]
pub(crate) struct Masker {
    plan: Arc<Plan>,
    inputs: Coercer,
    outputs: Vec<Option<Coercer>>,
    /// The schema of the question that each step put last.
    asked: Vec<Option<Coercer>>,
    secrets: Secrets,
}

impl Masker {
    fn new(plan: Arc<Plan>) -> Self {
        let outputs = plan.tools.iter().map(|tool| {
            let schema = tool.as_ref()?.output_schema.clone()?;
            Some(Coercer::new(schema))
        });
        let steps = plan.workflow.steps.iter();
        Self {
            inputs: Coercer::new(plan.workflow.inputs.clone()),
            outputs: outputs.collect(),
            asked: steps.map(asked).collect(),
            secrets: Secrets::default(),
            plan,
        }
    }

    /// Knows what the run holds by now. `None`: it may all be shown.
    pub(crate) fn of_state(state: &State) -> Option<Self> {
        let mut questions = state.questions.values();
        let asks = questions.any(|question| question.schema.as_deref().is_some_and(is_marked));
        if !(asks || state.plan.is_sensitive() || !state.marked_answers.is_empty()) {
            return None;
        }
        let mut masker = Self::new(Arc::clone(&state.plan));
        for (step, question) in &state.questions {
            masker.asks(*step, question.schema.as_deref());
        }
        for MarkedAnswer { schema, content } in &state.marked_answers {
            masker.cover(&Coercer::new(Value::clone(schema)), &mut content.clone());
        }
        let inputs = masker.inputs.clone();
        masker.cover(&inputs, &mut Value::clone(&state.input));
        for (index, step) in (0_u32..).zip(&state.steps) {
            masker.learn(index, &step.work);
            for item in step.each.iter().flat_map(|each| &each.states) {
                masker.learn(index, &item.work);
                if let Some(output) = item.output.get() {
                    masker.cover_item_places(index, &mut output.clone());
                }
            }
            // What was kept from an earlier run, written as a mock or given by a person came with no result.
            if let Some(output) = step.output.get() {
                masker.cover_output_places(index, &mut output.clone());
            }
        }
        Some(masker)
    }

    pub(crate) fn cover_event(&mut self, event: &mut Event) {
        self.cover_places(&mut event.what);
        self.cover_values(&mut event.what);
    }

    pub(crate) fn cover_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.secrets.cover_text(&mut text);
        text
    }

    /// Covers what a call of a step would be given.
    pub(crate) fn cover_call(&mut self, step: u32, arguments: &mut Value) {
        self.cover_arguments(step, arguments);
        self.secrets.cover(arguments);
    }

    fn learn(&mut self, step: u32, work: &Work) {
        if let Some(arguments) = &work.arguments {
            self.cover_arguments(step, &mut Value::clone(arguments));
        }
        if let Some(result) = &work.result {
            self.cover_result(step, &mut Value::clone(result));
        }
    }

    /// The second pass: what stood there, wherever it stands.
    fn cover_values(&self, what: &mut What) {
        let secrets = &self.secrets;
        match what {
            What::RunStarted { input, kept, .. } => {
                secrets.cover(Arc::make_mut(input));
                if let Some(kept) = kept {
                    self.cover_kept(kept);
                }
            }
            What::AttemptStarted {
                arguments, carried, ..
            } => {
                secrets.cover(Arc::make_mut(arguments));
                if let Some(carried) = carried {
                    secrets.cover_all(Arc::make_mut(carried).answers.values_mut());
                }
            }
            What::CallAsked { request: value, .. }
            | What::Mocked {
                arguments: Some(value),
                ..
            } => secrets.cover(Arc::make_mut(value)),
            What::AttemptEnded { outcome, .. } => self.cover_outcome(outcome),
            What::ItemsAre { items, .. } => secrets.cover_all(Arc::make_mut(items).iter_mut()),
            What::ItemEnded {
                output, failure, ..
            } => {
                self.cover_output(output);
                self.cover_failure(failure.as_mut());
            }
            What::StepEnded {
                output,
                failure,
                reason,
                ..
            } => {
                self.cover_output(output);
                self.cover_failure(failure.as_mut());
                if let Some(reason) = reason {
                    secrets.cover_text(reason);
                }
            }
            What::QuestionAsked { message: text, .. }
            | What::AnswerRefused { reason: text, .. }
            | What::DefaultUsed { reason: text, .. }
            | What::Held { reason: text, .. }
            | What::CancelAsked { reason: text }
            | What::Note { text } => secrets.cover_text(text),
            What::QuestionAnswered { answer, sent, .. } => {
                secrets.cover_all(answer.content.iter_mut());
                secrets.cover_all(sent.iter_mut().map(Arc::make_mut));
            }
            What::HeldResolved {
                resolution: Resolution::Result(result),
                ..
            } => secrets.cover(result),
            What::RunEnded { end } => self.cover_end(end),
            What::HeldResolved { .. }
            | What::Mocked { .. }
            | What::Used { .. }
            | What::RetryAt { .. }
            | What::ClockStopped
            | What::ClockStarted { .. }
            | What::RemainingSkipped { .. } => {}
        }
    }

    fn cover_kept(&self, kept: &mut Kept) {
        for step in &mut kept.steps {
            self.cover_output(&mut step.output);
            if let Some(result) = &mut step.result {
                self.secrets.cover(Arc::make_mut(result));
            }
        }
    }

    fn cover_outcome(&self, outcome: &mut Outcome) {
        match outcome {
            Outcome::Returned(result) => self.secrets.cover(Arc::make_mut(result)),
            Outcome::Failed { failure, result } => {
                self.cover_failure(Some(failure));
                if let Some(result) = result {
                    self.secrets.cover(Arc::make_mut(result));
                }
            }
            Outcome::Asks(inquiry) => {
                let requests = Arc::make_mut(inquiry).requests.values_mut();
                self.secrets.cover_all(requests);
            }
            Outcome::Unknown(Lost::Connection { reason }) => self.secrets.cover_text(reason),
            Outcome::Unknown(Lost::Crash | Lost::Deadline | Lost::Cancelled) => {}
        }
    }

    fn cover_output(&self, output: &mut Output) {
        match output {
            Output::Value(value) => self.secrets.cover(Arc::make_mut(value)),
            Output::Nothing | Output::Structured => {}
        }
    }

    fn cover_failure(&self, failure: Option<&mut Failure>) {
        if let Some(failure) = failure {
            self.secrets.cover_text(&mut failure.message);
        }
    }

    fn cover_end(&self, end: &mut End) {
        match end {
            End::Completed {
                output, failure, ..
            } => {
                self.secrets.cover(Arc::make_mut(output));
                self.cover_failure(failure.as_mut());
            }
            End::Failed { failure, partial }
            | End::TimedOut { failure, partial }
            | End::Cancelled { failure, partial } => {
                self.cover_failure(Some(failure));
                self.secrets.cover(Arc::make_mut(partial));
            }
        }
    }
}

/// The schema of the question that a step puts.
fn asked(step: &Step) -> Option<Coercer> {
    match &step.action {
        Action::Ask(ask) => ask.schema.clone().map(Coercer::new),
        Action::Call(_) | Action::Each(_) => None,
    }
}
