//! From a case to a played run: read the workflow, bind it to tools that fit it, play it.

use super::Case;
use super::script::{self, World};
use super::source;
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::failure::{Code, Failure};
use onecall_engine::scripted::{Played, ReplyKind, play};
use onecall_mcp::Tool;
use onecall_source::Diagnostics;
use onecall_workflow::catalog::{Catalog, CatalogTool, Knowledge};
use onecall_workflow::check::check;
use onecall_workflow::name::{BackendName, ToolName};
use onecall_workflow::parameters::Parameters;
use onecall_workflow::plan::bind;
use onecall_workflow::workflow::Workflow;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What became of a case.
#[derive(Debug)]
pub(super) enum Run {
    Played(Box<Played>),
    /// The parameters were not accepted.
    Refused(Failure),
    /// The workflow has faults.
    Unread,
}

/// A case that was executed, with what reading its workflow had to tell.
pub(super) struct Executed {
    pub(super) run: Run,
    pub(super) told: Diagnostics,
    /// Codes that the tools of its script fail with.
    pub(super) scripted: BTreeSet<Code>,
}

pub(super) fn execute(case: &Case) -> Result<Executed, String> {
    let world = script::read(case.block("script").unwrap_or("{}"))?;
    let (workflow, mut told, sources) = source::read(case, world.templates)?;
    if case.block("diagnostics").is_none() {
        source::refuse(&told, &sources)?;
    }
    let Some(mut workflow) = workflow.filter(|_| !told.has_errors()) else {
        let run = Run::Unread;
        let scripted = BTreeSet::new();
        return Ok(Executed {
            run,
            told,
            scripted,
        });
    };
    if world.budget.is_some() {
        workflow.policy.budget.clone_from(&world.budget);
    }
    let mut executed = play_in(&world, &workflow)?;
    told.extend(std::mem::take(&mut executed.told));
    executed.told = told;
    Ok(executed)
}

/// As `execute`, with a workflow that stands elsewhere.
pub(super) fn execute_with(case: &Case, workflow: &Workflow) -> Result<Executed, String> {
    let world = script::read(case.block("script").unwrap_or("{}"))?;
    play_in(&world, workflow)
}

fn play_in(world: &World, workflow: &Workflow) -> Result<Executed, String> {
    let catalog = catalog(workflow, world)?;
    let told = check(workflow, &catalog);
    let run = run(workflow, &catalog, world)?;
    let replies = world.script.tools.values().flatten();
    let scripted = replies.filter_map(|reply| match &reply.kind {
        ReplyKind::Fails(failure) => Some(failure.code),
        ReplyKind::Returns(_)
        | ReplyKind::Lost(_)
        | ReplyKind::Silence
        | ReplyKind::Asks(_)
        | ReplyKind::AsksMeanwhile(_) => None,
    });
    Ok(Executed {
        run,
        told,
        scripted: scripted.collect(),
    })
}

/// Plays a workflow in the world of a script; its parameters must be accepted.
pub(super) fn played(workflow: &Workflow, script: &str) -> Result<Played, String> {
    let world = script::read(script)?;
    match run(workflow, &catalog(workflow, &world)?, &world)? {
        Run::Played(played) => Ok(*played),
        Run::Refused(failure) => Err(failure.message),
        Run::Unread => Err("the workflow has faults".to_owned()),
    }
}

fn run(workflow: &Workflow, catalog: &Catalog, world: &World) -> Result<Run, String> {
    let plan = bind(workflow, catalog).map_err(|unbound| format!("not bound: {unbound:?}"))?;
    let input = match Parameters::new(plan.workflow.inputs.clone()).accept(world.params.clone()) {
        Ok(input) => input,
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let failure = Failure::new(Code::InputInvalid, faults.join("; "));
            return Ok(Run::Refused(failure));
        }
    };
    let played = play(
        &Arc::new(plan),
        input,
        &world.script,
        &PlanEvaluator::default(),
    );
    Ok(Run::Played(Box::new(played)))
}

/// The JSON of a YAML text.
pub(super) fn yaml(name: &str, text: &str) -> Result<Value, String> {
    let (node, _) = source::document(name, text)?;
    Ok(node.map_or(json!({}), |node| node.to_json()))
}

/// Every tool the workflow names exists, as the script's `catalog` describes it.
fn catalog(workflow: &Workflow, world: &World) -> Result<Catalog, String> {
    let mut catalog = Catalog::default();
    for call in workflow.steps.iter().filter_map(|step| step.call()) {
        let name = call.tool.as_str();
        let (backend, original) = name.split_once('.').unwrap_or(("backend", name));
        let stated = world.catalog.get(name).cloned().unwrap_or(Value::Null);
        let mut definition = json!({
            "name": original,
            "inputSchema": stated.get("input").cloned().unwrap_or(json!({ "type": "object" })),
            "annotations": {
                "readOnlyHint": stated.get("readOnly") == Some(&Value::Bool(true)),
                "idempotentHint": stated.get("idempotent") == Some(&Value::Bool(true)),
            },
        });
        if let Some(output) = stated.get("output") {
            definition["outputSchema"] = output.clone();
        }
        catalog.tools.push(CatalogTool {
            name: Some(ToolName::new(name)),
            backend: BackendName::new(backend),
            original: original.to_owned(),
            listed: true,
            tool: Tool::from_value(definition).map_err(|error| error.to_string())?,
        });
        catalog
            .backends
            .insert(BackendName::new(backend), Knowledge::Live);
    }
    Ok(catalog)
}
