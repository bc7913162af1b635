//! Expressions and values on one line each.

use crate::expression::{Expression, JqProgram, Piece, Program, ValueTemplate, View};
use serde::Serialize;

/// Compact JSON; what cannot be JSON is not part of a workflow.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

pub(super) fn expression(expression: &Expression) -> String {
    match &expression.program {
        Program::Text(text) => format!("text {}", json(text)),
        Program::Path(path) => format!("path {path}"),
        Program::Go(go) => {
            let options = go.options();
            let mode = if options.go_mode { " go mode" } else { "" };
            let missing = if options.go_missing {
                " go missing"
            } else {
                ""
            };
            format!("go{mode}{missing} {}", json(go.text()))
        }
        Program::Jq(program) => jq(program),
        Program::Mixed(pieces) => {
            let pieces: Vec<String> = pieces.iter().map(piece).collect();
            format!("mixed [{}]", pieces.join(", "))
        }
    }
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => json(text),
        Piece::Value(value) => expression(value),
    }
}

pub(super) fn jq(program: &JqProgram) -> String {
    let view = match program.view() {
        View::Run => String::new(),
        View::Parents(names) => format!(" over parents {}", names.join(" ")),
        View::Nodes => " over nodes".to_owned(),
        View::Result => " over the result".to_owned(),
    };
    format!("jq{view} {}", json(program.code()))
}

/// One line for each value that is not a collection of others.
pub(super) fn values(template: &ValueTemplate) -> Vec<String> {
    let mut lines = Vec::new();
    collect(template, "", &mut lines);
    lines
}

fn collect(template: &ValueTemplate, path: &str, lines: &mut Vec<String>) {
    let shown = if path.is_empty() { "value" } else { path };
    match template {
        ValueTemplate::Literal(value) => lines.push(format!("{shown} = json {}", json(value))),
        ValueTemplate::Expression(own) => lines.push(format!("{shown} = {}", expression(own))),
        ValueTemplate::Object(entries) => {
            for (key, below) in entries {
                let below_path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                collect(below, &below_path, lines);
            }
        }
        ValueTemplate::Array(items) => {
            for (index, below) in items.iter().enumerate() {
                collect(below, &format!("{path}[{index}]"), lines);
            }
        }
    }
}
