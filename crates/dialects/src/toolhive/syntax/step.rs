//! A step as it is written. Which keys belong to which kind is checked here; what they mean is not decided.

use crate::duration;
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, Spanned, Text, codes};
use std::time::Duration;

#[derive(Debug)]
pub(in crate::toolhive) struct Step<'n> {
    pub(in crate::toolhive) node: &'n Node,
    pub(in crate::toolhive) id: Option<&'n Text>,
    pub(in crate::toolhive) title: Option<&'n Text>,
    pub(in crate::toolhive) description: Option<&'n Text>,
    pub(in crate::toolhive) depends_on: Vec<&'n Text>,
    pub(in crate::toolhive) condition: Option<&'n Node>,
    pub(in crate::toolhive) timeout: Option<Spanned<Duration>>,
    pub(in crate::toolhive) on_error: Option<OnError<'n>>,
    pub(in crate::toolhive) default_results: Option<&'n Node>,
    pub(in crate::toolhive) kind: Option<Kind<'n>>,
}

#[derive(Debug)]
pub(in crate::toolhive) enum Kind<'n> {
    Tool(Call<'n>),
    Elicitation(Question<'n>),
    ForEach(Loop<'n>),
}

#[derive(Debug)]
pub(in crate::toolhive) struct Call<'n> {
    pub(in crate::toolhive) tool: Option<&'n Text>,
    pub(in crate::toolhive) arguments: Option<&'n Node>,
    pub(in crate::toolhive) idempotent: bool,
}

#[derive(Debug)]
pub(in crate::toolhive) struct Question<'n> {
    pub(in crate::toolhive) message: Option<&'n Text>,
    pub(in crate::toolhive) schema: Option<&'n Node>,
    pub(in crate::toolhive) on_decline: Option<Spanned<&'static str>>,
    pub(in crate::toolhive) on_cancel: Option<Spanned<&'static str>>,
    pub(in crate::toolhive) default_response: Option<&'n Node>,
}

#[derive(Debug)]
pub(in crate::toolhive) struct Loop<'n> {
    pub(in crate::toolhive) collection: Option<&'n Text>,
    pub(in crate::toolhive) item_var: Option<&'n Text>,
    pub(in crate::toolhive) max_parallel: Option<Spanned<i64>>,
    pub(in crate::toolhive) max_iterations: Option<Spanned<i64>>,
    pub(in crate::toolhive) step: Option<Box<Step<'n>>>,
}

#[derive(Debug)]
pub(in crate::toolhive) struct OnError<'n> {
    pub(in crate::toolhive) node: &'n Node,
    pub(in crate::toolhive) action: Option<Spanned<&'static str>>,
    pub(in crate::toolhive) retry_count: Option<Spanned<i64>>,
    pub(in crate::toolhive) max_retries: Option<Spanned<i64>>,
    pub(in crate::toolhive) retry_delay: Option<Spanned<Duration>>,
    pub(in crate::toolhive) retry_on: Option<Vec<&'n Text>>,
    pub(in crate::toolhive) then: Option<Spanned<&'static str>>,
}

const TOOL_KEYS: [&str; 3] = ["tool", "arguments", "idempotent"];
const QUESTION_KEYS: [&str; 5] = [
    "message",
    "schema",
    "onDecline",
    "onCancel",
    "defaultResponse",
];
const LOOP_KEYS: [&str; 5] = [
    "collection",
    "itemVar",
    "maxParallel",
    "maxIterations",
    "step",
];

impl<'n> Step<'n> {
    pub(super) fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(node, "a step", diagnostics)?;
        let id = fields.required_string("id", diagnostics);
        let depends_on = fields.string_sequence("dependsOn", diagnostics);
        let choices = ["tool", "elicitation", "forEach"];
        let stated = fields.optional_choice("type", &choices, diagnostics);
        let kind = match (stated, fields.has("type")) {
            (Some(stated), _) => Some(stated.value),
            (None, true) if fields.optional("type").is_some() => None,
            (None, _) => inferred_kind(&fields, node, diagnostics),
        };
        let kind = kind.map(|kind| read_kind(kind, &mut fields, diagnostics));
        Some(Self::common(fields, id, depends_on, kind, diagnostics))
    }

    /// The step inside of a loop: a tool call that waits for nothing by itself.
    fn read_inner(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(node, "the step of a loop", diagnostics)?;
        let id = fields.optional_string("id", diagnostics);
        fields.optional_choice("type", &["tool"], diagnostics);
        if let Some(entry) = fields.entry("dependsOn") {
            diagnostics.push(inner_depends_on(entry));
        }
        let kind = read_kind("tool", &mut fields, diagnostics);
        Some(Self::common(
            fields,
            id,
            Vec::new(),
            Some(kind),
            diagnostics,
        ))
    }

    fn common(
        mut fields: Fields<'n>,
        id: Option<&'n Text>,
        depends_on: Vec<&'n Text>,
        kind: Option<Kind<'n>>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let on_error = fields.optional("onError");
        let step = Self {
            node: fields.node(),
            id,
            title: fields.optional_string("title", diagnostics),
            description: fields.optional_string("description", diagnostics),
            depends_on,
            condition: fields.optional("condition"),
            timeout: duration::read(&mut fields, "timeout", diagnostics),
            on_error: on_error.and_then(|node| OnError::read(node, diagnostics)),
            // Null is a value here: a step may have null in place of its output.
            default_results: fields.entry("defaultResults").map(|entry| &entry.value),
            kind,
        };
        if step.kind.is_none() {
            // The kind is not known, so neither are the keys that belong to it.
            for key in TOOL_KEYS.iter().chain(&QUESTION_KEYS).chain(&LOOP_KEYS) {
                fields.entry(key);
            }
        }
        fields.finish(diagnostics);
        step
    }
}

/// The kind of a step that does not say: a tool call, as both documents have it.
fn inferred_kind(
    fields: &Fields<'_>,
    node: &Node,
    diagnostics: &mut Diagnostics,
) -> Option<&'static str> {
    let meant = if fields.has("message") {
        "elicitation"
    } else if fields.has("collection") {
        "forEach"
    } else {
        return Some("tool");
    };
    diagnostics.push(kind_unclear(node, meant, fields.has("tool")));
    None
}

fn kind_unclear(node: &Node, meant: &str, has_tool: bool) -> Diagnostic {
    let key = if meant == "elicitation" {
        "message"
    } else {
        "collection"
    };
    let message = if has_tool {
        format!("a step cannot have both `tool` and `{key}` without a `type`")
    } else {
        format!("a step with `{key}` needs `type: {meant}`")
    };
    let place = node.get(key).map_or(&node.place, |value| &value.place);
    Diagnostic::error(codes::KEY_NOT_APPLICABLE, message)
        .label(
            place,
            format!("`{key}` belongs to a step of type `{meant}`"),
        )
        .help(format!("add `type: {meant}`, or remove `{key}`"))
}

fn read_kind<'n>(
    kind: &'static str,
    fields: &mut Fields<'n>,
    diagnostics: &mut Diagnostics,
) -> Kind<'n> {
    let foreign: [&[&'static str]; 2] = match kind {
        "tool" => [&QUESTION_KEYS, &LOOP_KEYS],
        "elicitation" => [&TOOL_KEYS, &LOOP_KEYS],
        _ => [&TOOL_KEYS, &QUESTION_KEYS],
    };
    for key in foreign.into_iter().flatten() {
        if fields.has(key)
            && let Some(entry) = fields.entry(key)
        {
            diagnostics.push(foreign_key(entry, kind));
        }
    }
    match kind {
        "tool" => {
            let arguments = fields.optional("arguments");
            if let Some(node) = arguments {
                node.expect_mapping("arguments", diagnostics);
            }
            Kind::Tool(Call {
                tool: fields.required_string("tool", diagnostics),
                arguments,
                idempotent: fields
                    .optional_bool("idempotent", diagnostics)
                    .is_some_and(|stated| stated.value),
            })
        }
        "elicitation" => Kind::Elicitation(Question {
            message: fields.required_string("message", diagnostics),
            schema: fields
                .optional("schema")
                .filter(|node| node.expect_mapping("schema", diagnostics).is_some()),
            on_decline: read_refusal(fields, "onDecline", diagnostics),
            on_cancel: read_refusal(fields, "onCancel", diagnostics),
            default_response: fields.entry("defaultResponse").map(|entry| &entry.value),
        }),
        _ => Kind::ForEach(read_loop(fields, diagnostics)),
    }
}

fn read_loop<'n>(fields: &mut Fields<'n>, diagnostics: &mut Diagnostics) -> Loop<'n> {
    let inner = fields.required("step", diagnostics);
    Loop {
        collection: fields.required_string("collection", diagnostics),
        item_var: fields.optional_string("itemVar", diagnostics),
        max_parallel: fields.optional_integer("maxParallel", 0..=i64::MAX, diagnostics),
        max_iterations: fields.optional_integer("maxIterations", 0..=1_000, diagnostics),
        step: inner
            .and_then(|node| {
                if is_question(node) {
                    diagnostics.push(question_in_loop(node));
                    return None;
                }
                Step::read_inner(node, diagnostics)
            })
            .map(Box::new),
    }
}

fn read_refusal(
    fields: &mut Fields<'_>,
    key: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<Spanned<&'static str>> {
    let mut handler = fields.optional_fields(key, diagnostics)?;
    let choices = ["abort", "continue", "skip_remaining"];
    let action = handler.optional_choice("action", &choices, diagnostics);
    handler.finish(diagnostics);
    action
}

impl<'n> OnError<'n> {
    fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let choices = ["abort", "continue", "retry"];
        if let Some(action) = node.as_text().filter(|own| choices.contains(&own.as_str())) {
            diagnostics.push(action_alone(action));
            return None;
        }
        let mut fields = Fields::read(node, "onError", diagnostics)?;
        let has_retry_on = fields.has("retryOn");
        let retry_on = fields.string_sequence("retryOn", diagnostics);
        let on_error = Self {
            node,
            action: fields.optional_choice("action", &choices, diagnostics),
            retry_count: fields.optional_integer("retryCount", 0..=i64::MAX, diagnostics),
            max_retries: fields.optional_integer("maxRetries", 0..=i64::MAX, diagnostics),
            retry_delay: duration::read(&mut fields, "retryDelay", diagnostics),
            retry_on: has_retry_on.then_some(retry_on),
            then: fields.optional_choice("then", &["abort", "continue"], diagnostics),
        };
        fields.finish(diagnostics);
        Some(on_error)
    }
}

/// `onError: continue`.
fn action_alone(action: &Text) -> Diagnostic {
    let message = "`onError` must be a mapping, but is a string";
    Diagnostic::error(codes::WRONG_TYPE, message)
        .label(action.place(), "expected a mapping")
        .help(format!("write `onError: {{action: {action}}}`"))
}

/// Whether the step of a loop is written as a question.
fn is_question(node: &Node) -> bool {
    match node.get("type").and_then(Node::as_text) {
        Some(stated) => stated.as_str() == "elicitation",
        None => node.get("message").is_some() && node.get("tool").is_none(),
    }
}

fn question_in_loop(node: &Node) -> Diagnostic {
    let place = node
        .entry("type")
        .or_else(|| node.entry("message"))
        .map_or(&node.place, |entry| entry.key.place());
    let message = "the step of a loop cannot be a question";
    Diagnostic::error(codes::KEY_NOT_APPLICABLE, message)
        .label(place, "a loop calls a tool for each item")
        .help("ask in a step before the loop, or call a tool")
}

fn inner_depends_on(entry: &Entry) -> Diagnostic {
    Diagnostic::error(
        codes::KEY_NOT_APPLICABLE,
        "the step of a loop cannot wait for other steps",
    )
    .label(entry.key.place(), "the whole loop waits")
    .help("move `dependsOn` to the loop")
}

fn foreign_key(entry: &Entry, kind: &str) -> Diagnostic {
    let key = entry.key.as_str();
    let message = format!("`{key}` cannot act in a step of type `{kind}`");
    // A loop that also names a tool or a message is ambiguous; elsewhere the key is only idle.
    let diagnostic = if kind == "forEach" && matches!(key, "tool" | "message" | "arguments") {
        Diagnostic::error(codes::KEY_NOT_APPLICABLE, message)
    } else {
        Diagnostic::warning(codes::KEY_NOT_APPLICABLE, message)
    };
    let help = if kind == "forEach" && matches!(key, "tool" | "arguments") {
        format!("move `{key}` into `step`")
    } else {
        format!("remove `{key}`, or change `type`")
    };
    diagnostic
        .label(entry.key.place(), format!("not a key of `{kind}` steps"))
        .help(help)
}
