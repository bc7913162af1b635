//! Values that must not be shown: those at places that a schema marks (`writeOnly`, `format: password`,
//! `x-sensitive`) of parameters, tools and questions, and the same values wherever else in the run they stand.
//! Sealing them at rest is for the store.

mod secrets;
#[cfg(test)]
mod tests;

use onecall_engine::event::{End, Event, Kept, KeptStep, Lost, Outcome, Output, Resolution, What};
use onecall_engine::failure::Failure;
use onecall_engine::journal::StoredRun;
use onecall_engine::state::{MarkedAnswer, State, Work};
use onecall_workflow::coerce::{Coercer, is_marked};
use onecall_workflow::plan::Plan;
use onecall_workflow::step::{Action, Shape, Step};
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
            let items = step.each.iter().flat_map(|each| &each.states);
            for work in items.map(|item| &item.work).chain([&step.work]) {
                masker.learn(index, work);
            }
            // An answer may be kept from an earlier run.
            if let Some(output) = step.output.get() {
                masker.cover_report(index, &mut output.clone());
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

    fn asks(&mut self, step: u32, schema: Option<&Value>) {
        if let (Some(schema), Some(asked)) = (schema, self.asked.get_mut(step as usize)) {
            *asked = Some(Coercer::new(schema.clone()));
        }
    }

    /// Covers marked places of a value and remembers what stood there.
    fn cover(&mut self, schema: &Coercer, value: &mut Value) {
        let open = value.clone();
        schema.mask(value);
        self.secrets.learn(&open, value);
    }

    fn cover_arguments(&mut self, step: u32, arguments: &mut Value) {
        if let Some(tool) = self.plan.tool(step as usize) {
            let schema = tool.input.clone();
            self.cover(&schema, arguments);
        }
    }

    fn cover_result(&mut self, step: u32, result: &mut Value) {
        let schema = self.outputs.get(step as usize).cloned().flatten();
        if let Some(schema) = schema
            && let Some(structured) = result.get_mut("structuredContent")
        {
            self.cover(&schema, structured);
        }
    }

    fn cover_answer(&mut self, step: u32, content: &mut Value) {
        if let Some(schema) = self.asked.get(step as usize).cloned().flatten() {
            self.cover(&schema, content);
        }
    }

    /// Covers the answer in the output of a step that asks.
    fn cover_report(&mut self, step: u32, output: &mut Value) {
        let asking = self.plan.workflow.steps.get(step as usize);
        let content = match asking.map(|step| &step.action) {
            Some(Action::Ask(ask)) if ask.output == Shape::Report => output.get_mut("content"),
            Some(Action::Ask(_)) => Some(output),
            Some(Action::Call(_) | Action::Each(_)) | None => None,
        };
        if let Some(content) = content {
            self.cover_answer(step, content);
        }
    }

    fn learn(&mut self, step: u32, work: &Work) {
        if let Some(arguments) = &work.arguments {
            self.cover_arguments(step, &mut Value::clone(arguments));
        }
        if let Some(result) = &work.result {
            self.cover_result(step, &mut Value::clone(result));
        }
    }

    /// The first pass: places that schemas mark.
    fn cover_places(&mut self, what: &mut What) {
        match what {
            What::RunStarted { input, kept, .. } => {
                let schema = self.inputs.clone();
                self.cover(&schema, Arc::make_mut(input));
                for kept in kept.iter_mut().flat_map(|kept| &mut kept.steps) {
                    self.cover_kept_places(kept);
                }
            }
            What::AttemptStarted {
                call, arguments, ..
            } => self.cover_arguments(call.step, Arc::make_mut(arguments)),
            What::AttemptEnded {
                call,
                outcome: Outcome::Returned(result),
            } => self.cover_result(call.step, Arc::make_mut(result)),
            What::QuestionAsked { step, schema, .. } => self.asks(*step, schema.as_deref()),
            What::QuestionAnswered { step, answer, .. } => {
                if let Some(content) = &mut answer.content {
                    self.cover_answer(*step, content);
                }
            }
            _ => {}
        }
    }

    fn cover_kept_places(&mut self, kept: &mut KeptStep) {
        if let Some(result) = &mut kept.result {
            self.cover_result(kept.step, Arc::make_mut(result));
        }
        if let Output::Value(output) = &mut kept.output {
            self.cover_report(kept.step, Arc::make_mut(output));
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
