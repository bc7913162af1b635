//! A node of a composition as it is written. Which keys belong together is checked here; what they mean is not decided.

use crate::limits::MCPTEST_LOOP_ITEMS_MAX;
use onecall_source::{
    Diagnostic, Diagnostics, Entry, Fields, Node, NodeKind, Severity, Spanned, Text, codes,
};

#[derive(Debug)]
pub(in crate::mcptest) struct Step<'n> {
    pub(in crate::mcptest) id: Option<&'n Text>,
    pub(in crate::mcptest) needs: Vec<&'n Text>,
    pub(in crate::mcptest) server: Option<&'n Text>,
    pub(in crate::mcptest) tool: Option<&'n Text>,
    pub(in crate::mcptest) args: Option<&'n Node>,
    /// The jq program of `transform`.
    pub(in crate::mcptest) transform: Option<&'n Text>,
    /// A jq program.
    pub(in crate::mcptest) when: Option<&'n Text>,
    pub(in crate::mcptest) for_each: Option<&'n Text>,
    pub(in crate::mcptest) max_concurrency: Option<Spanned<i64>>,
    pub(in crate::mcptest) max_iterations: Option<Spanned<i64>>,
    /// `mock.result`; null is a value.
    pub(in crate::mcptest) mock: Option<&'n Node>,
    /// Caps on single calls.
    pub(in crate::mcptest) call_caps: Vec<&'n Entry>,
    /// Policies that are spelled out.
    pub(in crate::mcptest) policy: Option<&'n Node>,
}

/// Limit: elements that a node may ask for.
const ITEMS_MAX: i64 = MCPTEST_LOOP_ITEMS_MAX as i64;

impl<'n> Step<'n> {
    pub(super) fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(node, "a node", diagnostics)?;
        let transform = fields.optional_fields("transform", diagnostics);
        let mock = fields.optional_fields("mock", diagnostics);
        let step = Self {
            id: fields.required_string("id", diagnostics),
            needs: fields.string_sequence("needs", diagnostics),
            server: fields.optional_string("server", diagnostics),
            tool: fields.required_string("tool", diagnostics),
            args: fields
                .optional("args")
                .filter(|node| fits_args(node, diagnostics)),
            transform: transform.and_then(|fields| read_transform(fields, diagnostics)),
            when: fields.optional_string("when", diagnostics),
            for_each: fields.optional_string("for_each", diagnostics),
            max_concurrency: fields.optional_integer("max_concurrency", 1..=i64::MAX, diagnostics),
            max_iterations: fields.optional_integer("max_iterations", 1..=ITEMS_MAX, diagnostics),
            mock: mock.and_then(|fields| read_mock(fields, diagnostics)),
            call_caps: call_caps(&mut fields, diagnostics),
            policy: fields.optional("policy"),
        };
        if step.for_each.is_none() && !fields.has("for_each") {
            for key in ["max_iterations", "max_concurrency"] {
                if let Some(value) = node.get(key) {
                    diagnostics.push(without_loop(key, value));
                }
            }
        }
        fields.finish(diagnostics);
        Some(step)
    }
}

fn call_caps<'n>(fields: &mut Fields<'n>, diagnostics: &mut Diagnostics) -> Vec<&'n Entry> {
    fields.optional_amount("max_cost_per_call_usd", diagnostics);
    fields.optional_integer("max_tokens_per_call", 0..=i64::MAX, diagnostics);
    let caps = ["max_cost_per_call_usd", "max_tokens_per_call"];
    caps.into_iter()
        .filter_map(|key| fields.entry(key))
        .collect()
}

fn read_transform<'n>(mut fields: Fields<'n>, diagnostics: &mut Diagnostics) -> Option<&'n Text> {
    let program = fields.required_string("jq", diagnostics);
    fields.finish(diagnostics);
    program
}

fn read_mock<'n>(mut fields: Fields<'n>, diagnostics: &mut Diagnostics) -> Option<&'n Node> {
    let result = fields.entry("result").map(|entry| &entry.value);
    if result.is_none() {
        fields.required("result", diagnostics);
    }
    fields.finish(diagnostics);
    result
}

/// Arguments are an object, or one template that gives one.
fn fits_args(node: &Node, diagnostics: &mut Diagnostics) -> bool {
    match &node.kind {
        NodeKind::Mapping(_) => true,
        NodeKind::String(text) if text.contains("${") => true,
        NodeKind::Null
        | NodeKind::Bool(_)
        | NodeKind::Number(_)
        | NodeKind::String(_)
        | NodeKind::Sequence(_) => node.expect_mapping("args", diagnostics).is_some(),
    }
}

/// A width alone does no harm, and other programs take it.
fn without_loop(key: &str, value: &Node) -> Diagnostic {
    let severity = if key == "max_concurrency" {
        Severity::Warning
    } else {
        Severity::Error
    };
    let message = format!("`{key}` is for nodes with `for_each`");
    Diagnostic::new(codes::KEY_NOT_APPLICABLE, severity, message)
        .label(&value.place, "this node runs once")
        .help(format!("add `for_each`, or remove `{key}`"))
}
