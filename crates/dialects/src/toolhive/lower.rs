//! What a composite tool means: its written form becomes the representation, every default spelled out.
//! Checks that hold for every dialect are made by `Builder::finish`.

mod name;
mod output;
mod policy;
mod question;
mod step;

pub use name::faults as name_faults;

use super::expressions::Reader;
use super::syntax::CompositeTool;
use super::{Home, Options};
use crate::limits::{TOOLHIVE_PARALLEL_MAX, TOOLHIVE_RUN_TIMEOUT, TOOLHIVE_STEPS_MAX};
use crate::name::UNNAMED;
use crate::schema_places;
use onecall_source::{Diagnostic, Diagnostics, Node, codes};
use onecall_workflow::builder::{Builder, Rules, Words};
use onecall_workflow::name::WorkflowName;
use onecall_workflow::policy::{AllFailed, Run, RunTimeout, WhileAsking};
use onecall_workflow::workflow::Output;
use serde_json::{Value, json};

pub(super) fn composite_tool(
    tool: &CompositeTool<'_>,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Builder {
    if let Some(name) = tool.name {
        diagnostics.extend(name_faults(name, options.home));
    }
    if let Some(description) = tool.description
        && description.trim().is_empty()
    {
        diagnostics.push(empty_description(tool, description.place()));
    }
    if let Some(node) = tool.steps_place
        && tool.steps.is_empty()
    {
        diagnostics.push(no_steps(node));
    }
    let place = tool.name.map_or(&tool.node.place, |name| name.place());
    let name = tool.name.map_or(UNNAMED, |name| name.as_str());
    let mut builder = Builder::new(WorkflowName::from(name), place.clone());
    let continues = tool
        .failure_mode
        .as_ref()
        .is_some_and(|mode| mode.value == "continue");
    let context = step::Context {
        reader: Reader { go: options.go },
        continues,
    };
    let mut rules = Rules {
        steps_max: options.steps_max.unwrap_or(TOOLHIVE_STEPS_MAX),
        words: Words::TOOLHIVE,
        inputs_place: tool.parameters.map(|node| node.place.clone()),
        ..Rules::default()
    };
    if let Some(node) = tool.parameters {
        schema_places::defaults(node, "", &mut rules.default_places);
    }
    for step in &tool.steps {
        let Some(lowered) = context.step(step, diagnostics) else {
            continue;
        };
        if continues && step.on_error.is_none() {
            rules.continued_by_mode.insert(lowered.name.clone());
        }
        if step.timeout.is_none() {
            rules.timeouts_by_default.insert(lowered.name.clone());
        }
        builder.steps.push(lowered);
    }
    builder.rules = rules;
    builder.version.clone_from(&options.version);
    builder.labels.clone_from(&options.labels);
    builder.description = tool.description.map(ToString::to_string);
    builder.annotations = tool.annotations.clone();
    builder.inputs = parameters(tool.parameters, diagnostics);
    builder.policy = run_policy(tool, continues);
    builder.output = tool.output.as_ref().map_or(Output::LastCompleted, |block| {
        output::block(block, context.reader, diagnostics)
    });
    builder
}

fn run_policy(tool: &CompositeTool<'_>, continues: bool) -> Run {
    let timeout = match &tool.timeout {
        Some(stated) => RunTimeout {
            limit: stated.value,
            while_asking: WhileAsking::Ticks,
        },
        None => RunTimeout {
            limit: TOOLHIVE_RUN_TIMEOUT,
            while_asking: WhileAsking::Stands,
        },
    };
    Run {
        timeout: Some(timeout),
        steps_parallel_max: Some(TOOLHIVE_PARALLEL_MAX),
        all_failed: if continues {
            AllFailed::Fails
        } else {
            AllFailed::Completes
        },
        ..Run::default()
    }
}

/// The schema of the parameters; without one, an object of anything.
fn parameters(node: Option<&Node>, diagnostics: &mut Diagnostics) -> Value {
    let empty = || json!({ "type": "object" });
    let Some(node) = node else { return empty() };
    if node.expect_mapping("parameters", diagnostics).is_none() {
        return empty();
    }
    match node.get("type") {
        None => diagnostics.push(parameters_without_type(node)),
        Some(kind) => {
            if let Some(text) = kind.expect_string("type", diagnostics)
                && *text != *"object"
            {
                diagnostics.push(parameters_no_object(kind, text));
            }
        }
    }
    node.to_json()
}

fn empty_description(tool: &CompositeTool<'_>, place: &onecall_source::Place) -> Diagnostic {
    let name = tool.name.map_or("", |name| name.as_str());
    Diagnostic::error(
        codes::MISSING_VALUE,
        format!("the description of `{name}` is empty"),
    )
    .label(place, "clients choose a tool by its description")
    .help("say what the tool does")
}

fn no_steps(node: &Node) -> Diagnostic {
    Diagnostic::error(codes::NO_STEPS, "a composite tool needs at least one step")
        .label(&node.place, "no steps")
        .help("add a step with `id` and `tool`")
}

fn parameters_without_type(node: &Node) -> Diagnostic {
    let place = node
        .as_mapping()
        .and_then(<[_]>::first)
        .map_or(&node.place, |entry| entry.key.place());
    Diagnostic::error(
        codes::INVALID_SCHEMA,
        "parameters must have 'type' field (should be 'object' for JSON Schema)",
    )
    .label(place, "`type` is missing here")
    .help("add `type: object`, with the parameters under `properties`")
}

fn parameters_no_object(node: &Node, text: &str) -> Diagnostic {
    Diagnostic::error(
        codes::INVALID_SCHEMA,
        format!("parameters 'type' must be 'object' (got '{text}')"),
    )
    .label(&node.place, "must be `object`")
    .help("write `type: object`, with the parameters under `properties`")
}

/// Whether names are held to the guide's pattern.
pub(super) fn is_strict(home: Home) -> bool {
    home == Home::Resource
}
