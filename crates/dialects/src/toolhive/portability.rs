//! What works here and would not work in ToolHive. Asked for by those whose files have to work in both.

use onecall_source::{Diagnostic, Diagnostics, Entry, Node, NodeKind, Place, codes};

/// Remarks on one composite tool.
pub fn portability(tool: &Node, diagnostics: &mut Diagnostics) {
    key(
        tool,
        "failureMode",
        "its loader refuses the key",
        diagnostics,
    );
    for step in items(tool, "steps") {
        check_step(step, diagnostics);
        if let Some(inner) = step.get("step") {
            check_step(inner, diagnostics);
            for own in ["condition", "timeout", "onError", "defaultResults"] {
                key(inner, own, "is not honoured inside of a loop", diagnostics);
            }
            if inner.get("id").is_none() {
                let text = "the server does not start when the inner step has no `id`";
                diagnostics.push(remark("the step of a loop has no `id`", &inner.place, text));
            }
        }
    }
}

fn check_step(step: &Node, diagnostics: &mut Diagnostics) {
    for own in ["defaultResponse", "idempotent", "title", "description"] {
        key(step, own, "its loader refuses the key", diagnostics);
    }
    if let Some(on_error) = step.get("onError") {
        for own in ["maxRetries", "retryOn", "then"] {
            key(on_error, own, "its loader refuses the key", diagnostics);
        }
    }
    let is_question = step.get("message").is_some();
    if is_question && step.get("schema").is_none() {
        let text = "the server does not start when a question has no `schema`";
        diagnostics.push(remark("a question has no `schema`", &step.place, text));
    }
    if let Some(default) = step.get("defaultResults")
        && default.as_mapping().is_none()
    {
        let text = "only a mapping can be `defaultResults`";
        let message = format!("`defaultResults` is {}", default.kind_name());
        diagnostics.push(remark(&message, &default.place, text));
    }
    if let Some(arguments) = step.get("arguments") {
        for entry in arguments.as_mapping().unwrap_or_default() {
            nested_templates(&entry.value, diagnostics);
        }
    }
}

/// Only the first level of arguments is checked for reads of steps that may be skipped.
fn nested_templates(node: &Node, diagnostics: &mut Diagnostics) {
    let nested: Vec<&Node> = match &node.kind {
        NodeKind::Sequence(items) => items.iter().collect(),
        NodeKind::Mapping(entries) => entries.iter().map(|Entry { value, .. }| value).collect(),
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::String(_) => return,
    };
    for below in nested {
        if let Some(text) = below.as_text()
            && text.contains("{{")
        {
            let words = "the reference says that only the first level of arguments is expanded";
            diagnostics.push(remark(
                "a template stands below the first level",
                text.place(),
                words,
            ));
        }
        nested_templates(below, diagnostics);
    }
}

fn items<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key)
        .and_then(Node::as_sequence)
        .unwrap_or_default()
}

fn key(node: &Node, key: &str, words: &str, diagnostics: &mut Diagnostics) {
    if let Some(entry) = node.entry(key) {
        let message = format!("`{key}` works here only");
        diagnostics.push(remark(&message, entry.key.place(), words));
    }
}

fn remark(message: &str, place: &Place, words: &str) -> Diagnostic {
    Diagnostic::remark(codes::NOT_PORTABLE, message)
        .label(place, "works here only")
        .help(format!("in ToolHive it does not work: {words}"))
}
