//! Derived tools: a workflow that passes its inputs on to one tool, some of them fixed or hidden. What it takes is
//! known once the tool is.

use crate::catalog::{Catalog, Resolution};
use crate::expression::{Expression, Path, Program, Root, Segment, ValueTemplate};
use crate::step::Action;
use crate::workflow::Workflow;
use onecall_source::Place;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The inputs are those of the tool of the first step, less what that step fixes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derives {
    /// Arguments that are neither asked for nor sent.
    pub hidden: Vec<String>,
    /// Where each of them was written.
    #[serde(skip)]
    pub hidden_places: BTreeMap<String, Place>,
}

/// The workflow with its inputs and arguments written out, if it is derived and its tool is known.
pub fn resolve<'a>(workflow: &'a Workflow, catalog: &Catalog) -> Cow<'a, Workflow> {
    let schema = workflow.derives.as_ref().and_then(|derives| {
        let call = workflow.steps.first()?.written_call()?;
        let Resolution::Found(tool) = catalog.resolve(call.tool.as_str()) else {
            return None;
        };
        Some((derives, tool.input_schema()?.clone()))
    });
    match schema {
        None => Cow::Borrowed(workflow),
        Some((derives, schema)) => Cow::Owned(written_out(workflow.clone(), derives, schema)),
    }
}

fn written_out(mut workflow: Workflow, derives: &Derives, mut schema: Value) -> Workflow {
    let Some(Action::Call(call)) = workflow.steps.first_mut().map(|step| &mut step.action) else {
        return workflow;
    };
    let ValueTemplate::Object(arguments) = &mut call.arguments else {
        return workflow;
    };
    let bound = arguments.iter().map(|(name, _)| name.clone());
    let taken: BTreeSet<String> = bound.chain(derives.hidden.iter().cloned()).collect();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !taken.contains(name));
        arguments.extend(passed_on(properties));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name.as_str().is_none_or(|name| !taken.contains(name)));
    }
    workflow.inputs = schema;
    workflow
}

/// Each input as the argument of the same name.
pub fn passed_on(properties: &Map<String, Value>) -> Vec<(String, ValueTemplate)> {
    let arguments = properties.keys().map(|name| {
        let path = Path::new(Root::Input, vec![Segment::Key(name.clone())]);
        let expression = Expression::new(Program::Path(path), None);
        (name.clone(), ValueTemplate::Expression(expression))
    });
    arguments.collect()
}
