//! Parts of a workflow that say no more than they must: for what is made without a file, and for tests. Nothing is
//! checked here; that is up to the builder.

use crate::expression::{Expression, ValueTemplate, nowhere};
use crate::name::{StepName, ToolName, WorkflowName};
use crate::plan::{BoundTool, Plan};
use crate::policy::{OnError, Refusal, Run, SkippedNeed};
use crate::step::{Action, Ask, Call, Need, NeedOrigin, Reading, Shape, Step, Unfound};
use crate::workflow::{Annotations, Output, Workflow};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

impl Call {
    /// A call without arguments.
    pub fn plain(tool: impl Into<ToolName>) -> Self {
        Self {
            tool: tool.into(),
            arguments: ValueTemplate::empty_object(),
            reading: Reading::ContentMap,
            missing: Unfound::LeftOut,
            idempotent: false,
            transform: None,
            budget: None,
            tool_place: nowhere(),
            argument_places: BTreeMap::new(),
        }
    }
}

impl Ask {
    /// A question that only wants to be confirmed.
    pub fn plain(message: &str) -> Self {
        Self {
            message: Expression::text(message),
            schema: None,
            bare: false,
            on_decline: Refusal::Fails,
            on_cancel: Refusal::Fails,
            default_response: None,
            output: Shape::Report,
        }
    }
}

impl Need {
    /// A need that was declared.
    pub fn plain(step: impl Into<StepName>) -> Self {
        Self {
            step: step.into(),
            origin: NeedOrigin::Declared,
            optional: false,
            default: None,
            place: nowhere(),
        }
    }
}

impl Step {
    /// A step that needs nothing and ends the run when it fails.
    pub fn plain(name: impl Into<StepName>, action: Action) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            needs: Vec::new(),
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
}

impl Workflow {
    /// A workflow that takes anything and gives what its last step gave.
    pub fn plain(name: impl Into<WorkflowName>, steps: Vec<Step>) -> Self {
        Self {
            name: name.into(),
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
        }
    }
}

impl Plan {
    /// A plan whose tools were found, by step.
    pub fn plain(workflow: Workflow, tools: Vec<Option<Arc<BoundTool>>>) -> Self {
        Self {
            workflow,
            tools,
            places: BTreeMap::new(),
            backends: BTreeMap::new(),
            backtracks: OnceLock::new(),
        }
    }
}
