//! Derived tools: a workflow file without steps, which offers a tool with some of its arguments fixed or hidden.
//! What the tool takes is known with the catalog only, and held against the file there.

use super::expressions::Reader;
use super::step::tool_fault;
use crate::arguments;
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, Place, Text, codes};
use onecall_workflow::builder::Builder;
use onecall_workflow::derive::{self, Derives};
use onecall_workflow::expression::ValueTemplate;
use onecall_workflow::name::{StepName, ToolName};
use onecall_workflow::policy::{OnError, SkippedNeed};
use onecall_workflow::step::{Action, Call, Reading, Step, Unfound};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The one step: bound arguments, and inputs under their own names.
pub(super) fn step(
    builder: &mut Builder,
    fields: &mut Fields<'_>,
    reader: &Reader,
    diagnostics: &mut Diagnostics,
) -> Option<Step> {
    let tool = fields.required_string("tool", diagnostics)?;
    let fault = tool_fault(tool, "the derived tool");
    let name = fault.as_ref().map_or(tool.as_str(), |_| "");
    diagnostics.extend(fault);
    let bound = fields.optional("bind");
    let bound = bound.filter(|node| node.expect_mapping("bind", diagnostics).is_some());
    let arguments = bound.map_or_else(ValueTemplate::empty_object, |node| {
        reader.values(node, "", "the derived tool", diagnostics)
    });
    let hidden = fields.string_sequence("hide", diagnostics);
    let mut argument_places = stated_places(fields.node());
    argument_places.extend(bound.map(arguments::places).unwrap_or_default());
    // Inputs that are stated are passed on unless they are bound; otherwise they are those of the tool.
    let arguments = match (arguments, builder.inputs.get("properties")) {
        (ValueTemplate::Object(mut entries), Some(Value::Object(stated))) => {
            diagnostics.extend(
                hidden
                    .iter()
                    .map(|name| hidden_beside_inputs(name, stated.contains_key(name.as_str()))),
            );
            let mut passed = derive::passed_on(stated);
            passed.retain(|(name, _)| entries.iter().all(|(bound, _)| bound != name));
            entries.extend(passed);
            ValueTemplate::Object(entries)
        }
        (arguments, _) => {
            builder.derives = Some(derives(&hidden));
            builder.inputs = json!({ "type": "object", "additionalProperties": true });
            arguments
        }
    };
    Some(Step {
        name: StepName::from("call"),
        title: None,
        description: None,
        needs: Vec::new(),
        when: None,
        action: Action::Call(Call {
            tool: ToolName::from(name),
            arguments,
            reading: Reading::Payload,
            missing: Unfound::LeftOut,
            idempotent: false,
            transform: None,
            budget: None,
            tool_place: tool.place().clone(),
            argument_places,
        }),
        timeout: None,
        on_error: OnError::ABORT,
        skipped_need: SkippedNeed::Skips,
        default: None,
        mock: None,
        place: tool.place().clone(),
    })
}

fn derives(hidden: &[&Text]) -> Derives {
    let places = hidden
        .iter()
        .map(|name| (name.to_string(), name.place().clone()));
    Derives {
        hidden: hidden.iter().map(ToString::to_string).collect(),
        hidden_places: places.collect(),
    }
}

/// Where each input was stated, by its name.
fn stated_places(file: &Node) -> BTreeMap<String, Place> {
    let whole = file
        .get("parameters")
        .and_then(|whole| whole.get("properties"));
    let stated = whole.or(file.get("inputs")).and_then(Node::as_mapping);
    let stated = stated.unwrap_or_default().iter();
    let places = stated.map(|entry| (entry.key.to_string(), entry.key.place().clone()));
    places.collect()
}

fn hidden_beside_inputs(name: &Text, is_stated: bool) -> Diagnostic {
    let help = "with `inputs`, only what is stated there is offered";
    let diagnostic = if is_stated {
        let message = format!("`{name}` is both stated as an input and hidden");
        Diagnostic::error(codes::KEYS_CONFLICT, message)
    } else {
        let message =
            format!("`{name}` is hidden, but only the inputs that are stated are offered");
        Diagnostic::warning(codes::KEY_NOT_APPLICABLE, message)
    };
    diagnostic.label(name.place(), "hidden here").help(help)
}
