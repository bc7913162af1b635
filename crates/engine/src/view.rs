//! What expressions see of a run's state: the engine's side of `workflow::scope::Scope`.

use crate::identity::Timestamp;
use crate::state::State;
use onecall_workflow::limits::Bounds;
use onecall_workflow::scope::{ItemView, RunView, Scope, StepView};
use onecall_workflow::step::Action;
use serde_json::Value;

/// A state as an expression of some step, or of one item of a loop, sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub state: &'a State,
    pub now: Timestamp,
    /// The loop step and the item, inside the body of a loop.
    pub item: Option<(u32, u32)>,
    /// The status of the run, as expressions see it.
    pub run_status: &'static str,
    pub bounds: Bounds,
}

/// The status of a run whose steps have not all ended.
pub const RUNNING: &str = "running";

impl Scope for View<'_> {
    fn input(&self) -> &Value {
        &self.state.input
    }

    fn step(&self, name: &str) -> Option<StepView<'_>> {
        let step = self.state.step(self.state.step_index(name)?);
        Some(StepView {
            status: step.status.0.as_str(),
            output: step.output.get(),
            result: step.work.result.as_deref(),
            error: step
                .failure
                .as_ref()
                .map(|failure| failure.message.as_str()),
            failure: step.failure_json.as_ref(),
        })
    }

    fn step_names(&self) -> Vec<&str> {
        self.state
            .plan
            .workflow
            .step_names()
            .map(onecall_workflow::name::StepName::as_str)
            .collect()
    }

    fn run(&self) -> RunView<'_> {
        let completed =
            |step: &&crate::state::StepState| step.status.0 == crate::event::Status::Completed;
        let step_count = self.state.steps.iter().filter(completed).count();
        RunView {
            id: self.state.run.as_str(),
            name: self.state.plan.workflow.name.as_str(),
            status: self.run_status,
            started: &self.state.started_text,
            duration_ms: u64::try_from(self.now.since(self.state.started).as_millis())
                .unwrap_or(u64::MAX),
            step_count: step_count as u64,
        }
    }

    fn item(&self) -> Option<ItemView<'_>> {
        let (step, item) = self.item?;
        let Action::Each(each) = &self.state.plan.workflow.steps.get(step as usize)?.action else {
            return None;
        };
        let value = self
            .state
            .step(step)
            .each
            .as_ref()?
            .items
            .get(item as usize)?;
        Some(ItemView {
            name: &each.item_name,
            value,
            index: u64::from(item),
        })
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }
}
