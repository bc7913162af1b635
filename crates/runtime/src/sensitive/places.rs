//! The first pass: places that schemas mark. Every event with values stands here by name, so that a new one cannot be
//! forgotten.

use super::Masker;
use onecall_engine::event::{KeptStep, Outcome, Output, Resolution, What};
use onecall_workflow::coerce::Coercer;
use onecall_workflow::step::{Action, Call, Shape};
use serde_json::Value;
use std::sync::Arc;

impl Masker {
    pub(super) fn cover_places(&mut self, what: &mut What) {
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
            What::AttemptEnded { call, outcome } => match outcome {
                Outcome::Returned(result)
                | Outcome::Failed {
                    result: Some(result),
                    ..
                } => self.cover_result(call.step, Arc::make_mut(result)),
                Outcome::Failed { result: None, .. } | Outcome::Asks(_) | Outcome::Unknown(_) => {}
            },
            What::Mocked { step, arguments } => {
                if let Some(arguments) = arguments {
                    self.cover_arguments(*step, Arc::make_mut(arguments));
                }
            }
            What::ItemEnded { step, output, .. } => {
                if let Output::Value(output) = output {
                    self.cover_item_places(*step, Arc::make_mut(output));
                }
            }
            What::StepEnded { step, output, .. } => {
                if let Output::Value(output) = output {
                    self.cover_output_places(*step, Arc::make_mut(output));
                }
            }
            What::QuestionAsked { step, schema, .. } => self.asks(*step, schema.as_deref()),
            What::QuestionAnswered { step, answer, .. } => {
                if let Some(content) = &mut answer.content {
                    self.cover_answer(*step, content);
                }
            }
            What::HeldResolved { slot, resolution } => match resolution {
                Resolution::Result(result) => self.cover_given(slot.step, result),
                Resolution::Retry | Resolution::Fail => {}
            },
            // These hold no value whose schema is known: what they repeat of others is found by the second pass.
            What::CallAsked { .. }
            | What::Used { .. }
            | What::RetryAt { .. }
            | What::ItemsAre { .. }
            | What::AnswerRefused { .. }
            | What::ClockStopped
            | What::ClockStarted { .. }
            | What::DefaultUsed { .. }
            | What::Held { .. }
            | What::RemainingSkipped { .. }
            | What::CancelAsked { .. }
            | What::RunEnded { .. }
            | What::Note { .. } => {}
        }
    }

    pub(super) fn asks(&mut self, step: u32, schema: Option<&Value>) {
        if let (Some(schema), Some(asked)) = (schema, self.asked.get_mut(step as usize)) {
            *asked = Some(Coercer::new(schema.clone()));
        }
    }

    /// Covers marked places of a value and remembers what stood there.
    pub(super) fn cover(&mut self, schema: &Coercer, value: &mut Value) {
        let open = value.clone();
        schema.mask(value);
        self.secrets.learn(&open, value);
    }

    pub(super) fn cover_arguments(&mut self, step: u32, arguments: &mut Value) {
        if let Some(tool) = self.plan.tool(step as usize) {
            let schema = tool.input.clone();
            self.cover(&schema, arguments);
        }
    }

    pub(super) fn cover_result(&mut self, step: u32, result: &mut Value) {
        if let Some(schema) = self.output_schema(step)
            && let Some(structured) = result.get_mut("structuredContent")
        {
            self.cover(&schema, structured);
        }
    }

    /// What a person gave as the result of a call: a tool result, or its structured content alone.
    fn cover_given(&mut self, step: u32, given: &mut Value) {
        if given.get("content").is_some_and(Value::is_array) {
            self.cover_result(step, given);
        } else if let Some(schema) = self.output_schema(step) {
            self.cover(&schema, given);
        }
    }

    /// Covers the output of a step: an answer, what a call gave, or a list of these.
    pub(super) fn cover_output_places(&mut self, step: u32, output: &mut Value) {
        let plan = Arc::clone(&self.plan);
        let own = plan.workflow.steps.get(step as usize);
        match own.map(|own| &own.action) {
            Some(Action::Ask(ask)) => {
                let content = match ask.output {
                    Shape::Report => output.get_mut("content"),
                    Shape::Plain => Some(output),
                };
                if let Some(content) = content {
                    self.cover_answer(step, content);
                }
            }
            Some(Action::Call(call)) => self.cover_call_output(step, call, output),
            Some(Action::Each(each)) => {
                let items = match each.output {
                    Shape::Report => output.get_mut("iterations"),
                    Shape::Plain => Some(output),
                };
                let items = items.and_then(Value::as_array_mut);
                for item in items.into_iter().flatten() {
                    let item = match each.output {
                        Shape::Report => item.get_mut("output"),
                        Shape::Plain => Some(item),
                    };
                    if let Some(item) = item {
                        self.cover_item_places(step, item);
                    }
                }
            }
            None => {}
        }
    }

    /// Covers the output of one item of a loop.
    pub(super) fn cover_item_places(&mut self, step: u32, output: &mut Value) {
        let plan = Arc::clone(&self.plan);
        let own = plan.workflow.steps.get(step as usize);
        if let Some(call) = own.and_then(|own| own.written_call()) {
            self.cover_call_output(step, call, output);
        }
    }

    /// Most outputs are the structured content; where there was none, the whole result may be. A reshaped one fits
    /// the tool's schema by accident only, and covering it would hide what is not secret.
    fn cover_call_output(&mut self, step: u32, call: &Call, output: &mut Value) {
        if call.transform.is_some() {
            return;
        }
        self.cover_result(step, output);
        if let Some(schema) = self.output_schema(step) {
            self.cover(&schema, output);
        }
    }

    fn cover_answer(&mut self, step: u32, content: &mut Value) {
        if let Some(schema) = self.asked.get(step as usize).cloned().flatten() {
            self.cover(&schema, content);
        }
    }

    fn cover_kept_places(&mut self, kept: &mut KeptStep) {
        if let Some(result) = &mut kept.result {
            self.cover_result(kept.step, Arc::make_mut(result));
        }
        if let Output::Value(output) = &mut kept.output {
            self.cover_output_places(kept.step, Arc::make_mut(output));
        }
    }

    fn output_schema(&self, step: u32) -> Option<Coercer> {
        self.outputs.get(step as usize).cloned().flatten()
    }
}
