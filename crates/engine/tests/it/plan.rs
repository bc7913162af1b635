//! Plans made by hand, for tests that need a few plain steps.

use onecall_workflow::coerce::Coercer;
use onecall_workflow::name::BackendName;
use onecall_workflow::plan::{BoundTool, Plan, Repeatable};
use onecall_workflow::step::{Action, Ask, Call, Need, Step};
use onecall_workflow::workflow::Workflow;
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn call(name: &str, needs: &[&str]) -> Step {
    step(name, needs, Action::Call(Call::plain("backend.tool")))
}

pub(crate) fn question(name: &str, needs: &[&str]) -> Step {
    step(name, needs, Action::Ask(Ask::plain("may it?")))
}

fn step(name: &str, needs: &[&str], action: Action) -> Step {
    Step {
        needs: needs.iter().map(|need| Need::plain(*need)).collect(),
        ..Step::plain(name, action)
    }
}

pub(crate) fn plan(steps: Vec<Step>) -> Arc<Plan> {
    let tool = Arc::new(BoundTool {
        backend: BackendName::new("backend"),
        original: "tool".to_owned(),
        input: Coercer::new(Value::Bool(true)),
        output_schema: None,
        repeatable: Repeatable::No,
    });
    let tools = steps
        .iter()
        .map(|step| step.call().map(|_| Arc::clone(&tool)))
        .collect();
    Arc::new(Plan::plain(Workflow::plain("driven", steps), tools))
}
