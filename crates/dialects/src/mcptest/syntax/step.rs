//! A node of a composition as it is written. Which keys belong together is checked here; what they mean is not decided.

use crate::limits::MCPTEST_LOOP_ITEMS_MAX;
use crate::mcptest::Freeze;
use onecall_source::{
    Diagnostic, Diagnostics, Fields, Node, NodeKind, Place, Severity, Spanned, Text, codes,
};

#[derive(Debug)]
pub(in crate::mcptest) struct Step<'n> {
    pub(in crate::mcptest) id: Option<&'n Text>,
    pub(in crate::mcptest) needs: Vec<Need<'n>>,
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
    pub(in crate::mcptest) call_cost_usd: Option<f64>,
    pub(in crate::mcptest) call_tokens: Option<u64>,
    /// Where the first of them is.
    pub(in crate::mcptest) call_caps_place: Option<Place>,
    pub(in crate::mcptest) freeze: Option<Freeze>,
    /// Policies that are spelled out.
    pub(in crate::mcptest) policy: Option<&'n Node>,
}

/// A parent: its id, or `{id, optional, default}`.
#[derive(Debug)]
pub(in crate::mcptest) struct Need<'n> {
    pub(in crate::mcptest) id: &'n Text,
    pub(in crate::mcptest) optional: bool,
    pub(in crate::mcptest) default: Option<&'n Node>,
}

impl<'n> Need<'n> {
    fn read(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let NodeKind::Mapping(_) = &node.kind else {
            let id = node.expect_string("needs", diagnostics)?;
            return Some(Self {
                id,
                optional: false,
                default: None,
            });
        };
        let mut fields = Fields::read(node, "a need", diagnostics)?;
        let id = fields.required_string("id", diagnostics);
        let optional = fields.optional_bool("optional", diagnostics);
        let optional = optional.is_some_and(|optional| optional.value);
        let default = fields.entry("default").map(|entry| &entry.value);
        fields.finish(diagnostics);
        if let Some(default) = default.filter(|_| !optional) {
            diagnostics.push(default_of_required(default));
        }
        Some(Self {
            id: id?,
            optional,
            default,
        })
    }
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
            needs: fields
                .sequence("needs", diagnostics)
                .iter()
                .filter_map(|node| Need::read(node, diagnostics))
                .collect(),
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
            call_cost_usd: fields
                .optional_amount("max_cost_per_call_usd", diagnostics)
                .map(|stated| stated.value),
            call_tokens: fields
                .optional_integer("max_tokens_per_call", 0..=i64::MAX, diagnostics)
                .and_then(|stated| u64::try_from(stated.value).ok()),
            call_caps_place: ["max_cost_per_call_usd", "max_tokens_per_call"]
                .into_iter()
                .find_map(|key| Some(node.entry(key)?.key.place().clone())),
            freeze: fields
                .optional_choice("freeze", &["record", "golden"], diagnostics)
                .map(|stated| match stated.value {
                    "record" => Freeze::Record,
                    _ => Freeze::Golden,
                }),
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

fn default_of_required(default: &Node) -> Diagnostic {
    Diagnostic::error(
        codes::KEY_NOT_APPLICABLE,
        "`default` is for a parent that is optional",
    )
    .label(&default.place, "this value would never be read")
    .help("add `optional: true`, or remove `default`")
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
