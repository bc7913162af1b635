//! A workflow bound to its tools. Nothing after `bind` looks at the live catalog: schemas, hints and
//! coercers travel with the plan, and a run is pinned to the plan's stored form.

use crate::catalog::{Catalog, CatalogTool, Resolution};
use crate::coerce::{Coercer, backtracks, is_marked};
use crate::derive;
use crate::name::{BackendName, StepName, ToolName};
use crate::step::{Action, Step};
use crate::workflow::Workflow;
use onecall_mcp::Hints;
use onecall_source::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub workflow: Workflow,
    /// One entry a step, in the order of `workflow.steps`.
    pub tools: Vec<Option<Arc<BoundTool>>>,
    /// Where each step was written, as `file:line:column`, for failures at run time.
    pub places: BTreeMap<StepName, String>,
    /// How each backend it calls was reached when it was bound; a run goes on only against the same.
    #[serde(default)]
    pub backends: BTreeMap<BackendName, String>,
    /// Whether a schema of it has a pattern that backtracks; found out once.
    #[serde(skip)]
    pub(crate) backtracks: OnceLock<bool>,
}

/// A tool as a step will call it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BoundTool {
    pub backend: BackendName,
    pub original: String,
    pub input: Coercer,
    pub output_schema: Option<Value>,
    pub repeatable: Repeatable,
}

/// Whether a call whose outcome is unknown may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeatable {
    ReadOnly,
    Idempotent,
    No,
}

impl From<Hints> for Repeatable {
    fn from(hints: Hints) -> Self {
        if hints.read_only {
            Self::ReadOnly
        } else if hints.idempotent {
            Self::Idempotent
        } else {
            Self::No
        }
    }
}

/// Why a workflow could not be bound.
#[derive(Clone, Debug)]
pub struct Unbound {
    pub step: StepName,
    pub tool: ToolName,
    pub reason: UnboundReason,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnboundReason {
    NotYetKnown,
    Absent,
}

/// Resolves every tool of the workflow. All that cannot be resolved is returned at once.
pub fn bind(workflow: &Workflow, catalog: &Catalog) -> Result<Plan, Vec<Unbound>> {
    let workflow = &*derive::resolve(workflow, catalog);
    let mut tools = Vec::with_capacity(workflow.steps.len());
    let mut unbound = Vec::new();
    for step in &workflow.steps {
        let Some(call) = step.call() else {
            tools.push(None);
            continue;
        };
        let reason = match catalog.resolve(call.tool.as_str()) {
            Resolution::Found(tool) => {
                tools.push(Some(Arc::new(bind_tool(tool))));
                continue;
            }
            Resolution::NotYetKnown => UnboundReason::NotYetKnown,
            Resolution::Absent => UnboundReason::Absent,
        };
        unbound.push(Unbound {
            step: step.name.clone(),
            tool: call.tool.clone(),
            reason,
            place: call.tool_place.clone(),
        });
    }
    if !unbound.is_empty() {
        return Err(unbound);
    }
    Ok(Plan {
        workflow: workflow.clone(),
        tools,
        places: BTreeMap::new(),
        backends: BTreeMap::new(),
        backtracks: OnceLock::new(),
    })
}

fn bind_tool(tool: &CatalogTool) -> BoundTool {
    BoundTool {
        backend: tool.backend.clone(),
        original: tool.original.clone(),
        input: Coercer::new(tool.input_schema().cloned().unwrap_or(Value::Bool(true))),
        output_schema: tool.output_schema().cloned(),
        repeatable: tool.hints().into(),
    }
}

impl Plan {
    pub fn step(&self, index: usize) -> &Step {
        &self.workflow.steps[index]
    }

    /// Whether a schema of its parameters, tools or questions marks values that must not be shown.
    pub fn is_sensitive(&self) -> bool {
        self.schemas().any(is_marked)
    }

    /// Whether evaluating it may take long for the size of its values, because a pattern of a schema backtracks.
    pub fn backtracks(&self) -> bool {
        let of_output = || {
            self.workflow
                .output
                .schemas()
                .into_iter()
                .map(|(_, schema)| schema)
        };
        *self
            .backtracks
            .get_or_init(|| self.schemas().chain(of_output()).any(backtracks))
    }

    /// The schemas of its parameters, tools and questions.
    fn schemas(&self) -> impl Iterator<Item = &Value> {
        let tools = self.tools.iter().flatten();
        let tools = tools.flat_map(|tool| [Some(tool.input.schema()), tool.output_schema.as_ref()]);
        let asked = self.workflow.steps.iter().filter_map(asked);
        tools.flatten().chain(asked).chain([&self.workflow.inputs])
    }

    pub fn tool(&self, index: usize) -> Option<&Arc<BoundTool>> {
        self.tools.get(index).and_then(Option::as_ref)
    }
}

/// The schema of the question that a step puts.
fn asked(step: &Step) -> Option<&Value> {
    match &step.action {
        Action::Ask(ask) => ask.schema.as_ref(),
        Action::Each(each) => asked(&each.body),
        Action::Call(_) => None,
    }
}
