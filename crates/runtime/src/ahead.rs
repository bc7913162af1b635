//! What a run goes on to do once a question of it is answered: who called it with what, and the steps still to come.
//! For people who decide; nothing is evaluated, and sensitive values are covered.

use crate::limits::STEPS_AHEAD_MAX;
use crate::questions::LookError;
use crate::runtime::Runtime;
use crate::sensitive::{Masker, masked};
use onecall_engine::event::{Status, What};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_workflow::print;
use onecall_workflow::step::Step;
use serde_json::Value;
use std::sync::Arc;

#[derive(Debug)]
pub struct Ahead {
    pub workflow: String,
    pub principal: Option<String>,
    /// When the run was started.
    pub since: Timestamp,
    pub input: Arc<Value>,
    /// Each step in its printed form: tool, arguments, conditions and policies.
    pub steps: Vec<String>,
    /// Steps that are too many to be shown.
    pub more: usize,
}

impl Runtime {
    /// What comes after a step that asks.
    pub async fn ahead(&self, run: &RunId, asking: &str) -> Result<Ahead, LookError> {
        let (stored, state) = self.stored(run).await?;
        let masker = Masker::of_state(&state);
        let steps = state.plan.workflow.steps.iter().zip(&state.steps);
        let to_come: Vec<&Step> = steps
            .filter(|(step, own)| own.status.0 == Status::Pending && step.name.as_str() != asking)
            .map(|(step, _)| step)
            .collect();
        let more = to_come.len().saturating_sub(STEPS_AHEAD_MAX);
        let shown = to_come.into_iter().take(STEPS_AHEAD_MAX).map(print::step);
        let steps = shown.map(|text| match &masker {
            Some(masker) => masker.cover_text(&text),
            None => text,
        });
        let steps = steps.collect();
        let stored = masked(stored)?;
        let input = stored.events.iter().find_map(|event| match &event.what {
            What::RunStarted { input, .. } => Some(Arc::clone(input)),
            _ => None,
        });
        Ok(Ahead {
            workflow: stored.summary.workflow,
            principal: stored.summary.principal,
            since: stored.summary.created,
            input: input.unwrap_or_default(),
            steps,
            more,
        })
    }
}
