//! Assertions of a suite that can be doubted before anything runs: those that every value passes. Judging values is
//! left to the test runner.

use super::syntax::Suite;
use crate::limits::PATTERN_BYTES_MAX;
use onecall_source::{Diagnostic, Diagnostics, Node, NodeKind, codes};
use regex::{Regex, RegexBuilder};

/// The assertions of every composition and of its cases.
pub(super) fn lint(suite: &Suite<'_>, diagnostics: &mut Diagnostics) {
    for composition in &suite.compositions {
        let own = composition.expect.map(|entry| &entry.value);
        let cases = composition.cases.map(|entry| &entry.value);
        let cases = cases.and_then(Node::as_sequence).unwrap_or_default();
        let of_cases = cases.iter().filter_map(|case| case.get("expect"));
        for assertions in own.into_iter().chain(of_cases) {
            for assertion in assertions.as_sequence().unwrap_or_default() {
                if let Some(matcher) = assertion.get("matcher") {
                    self::matcher(matcher, diagnostics);
                }
            }
        }
    }
}

/// A matcher and those it is made of; what `not` holds is meant the other way round.
fn matcher(node: &Node, diagnostics: &mut Diagnostics) {
    for entry in node.as_mapping().unwrap_or_default() {
        match entry.key.as_str() {
            key @ ("contains" | "contains-all" | "icontains" | "subset" | "starts-with")
                if is_empty(&entry.value) =>
            {
                diagnostics.push(always_holds(key, "everything contains it", &entry.value));
            }
            "regex" if matches_nothing(&entry.value) => {
                diagnostics.push(always_holds(
                    "regex",
                    "it matches the empty text",
                    &entry.value,
                ));
            }
            "oneOf" | "anyOf" | "allOf" => {
                for below in entry.value.as_sequence().unwrap_or_default() {
                    matcher(below, diagnostics);
                }
            }
            _ => {}
        }
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.kind {
        NodeKind::String(text) => text.is_empty(),
        NodeKind::Sequence(items) => items.is_empty(),
        NodeKind::Mapping(entries) => entries.is_empty(),
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => false,
    }
}

fn matches_nothing(node: &Node) -> bool {
    let pattern = node.as_text().and_then(|text| self::pattern(text).ok());
    pattern.is_some_and(|pattern| pattern.is_match(""))
}

/// A pattern, compiled within bounds, or the last line of what is wrong with it.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text)
        .size_limit(PATTERN_BYTES_MAX)
        .build();
    built.map_err(|error| {
        let told = error.to_string();
        let last = told.lines().next_back().unwrap_or_default().trim();
        last.strip_prefix("error: ").unwrap_or(last).to_owned()
    })
}

fn always_holds(key: &str, why: &str, node: &Node) -> Diagnostic {
    Diagnostic::warning(
        codes::ASSERTION_EMPTY,
        format!("`{key}` asks for nothing here: {why}"),
    )
    .label(&node.place, "every value passes")
    .help("say what is expected, or remove the assertion")
}
