//! Plans made by hand, for tests that need a few plain steps.

use onecall_workflow::coerce::Coercer;
use onecall_workflow::expression::{Expression, ValueTemplate, nowhere};
use onecall_workflow::name::{BackendName, StepName, ToolName, WorkflowName};
use onecall_workflow::plan::{BoundTool, Plan, Repeatable};
use onecall_workflow::policy::{OnError, Refusal, Run, SkippedNeed};
use onecall_workflow::step::{Action, Ask, Call, Need, NeedOrigin, Reading, Shape, Step};
use onecall_workflow::workflow::{Annotations, Output, Workflow};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn call(name: &str, needs: &[&str]) -> Step {
    let call = Call {
        tool: ToolName::new("backend.tool"),
        arguments: ValueTemplate::empty_object(),
        reading: Reading::ContentMap,
        idempotent: false,
        transform: None,
        tool_place: nowhere(),
        argument_places: BTreeMap::new(),
    };
    step(name, needs, Action::Call(call))
}

pub(crate) fn question(name: &str, needs: &[&str]) -> Step {
    let ask = Ask {
        message: Expression::text("may it?"),
        schema: None,
        bare: false,
        on_decline: Refusal::Fails,
        on_cancel: Refusal::Fails,
        default_response: None,
        output: Shape::Report,
    };
    step(name, needs, Action::Ask(ask))
}

fn step(name: &str, needs: &[&str], action: Action) -> Step {
    let needs = needs.iter().map(|need| Need {
        step: StepName::new(*need),
        origin: NeedOrigin::Declared,
        optional: false,
        place: nowhere(),
    });
    Step {
        name: StepName::new(name),
        title: None,
        description: None,
        needs: needs.collect(),
        when: None,
        action,
        timeout: None,
        on_error: OnError::ABORT,
        skipped_need: SkippedNeed::Runs,
        default: None,
        mock: None,
        place: nowhere(),
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
    Arc::new(Plan {
        workflow: Workflow {
            name: WorkflowName::new("driven"),
            version: None,
            title: None,
            description: None,
            labels: BTreeMap::new(),
            annotations: Annotations::default(),
            inputs: json!({ "type": "object" }),
            steps,
            output: Output::LastCompleted,
            policy: Run::default(),
            derives: None,
            place: nowhere(),
        },
        tools,
        places: BTreeMap::new(),
        backends: BTreeMap::new(),
    })
}
