//! Steps of workflow files: a call, a question, or a loop over a call.

use super::expressions::{self, Reader};
use super::{duration, each, inputs, policy};
use crate::arguments;
use crate::mock;
use crate::name::{self, StepNamed};
use crate::words::{MISSING, READING, TRUTH, stated};
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, NodeKind, Text, codes};
use onecall_workflow::expression::{Program, ValueTemplate, View};
use onecall_workflow::name::{StepName, ToolName};
use onecall_workflow::policy::{OnError, SkippedNeed};
use onecall_workflow::step::{
    Action, Ask, Call, Condition, Need, NeedOrigin, Reading, Shape, Step, Truth,
};
use serde_json::{Value, json};

const STEP_NAME: StepNamed = StepNamed {
    name: "name",
    of: "a step",
    help: "use letters, digits, `_` and `-`, so that expressions can read the step",
    refuses: |name| name.ends_with('?').then_some("ends with `?`"),
};

/// One entry of `steps`.
pub(super) fn read(
    name: &Text,
    node: &Node,
    reader: &Reader,
    diagnostics: &mut Diagnostics,
) -> Step {
    diagnostics.extend(name::step_fault(name, STEP_NAME));
    let what = format!("step `{name}`");
    let own_name = StepName::from(name.as_str());
    let Some(mut fields) = Fields::read(node, "a step", diagnostics) else {
        return Step::unreadable(own_name, name.place().clone());
    };
    let needs = needs(&mut fields, diagnostics);
    let common = common(&mut fields, reader, &what, diagnostics);
    let action = if fields.has("each") {
        let body = each::Body::of(&own_name, common.skipped_need, &mut fields, diagnostics);
        each::read(body, &mut fields, reader, &what, diagnostics).map(Action::Each)
    } else {
        action(&mut fields, reader, &what, diagnostics)
    };
    let on_error = if fields.has("each") {
        OnError {
            retry: None,
            then: policy::then(&mut fields, diagnostics),
        }
    } else {
        policy::on_error(&mut fields, diagnostics)
    };
    let mock = fields.entry("mock").map(|entry| {
        mock::check(&entry.value, name, "${{", diagnostics);
        entry.value.to_json()
    });
    // What is read there is part of the graph, whether the rest can be understood or not.
    let action = action.unwrap_or_else(|| {
        let with = fields.optional("with");
        let with = with.map(|node| reader.values(node, "", &what, &mut Diagnostics::new()));
        let arguments = with.unwrap_or_else(ValueTemplate::empty_object);
        Action::Call(Call::unreadable(arguments))
    });
    fields.finish(diagnostics);
    Step {
        name: own_name,
        needs,
        action,
        on_error,
        mock,
        place: name.place().clone(),
        title: common.title,
        description: common.description,
        when: common.when,
        timeout: common.timeout,
        skipped_need: common.skipped_need,
        default: common.default,
    }
}

/// What every kind of step can say.
pub(super) struct Common {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) when: Option<Condition>,
    pub(super) timeout: Option<std::time::Duration>,
    pub(super) skipped_need: SkippedNeed,
    pub(super) default: Option<Value>,
}

pub(super) fn common(
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Common {
    let title = fields.optional_string("title", diagnostics);
    let description = fields.optional_string("description", diagnostics);
    Common {
        title: title.map(ToString::to_string),
        description: description.map(ToString::to_string),
        when: condition(fields, reader, what, diagnostics),
        timeout: duration(fields, "timeout", diagnostics),
        skipped_need: policy::after_skip(fields, diagnostics),
        default: fields.entry("default").map(|entry| entry.value.to_json()),
    }
}

fn condition(
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Condition> {
    let truth = stated(fields, "truth", &TRUTH, diagnostics).unwrap_or(Truth::Jq);
    let node = fields.optional("if")?;
    let what = format!("the condition of {what}");
    // As text it would count as true, whatever it says.
    if let NodeKind::Bool(own) = node.kind {
        let text = Text::new(own.to_string(), node.place.clone());
        diagnostics.push(constant_condition(node, &format!("always `{own}`"), &what));
        let test = expressions::jq(&text, View::Run, &what, diagnostics);
        return Some(Condition { test, truth });
    }
    let before = diagnostics.error_count();
    let test = reader.expression(node, &what, diagnostics)?;
    let is_read = diagnostics.error_count() == before;
    if let (Program::Text(text), true) = (&test.program, is_read) {
        let shown: String = text.chars().take(60).collect();
        let is = match truth {
            Truth::Jq => format!("the text `{shown}`, which always counts as true"),
            Truth::Words => format!("always `{shown}`"),
        };
        diagnostics.push(constant_condition(node, &is, &what));
    }
    Some(Condition { test, truth })
}

/// Names, each followed by a `?` if the step can do without it, or `{step, default}` with what it reads then.
fn needs(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for node in fields.sequence("needs", diagnostics) {
        let Some((name, default)) = need(node, diagnostics) else {
            continue;
        };
        let (step, optional) = match name.strip_suffix('?') {
            Some(step) => (step, true),
            None => (name.as_str(), default.is_some()),
        };
        if !needs.iter().any(|need| need.step == step) {
            needs.push(Need {
                step: StepName::from(step),
                origin: NeedOrigin::Declared,
                optional,
                default,
                place: name.place().clone(),
            });
        }
    }
    needs
}

fn need<'n>(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<(&'n Text, Option<Value>)> {
    let NodeKind::Mapping(_) = &node.kind else {
        return Some((node.expect_string("needs", diagnostics)?, None));
    };
    let mut fields = Fields::read(node, "a need", diagnostics)?;
    let step = fields.required_string("step", diagnostics);
    let default = fields.required("default", diagnostics);
    fields.finish(diagnostics);
    Some((step?, default.map(Node::to_json)))
}

/// A call or a question.
fn action(
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Action> {
    match (fields.has("tool"), fields.has("ask")) {
        (true, false) => call(fields, reader, what, diagnostics).map(Action::Call),
        (false, true) => ask(fields, reader, what, diagnostics).map(Action::Ask),
        (true, true) => {
            let (tool, asked) = (fields.optional("tool")?, fields.optional("ask")?);
            diagnostics.push(
                Diagnostic::error(codes::KEYS_CONFLICT, format!("{what} both calls and asks"))
                    .label(&tool.place, "calls a tool")
                    .secondary(&asked.place, "asks a person")
                    .help("make two steps of it"),
            );
            None
        }
        (false, false) => {
            // Known, though absent: a slip of the pen is mostly one of these.
            for key in ["tool", "ask", "each"] {
                fields.entry(key);
            }
            if fields.node().is_complete() {
                diagnostics.push(
                    Diagnostic::error(
                        codes::MISSING_KEY,
                        format!("{what} has none of `tool`, `ask` and `each`"),
                    )
                    .label(fields.place(), "does nothing")
                    .help("add `tool:` with the tool to call, or `ask:` with a question"),
                );
            }
            None
        }
    }
}

pub(super) fn call(
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Call> {
    let tool = fields.required_string("tool", diagnostics);
    let tool = tool.filter(|tool| {
        let fault = tool_fault(tool, what);
        let is_reference = fault.is_none();
        diagnostics.extend(fault);
        is_reference
    });
    let with = fields.optional("with");
    let arguments = with.map_or_else(ValueTemplate::empty_object, |node| {
        reader.arguments(node, what, diagnostics)
    });
    let reading = stated(fields, "read", &READING, diagnostics);
    let missing = stated(fields, "missing", &MISSING, diagnostics);
    let idempotent = fields.optional_bool("idempotent", diagnostics);
    let transform = fields.optional_string("transform", diagnostics);
    let transform = transform.and_then(|text| {
        let what = format!("the transform of {what}");
        match super::expressions::jq(text, View::Result, &what, diagnostics).program {
            Program::Jq(program) => Some(program),
            _ => None,
        }
    });
    let budget = fields.optional_fields("call_budget", diagnostics);
    let budget = budget.map(|own| policy::call_budget(own, diagnostics));
    let tool = tool?;
    Some(Call {
        tool: ToolName::from(tool.as_str()),
        arguments,
        reading: reading.unwrap_or(Reading::Payload),
        missing: missing.unwrap_or_default(),
        idempotent: idempotent.is_some_and(|stated| stated.value),
        transform,
        budget,
        tool_place: tool.place().clone(),
        argument_places: with.map(arguments::places).unwrap_or_default(),
    })
}

fn ask(
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Ask> {
    let question = format!("the question of {what}");
    let message = fields
        .required("ask", diagnostics)
        .and_then(|node| reader.expression(node, &question, diagnostics));
    let answer = fields.optional("answer");
    let schema = fields.optional("answer_schema");
    if let (Some(answer), Some(schema)) = (answer, schema) {
        diagnostics.push(two_forms(answer, schema));
    }
    let schema = schema.map(Node::to_json);
    let bare = schema.as_ref().is_some_and(|schema| {
        schema.get("type").is_some_and(|kind| kind != "object")
            || schema.get("type").is_none() && schema.get("enum").is_some()
    });
    let schema = match (answer, schema) {
        (Some(answer), _) => Some(inputs::object(answer, "answer", diagnostics)),
        (None, Some(schema)) if bare => Some(
            json!({ "type": "object", "properties": { "value": schema }, "required": ["value"] }),
        ),
        (None, schema) => schema,
    };
    let response = fields.optional("default_answer").map(Node::to_json);
    let on_decline = policy::refusal(fields, "on_decline", diagnostics);
    let on_cancel = policy::refusal(fields, "on_cancel", diagnostics);
    let output = shape(fields, diagnostics);
    Some(Ask {
        message: message?,
        schema,
        bare,
        on_decline,
        on_cancel,
        default_response: response.map(|response| {
            if bare {
                json!({ "value": response })
            } else {
                response
            }
        }),
        output,
    })
}

fn two_forms(answer: &Node, schema: &Node) -> Diagnostic {
    let message = "`answer` and `answer_schema` both say what is asked for";
    Diagnostic::error(codes::KEYS_CONFLICT, message)
        .label(&schema.place, "`answer_schema`")
        .secondary(&answer.place, "`answer`")
        .help("keep one of them")
}

/// `report: true`.
pub(super) fn shape(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Shape {
    let report = fields.optional_bool("report", diagnostics);
    if report.is_some_and(|report| report.value) {
        Shape::Report
    } else {
        Shape::Plain
    }
}

/// Why `what` cannot call this tool.
pub(super) fn tool_fault(tool: &Text, what: &str) -> Option<Diagnostic> {
    name::tool_fault(tool, |shown| {
        format!("no tool can be named `{shown}`, as in {what}")
    })
}

fn constant_condition(node: &Node, is: &str, what: &str) -> Diagnostic {
    Diagnostic::warning(codes::CONSTANT_CONDITION, format!("{what} is {is}"))
        .label(&node.place, "does not depend on anything")
        .help("write an expression such as `${{ .inputs.enabled }}`, or remove `if`")
}
