//! Mocks are taken verbatim: a template inside of one is reported, since nothing fills it in.

use onecall_source::{Diagnostic, Diagnostics, Node, NodeKind, Text, codes};

/// Reports the first text of a mock that has a template. `opens`: what a template of the dialect begins with.
pub(crate) fn check(mock: &Node, step: &str, opens: &str, diagnostics: &mut Diagnostics) {
    if let Some(text) = template(mock, opens) {
        diagnostics.push(never_filled_in(text, step));
    }
}

fn template<'n>(node: &'n Node, opens: &str) -> Option<&'n Text> {
    match &node.kind {
        NodeKind::String(text) => text.contains(opens).then_some(text),
        NodeKind::Sequence(items) => items.iter().find_map(|item| template(item, opens)),
        NodeKind::Mapping(entries) => entries
            .iter()
            .find_map(|entry| template(&entry.value, opens)),
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => None,
    }
}

fn never_filled_in(text: &Text, step: &str) -> Diagnostic {
    let message = format!("the mock of step `{step}` has a template, which is not filled in");
    Diagnostic::warning(codes::MOCK_TEMPLATE, message)
        .label(text.place(), "taken verbatim")
        .help("write the value that the step shall give")
}
