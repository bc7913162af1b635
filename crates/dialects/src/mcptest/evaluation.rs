//! The shape of `eval`: which metrics there are and what a rubric needs. Judging is left to the test runner.

use super::assertions;
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, NodeKind, Place, codes, suggest};

const METRICS: [&str; 6] = [
    "rubric",
    "mcp_task_completion",
    "mcp_use",
    "argument_correctness",
    "plan_quality",
    "multi_turn_mcp_use",
];

pub(super) fn check(node: &Node, diagnostics: &mut Diagnostics) {
    for entry in node.expect_mapping("eval", diagnostics).unwrap_or_default() {
        if entry.key == *"judge" {
            // Who judges, not a metric. The test runner reads it.
            entry.value.expect_mapping("judge", diagnostics);
        } else if !METRICS.contains(&entry.key.as_str()) {
            diagnostics.push(unknown_metric(&entry.key, entry.key.place()));
        } else if entry.key == *"rubric" {
            rubric(&entry.value, diagnostics);
        }
    }
}

fn rubric(node: &Node, diagnostics: &mut Diagnostics) {
    let Some(mut fields) = Fields::read(node, "rubric", diagnostics) else {
        return;
    };
    let criteria = fields.sequence("criteria", diagnostics);
    if fields.optional("tree").is_none() && criteria.is_empty() {
        let help = "add `criteria` with at least one `name`, or a `tree`";
        diagnostics.push(unfit(&node.place, "a rubric judges by nothing", help));
    }
    let choices = ["weighted_average", "min"];
    fields.optional_choice("aggregation", &choices, diagnostics);
    if let Some(node) = fields.optional("scale") {
        scale(node, diagnostics);
    }
    for node in criteria {
        criterion(node, diagnostics);
    }
}

fn criterion(node: &Node, diagnostics: &mut Diagnostics) {
    let Some(mut fields) = Fields::read(node, "a criterion", diagnostics) else {
        return;
    };
    fields.required_string("name", diagnostics);
    fields.optional_string("description", diagnostics);
    fields.optional_amount("weight", diagnostics);
    let Some(mut when) = fields.optional_fields("when", diagnostics) else {
        return;
    };
    let contains = when.optional_string("contains", diagnostics);
    let pattern = when.optional_string("regex", diagnostics);
    if contains.is_some() == pattern.is_some() {
        let help = "write `when: {contains: …}` or `when: {regex: …}`";
        diagnostics.push(unfit(when.place(), "a criterion applies by one test", help));
    }
    if let Some(pattern) = pattern
        && let Err(fault) = assertions::pattern(pattern)
    {
        let message = format!("the pattern of a criterion cannot be used: {fault}");
        let help = "write a pattern as the Rust crate `regex` takes it";
        diagnostics.push(unfit(pattern.place(), &message, help));
    }
    when.finish(diagnostics);
}

fn scale(node: &Node, diagnostics: &mut Diagnostics) {
    let help = "use `unit`, `boolean`, `letter` or `{likert: {min: 1, max: 5}}`";
    if let NodeKind::String(text) = &node.kind {
        if !["unit", "boolean", "letter"].contains(&text.as_str()) {
            diagnostics.push(unfit(&node.place, "a rubric has no such scale", help));
        }
        return;
    }
    let bound = |key: &str| node.get("likert")?.get(key)?.as_number()?.as_f64();
    let rises = bound("min")
        .zip(bound("max"))
        .is_some_and(|(min, max)| max > min);
    if !rises {
        diagnostics.push(unfit(&node.place, "a rubric has no such scale", help));
    }
}

fn unknown_metric(name: &str, place: &Place) -> Diagnostic {
    let message = format!("no judged metric is named `{name}`");
    let diagnostic = Diagnostic::error(codes::EVALUATION, message).label(place, "unknown metric");
    match suggest(name, METRICS) {
        Some(near) => diagnostic.help(format!("a metric named `{near}` exists")),
        None => diagnostic.help(format!("the metrics are {}", METRICS.join(", "))),
    }
}

fn unfit(place: &Place, message: &str, help: &str) -> Diagnostic {
    Diagnostic::error(codes::EVALUATION, message)
        .label(place, "not a rubric that can be judged")
        .help(help)
}
