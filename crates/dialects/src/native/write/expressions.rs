//! Expressions and values as workflow files write them.

use super::super::{path, template};
use onecall_workflow::expression::{
    Expression, Facet, JqProgram, Path, Piece, Program, Root, Segment, ValueTemplate, View,
};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The keys that make an expression of a mapping.
const SPECIAL: [&str; 5] = ["$go", "$jq", "$text", "$value", "$last"];

/// A text, or a mapping with a `$` key where no text can say it.
pub(super) fn expression(expression: &Expression) -> Value {
    match &expression.program {
        Program::Text(text) if template::is_template(text) => json!({ "$text": text }),
        Program::Text(text) => Value::from(text.as_str()),
        Program::Path(path) => Value::from(braced(&path_text(path))),
        Program::Go(go) => {
            let mut own = json!({ "$go": go.text() });
            if go.options().go_mode {
                own["mode"] = Value::from("go");
            }
            if go.options().go_missing {
                own["missing"] = Value::from("go");
            }
            own
        }
        Program::Jq(program) => program_value(program),
        Program::Mixed(pieces) => Value::from(pieces.iter().map(piece).collect::<String>()),
    }
}

/// The text of a program whose view goes without saying.
pub(super) fn jq(program: &JqProgram) -> Value {
    Value::from(program.code())
}

fn program_value(program: &JqProgram) -> Value {
    let code = program.code();
    let mut own = json!({ "$jq": code });
    match program.view() {
        View::Run if reads_back(code) => return Value::from(braced(code)),
        View::Run => {}
        View::Parents(names) => {
            own["view"] = Value::from("parents");
            own["parents"] = json!(names);
        }
        View::Nodes => own["view"] = Value::from("nodes"),
        View::Result => own["view"] = Value::from("result"),
    }
    own
}

/// Whether a program in braces is read as itself.
fn reads_back(code: &str) -> bool {
    let whole = braced(code);
    let is_one = matches!(
        template::parts(&whole).as_deref(),
        Ok([template::Part::Code(_)])
    );
    is_one && code.trim() == code && path::parse(code, None).is_none()
}

fn braced(code: &str) -> String {
    format!("${{{{ {code} }}}}")
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => text.replace("${{", "$${{"),
        Piece::Value(value) => match &value.program {
            Program::Path(path) => braced(&path_text(path)),
            Program::Jq(program) => braced(program.code()),
            Program::Text(text) => text.clone(),
            Program::Go(go) => go.text().to_owned(),
            Program::Mixed(pieces) => pieces.iter().map(self::piece).collect(),
        },
    }
}

fn path_text(path: &Path) -> String {
    let mut text = match &path.root {
        Root::Input => ".inputs".to_owned(),
        Root::Step { name, facet } if *facet == Facet::Output => format!(".steps{}", key(name)),
        Root::Step { name, facet } => format!(".results{}.{}", key(name), facet.as_str()),
        Root::Result { step } => format!(".results{}.{}", key(step), path::OUTPUT_OR_RESULT),
        Root::Item { name } => format!(".loop{}", key(name)),
        Root::ItemIndex => ".loop.index".to_owned(),
        Root::Run(field) => format!(".run.{}", field.as_str()),
    };
    for segment in &path.segments {
        match segment {
            Segment::Key(name) => text.push_str(&key(name)),
            Segment::Index(index) => {
                let _ = write!(text, "[{index}]");
            }
            Segment::Every => text.push_str("[*]"),
        }
    }
    if let Some(default) = &path.default {
        let _ = write!(text, " ?? {default}");
    }
    text
}

/// `.name`, or `["odd name"]`.
fn key(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain {
        format!(".{name}")
    } else {
        format!("[{}]", Value::from(name))
    }
}

/// A value with expressions at its leaves. A literal at the root is marked as one, so that it stays whole.
pub(super) fn values(template: &ValueTemplate, is_root: bool) -> Value {
    match template {
        ValueTemplate::Literal(value) => {
            let is_whole = is_root && (value.is_object() || value.is_array() || value.is_null());
            if is_whole || looks_special(value) {
                return json!({ "$value": value });
            }
            value.clone()
        }
        ValueTemplate::Expression(own) => expression(own),
        ValueTemplate::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (key.clone(), values(value, false)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        ValueTemplate::Array(items) => items.iter().map(|item| values(item, false)).collect(),
    }
}

/// A literal that would be read as an expression.
fn looks_special(value: &Value) -> bool {
    match value {
        Value::String(text) => template::is_template(text),
        Value::Array(items) => items.iter().any(looks_special),
        Value::Object(entries) => entries
            .iter()
            .any(|(key, value)| SPECIAL.contains(&key.as_str()) || looks_special(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
