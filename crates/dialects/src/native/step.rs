//! Steps of workflow files: a call, a question, or a loop over a call.

use super::expressions::Reader;
use super::{duration, inputs, path, policy};
use crate::{arguments, name};
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, NodeKind, Text, codes};
use onecall_workflow::builder::Builder;
use onecall_workflow::derive::{self, Derives};
use onecall_workflow::expression::{Program, ValueTemplate, View};
use onecall_workflow::name::{StepName, ToolName};
use onecall_workflow::policy::{OnError, SkippedNeed, Then};
use onecall_workflow::step::{
    Action, Ask, Call, Condition, Each, Need, NeedOrigin, Reading, Shape, Step, Truth,
};
use serde_json::{Value, json};

/// Items of a loop at once, when it does not say.
const LOOP_PARALLEL: u32 = 10;
/// Items of a loop, when it does not say, and at most.
const LOOP_ITEMS: u32 = 10_000;
const LOOP_ITEMS_MAX: i64 = 100_000;

/// One entry of `steps`.
pub(super) fn read(
    name: &Text,
    node: &Node,
    reader: &Reader,
    diagnostics: &mut Diagnostics,
) -> Step {
    check_name(name, diagnostics);
    let what = format!("step `{name}`");
    let own_name = StepName::from(name.as_str());
    let Some(mut fields) = Fields::read(node, "a step", diagnostics) else {
        return Step::unreadable(own_name, name.place().clone());
    };
    let needs = needs(&mut fields, diagnostics);
    let common = common(&mut fields, reader, &what, diagnostics);
    let action = if fields.has("each") {
        let body = common.body(own_name.clone(), &mut fields, diagnostics);
        each(body, &mut fields, reader, &what, diagnostics).map(Action::Each)
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
    let mock = fields.entry("mock").map(|entry| entry.value.to_json());
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

/// The call of a tool that is derived from another: bound arguments, and inputs under their own names.
pub(super) fn derived(
    builder: &mut Builder,
    fields: &mut Fields<'_>,
    reader: &Reader,
    diagnostics: &mut Diagnostics,
) -> Option<Step> {
    let tool = fields.required_string("tool", diagnostics)?;
    check_tool(tool, "the derived tool", diagnostics);
    let bound = fields.optional("bind");
    let arguments = bound.map_or_else(ValueTemplate::empty_object, |node| {
        reader.values(node, "", "the derived tool", diagnostics)
    });
    let hidden = fields.string_sequence("hide", diagnostics);
    // Inputs that are stated are passed on unless they are bound; otherwise they are those of the tool.
    let arguments = match (arguments, builder.inputs.get("properties")) {
        (ValueTemplate::Object(mut entries), Some(Value::Object(stated))) => {
            for name in hidden
                .iter()
                .filter(|name| stated.contains_key(name.as_str()))
            {
                diagnostics.push(stated_and_hidden(name));
            }
            let mut passed = derive::passed_on(stated);
            passed.retain(|(name, _)| entries.iter().all(|(bound, _)| bound != name));
            entries.extend(passed);
            ValueTemplate::Object(entries)
        }
        (arguments, _) => {
            builder.derives = Some(Derives {
                hidden: hidden.iter().map(ToString::to_string).collect(),
            });
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
            tool: ToolName::from(tool.as_str()),
            arguments,
            reading: Reading::Payload,
            idempotent: false,
            transform: None,
            tool_place: tool.place().clone(),
            argument_places: bound.map(arguments::places).unwrap_or_default(),
        }),
        timeout: None,
        on_error: OnError::ABORT,
        skipped_need: SkippedNeed::Skips,
        default: None,
        mock: None,
        place: tool.place().clone(),
    })
}

fn stated_and_hidden(name: &Text) -> Diagnostic {
    let message = format!("`{name}` is both stated as an input and hidden");
    Diagnostic::error(codes::KEYS_CONFLICT, message)
        .label(name.place(), "hidden here")
        .help("keep one of them: with `inputs`, only what is stated is offered")
}

/// What every kind of step can say.
struct Common {
    title: Option<String>,
    description: Option<String>,
    when: Option<Condition>,
    timeout: Option<std::time::Duration>,
    skipped_need: SkippedNeed,
    default: Option<Value>,
}

fn common(
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

impl Common {
    /// What a loop without `do` says of its items.
    fn body(&self, name: StepName, fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Body {
        if fields.has("do") {
            return Body::Own(name);
        }
        Body::Short {
            name,
            skipped_need: self.skipped_need,
            retry: policy::retry(fields, diagnostics),
        }
    }
}

/// Where the step inside of a loop is written.
enum Body {
    /// Under `do`; this is its name if it states none.
    Own(StepName),
    /// With the loop.
    Short {
        name: StepName,
        skipped_need: SkippedNeed,
        retry: Option<onecall_workflow::policy::Retry>,
    },
}

fn condition(
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Condition> {
    let truth = fields.optional_choice("truth", &["jq", "words"], diagnostics);
    let node = fields.optional("if")?;
    let what = format!("the condition of {what}");
    let test = reader.expression(node, &what, diagnostics)?;
    if let Program::Text(text) = &test.program {
        diagnostics.push(constant_condition(node, text, &what));
    }
    let truth = match truth.map(|stated| stated.value) {
        Some("words") => Truth::Words,
        _ => Truth::Jq,
    };
    Some(Condition { test, truth })
}

/// Names, each with a `?` behind it if the step does without.
fn needs(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<Need> {
    let names = fields.string_sequence("needs", diagnostics);
    let mut needs: Vec<Need> = Vec::new();
    for name in names {
        let (step, optional) = match name.strip_suffix('?') {
            Some(step) => (step, true),
            None => (name.as_str(), false),
        };
        if !needs.iter().any(|need| need.step == step) {
            needs.push(Need {
                step: StepName::from(step),
                origin: NeedOrigin::Declared,
                optional,
                place: name.place().clone(),
            });
        }
    }
    needs
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

fn call(
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Call> {
    let tool = fields.required_string("tool", diagnostics);
    if let Some(tool) = tool {
        check_tool(tool, what, diagnostics);
    }
    let with = fields.optional("with");
    let arguments = with.map_or_else(ValueTemplate::empty_object, |node| {
        reader.values(node, "", what, diagnostics)
    });
    let reading = fields.optional_choice("read", &["payload", "content_map"], diagnostics);
    let idempotent = fields.optional_bool("idempotent", diagnostics);
    let transform = fields.optional_string("transform", diagnostics);
    let transform = transform.and_then(|text| {
        let what = format!("the transform of {what}");
        match super::expressions::jq(text, View::Result, &what, diagnostics).program {
            Program::Jq(program) => Some(program),
            _ => None,
        }
    });
    let tool = tool?;
    Some(Call {
        tool: ToolName::from(tool.as_str()),
        arguments,
        reading: match reading.map(|stated| stated.value) {
            Some("content_map") => Reading::ContentMap,
            _ => Reading::Payload,
        },
        idempotent: idempotent.is_some_and(|stated| stated.value),
        transform,
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
    let message = fields.required("ask", diagnostics);
    let message = message
        .and_then(|node| reader.expression(node, &format!("the question of {what}"), diagnostics));
    let answer = fields.optional("answer");
    let schema = fields.optional("answer_schema").map(Node::to_json);
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

fn shape(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Shape {
    let report = fields.optional_bool("report", diagnostics);
    if report.is_some_and(|report| report.value) {
        Shape::Report
    } else {
        Shape::Plain
    }
}

fn each(
    body: Body,
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Each> {
    let collection = fields.required("each", diagnostics);
    let items = collection
        .and_then(|node| reader.expression(node, &format!("the items of {what}"), diagnostics));
    if let (Some(items), Some(node)) = (&items, collection)
        && let Program::Text(text) = &items.program
        && !serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_array())
    {
        diagnostics.push(constant_items(node));
    }
    let item = fields.optional_string("as", diagnostics);
    if let Some(item) = item {
        check_item(item, diagnostics);
    }
    let item = item.map_or("item", |item| item.as_str()).to_owned();
    let parallel = fields.optional_integer("parallel", 1..=10_000, diagnostics);
    let most = fields.optional_integer("max_items", 1..=LOOP_ITEMS_MAX, diagnostics);
    let output = shape(fields, diagnostics);
    let failed = fields.optional_choice("failed_item", &["by_on_error", "ends_loop"], diagnostics);
    let inside = Reader {
        item: Some(item.clone()),
    };
    let body = loop_body(body, fields, &inside, what, diagnostics);
    let number = |stated: Option<onecall_source::Spanned<i64>>, otherwise| {
        stated.map_or(otherwise, |stated| {
            u32::try_from(stated.value).unwrap_or(u32::MAX)
        })
    };
    Some(Each {
        items: items?,
        item_name: item,
        parallel_max: number(parallel, LOOP_PARALLEL),
        iterations_max: number(most, LOOP_ITEMS),
        output,
        ends_at_failure: failed.is_some_and(|failed| failed.value == "ends_loop"),
        body: Box::new(body?),
    })
}

fn loop_body(
    body: Body,
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Step> {
    let what = format!("the items of {what}");
    let place = fields.place().clone();
    match body {
        Body::Short {
            name,
            skipped_need,
            retry,
        } => Some(Step {
            name,
            title: None,
            description: None,
            needs: Vec::new(),
            when: None,
            action: Action::Call(call(fields, reader, &what, diagnostics)?),
            timeout: None,
            on_error: OnError {
                retry,
                then: Then::Abort,
            },
            skipped_need,
            default: None,
            mock: None,
            place,
        }),
        Body::Own(name) => {
            let mut own = fields.required_fields("do", diagnostics)?;
            let stated = own.optional_string("name", diagnostics);
            let common = common(&mut own, reader, &what, diagnostics);
            let on_error = policy::on_error(&mut own, diagnostics);
            let call = call(&mut own, reader, &what, diagnostics);
            let place = stated.map_or(own.place(), |name| name.place()).clone();
            own.finish(diagnostics);
            Some(Step {
                name: stated.map_or(name, |name| StepName::from(name.as_str())),
                title: common.title,
                description: common.description,
                needs: Vec::new(),
                when: common.when,
                action: Action::Call(call?),
                timeout: common.timeout,
                on_error,
                skipped_need: common.skipped_need,
                default: common.default,
                mock: None,
                place,
            })
        }
    }
}

fn check_name(name: &Text, diagnostics: &mut Diagnostics) {
    let fault = name::step_fault(name).or(name.ends_with('?').then_some("ends with `?`"));
    let Some(reason) = fault else {
        return;
    };
    let shown = name::shown(name);
    diagnostics.push(
        Diagnostic::error(
            codes::INVALID_NAME,
            format!("the name `{shown}` of a step {reason}"),
        )
        .label(name.place(), "not a step name")
        .help("use letters, digits, `_` and `-`, so that expressions can read the step"),
    );
}

fn check_tool(tool: &Text, what: &str, diagnostics: &mut Diagnostics) {
    if name::is_tool_reference(tool) {
        return;
    }
    let shown: String = tool.chars().take(60).collect();
    diagnostics.push(
        Diagnostic::error(
            codes::TOOL_REFERENCE,
            format!("no tool can be named `{shown}`, as in {what}"),
        )
        .label(tool.place(), "not the name of a tool")
        .help("write the name clients see, or the backend, a dot, and the tool's own name"),
    );
}

fn check_item(item: &Text, diagnostics: &mut Diagnostics) {
    let plain = name::is_readable(item);
    let reason = if !plain {
        "is no name that an expression can read"
    } else if *item == *"index" {
        "is taken by the number of the item"
    } else if path::ROOTS.contains(&item.as_str()) {
        "is taken; the item is read as `.loop` and its name"
    } else {
        return;
    };
    let message = format!("`as: {item}` {reason}");
    let diagnostic = if plain && *item != *"index" {
        Diagnostic::warning(codes::INVALID_ITEM_NAME, message)
    } else {
        Diagnostic::error(codes::INVALID_ITEM_NAME, message)
    };
    diagnostics.push(
        diagnostic
            .label(item.place(), "not an item name")
            .help("use letters, digits and `_`, such as `item`"),
    );
}

fn constant_condition(node: &Node, text: &str, what: &str) -> Diagnostic {
    let shown: String = text.chars().take(60).collect();
    Diagnostic::warning(
        codes::CONSTANT_CONDITION,
        format!("{what} is always `{shown}`"),
    )
    .label(&node.place, "does not depend on anything")
    .help("write an expression such as `${{ .inputs.enabled }}`, or remove `if`")
}

fn constant_items(node: &Node) -> Diagnostic {
    debug_assert!(!matches!(node.kind, NodeKind::Sequence(_)));
    Diagnostic::error(
        codes::CONSTANT_COLLECTION,
        "the items of a loop are a fixed text that is no list",
    )
    .label(&node.place, "not a list")
    .help("write an expression that gives a list, such as `${{ .steps.list.items }}`, or a list")
}
