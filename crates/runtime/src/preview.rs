//! What a call would do, without doing it: the plan, and what the engine decides before anything answers.

use crate::publish::{PublishedWorkflow, Target};
use crate::runtime::Runtime;
use crate::sensitive::Masker;
use crate::{arrive, calls};
use onecall_engine::decide::Input;
use onecall_engine::driver::begin;
use onecall_engine::evaluate::Evaluator;
use onecall_engine::event::{Event, What};
use onecall_engine::identity::RunId;
use onecall_engine::state::State;
use onecall_workflow::plan::Plan;
use serde_json::Value;
use std::sync::Arc;

#[derive(Debug)]
pub struct Preview {
    pub plan: Arc<Plan>,
    /// The hints under which the workflow is published.
    pub annotations: Value,
    /// What would be decided at the start: calls with their arguments, questions, steps that end at once. For looking
    /// at: sensitive values are covered.
    pub decided: Vec<Event>,
}

#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    #[error("no workflow is named `{0}`")]
    Unknown(String),
    #[error("`{0}` is a tool of a backend; only workflows have steps to show")]
    NotAWorkflow(String),
    #[error("`{name}` is withheld: {reason}")]
    Withheld { name: String, reason: String },
    #[error("invalid parameters: {0}")]
    Input(String),
    #[error("{0}")]
    Unreachable(String),
}

impl Runtime {
    /// Decides the start of a run and throws it away.
    pub async fn preview(&self, name: &str, arguments: Value) -> Result<Preview, PreviewError> {
        let published = self.settled_for(name).await;
        let Some(tool) = published.find(name) else {
            let name = name.to_owned();
            return Err(match published.withheld_reason(&name) {
                Some(reason) => PreviewError::Withheld {
                    reason: reason.to_owned(),
                    name,
                },
                None => PreviewError::Unknown(name),
            });
        };
        let Target::Workflow(workflow) = &tool.target else {
            return Err(PreviewError::NotAWorkflow(name.to_owned()));
        };
        let annotations = tool.definition.to_value()["annotations"].clone();
        self.preview_start(workflow, annotations, arguments).await
    }

    async fn preview_start(
        &self,
        workflow: &PublishedWorkflow,
        annotations: Value,
        arguments: Value,
    ) -> Result<Preview, PreviewError> {
        let input = calls::accepted(&workflow.parameters, arguments)
            .await
            .map_err(|faults| PreviewError::Input(calls::list(&faults)))?;
        let Some(bound) = &workflow.plan else {
            return Err(PreviewError::Unreachable(arrive::unreachable_text(self)));
        };
        let plan = Arc::clone(&bound.plan);
        let mut state = State::new(RunId::from_bits(rand::random()), Arc::clone(&plan));
        let start = Input::Start {
            input: Arc::new(input),
            seed: rand::random(),
        };
        let evaluator: Arc<dyn Evaluator> = Arc::new(self.evaluator());
        let mut decided = begin(&mut state, self.now(), start, &evaluator).await;
        decided.retain(|event| !matches!(event.what, What::RunStarted { .. }));
        if let Some(mut masker) = Masker::of_state(&state) {
            for event in &mut decided {
                masker.cover_event(event);
            }
        }
        Ok(Preview {
            plan,
            annotations,
            decided,
        })
    }
}
