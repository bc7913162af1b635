//! What expressions see of a run's state: the engine's side of `workflow::scope::Scope`.

use crate::event::Status;
use crate::identity::Timestamp;
use crate::state::{State, StepState};
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
    /// The step whose expression is evaluated: what it needs may be given a default.
    pub reader: Option<u32>,
}

impl View<'_> {
    /// What the reading step sees in place of an optional need that was skipped or failed.
    fn default_of_need(&self, name: &str, step: &StepState) -> Option<&Value> {
        let is_absent = matches!(
            step.status.0,
            Status::Skipped | Status::Failed | Status::Cancelled
        );
        if !is_absent || step.defaulted {
            return None;
        }
        let reader = self.state.plan.step(self.reader? as usize);
        let need = reader.needs.iter().find(|need| need.step == name)?;
        need.default.as_ref()
    }
}

/// The status of a run whose steps have not all ended.
pub const RUNNING: &str = "running";

impl Scope for View<'_> {
    fn input(&self) -> &Value {
        &self.state.input
    }

    fn step(&self, name: &str) -> Option<StepView<'_>> {
        let step = self.state.step(self.state.step_index(name)?);
        let default = self.default_of_need(name, step);
        let result = step.work.result.as_deref();
        Some(StepView {
            status: step.status.0.as_str(),
            output: default.or_else(|| step.output.get()),
            result: result.filter(|_| default.is_none()),
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
        let completed = |step: &&StepState| step.status.0 == Status::Completed;
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
