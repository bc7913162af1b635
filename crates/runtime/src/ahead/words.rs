//! Expressions in the words of a person: the value where all that it reads is known, else where it will come from.

use super::{Line, Part};
use crate::limits::AHEAD_CHARS_MAX;
use onecall_engine::view::View;
use onecall_workflow::evaluate::{self, Found, as_text};
use onecall_workflow::expression::{Expression, Piece, Program, Target, ValueTemplate};
use onecall_workflow::step::Condition;
use serde_json::{Map, Value};

/// Fills in values; what is not known is marked in the text and told apart again by `parts`.
pub(super) struct Looking<'a> {
    view: View<'a>,
    asking: &'a str,
    /// Nobody who writes values can write a mark.
    nonce: u64,
    later: Vec<String>,
}

impl<'a> Looking<'a> {
    pub(super) fn new(view: View<'a>, asking: &'a str) -> Self {
        Self {
            view,
            asking,
            nonce: rand::random(),
            later: Vec::new(),
        }
    }

    /// Whether a condition holds, or what it will depend on.
    pub(super) fn condition(&mut self, condition: &Condition) -> Result<bool, String> {
        if let Some(sources) = self.sources(&condition.test) {
            return Err(self.mark(match condition.test.program {
                Program::Path(_) => format!("{sources} is true"),
                _ => format!("a condition on {sources} holds"),
            }));
        }
        evaluate::condition(condition, &self.view)
            .map_err(|fault| self.mark(format!("its condition holds, which fails now: {fault}")))
    }

    pub(super) fn text(&mut self, expression: &Expression) -> String {
        as_text(&self.value(expression))
    }

    pub(super) fn filled(&mut self, template: &ValueTemplate) -> Value {
        match template {
            ValueTemplate::Literal(value) => value.clone(),
            ValueTemplate::Expression(expression) => self.value(expression),
            ValueTemplate::Object(entries) => {
                let entries = entries.iter();
                let object: Map<String, Value> = entries
                    .map(|(key, below)| (key.clone(), self.filled(below)))
                    .collect();
                Value::Object(object)
            }
            ValueTemplate::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
        }
    }

    fn value(&mut self, expression: &Expression) -> Value {
        // The pieces of a text that are known are shown around those that are not.
        if let Program::Mixed(pieces) = &expression.program {
            let text = pieces.iter().map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Value(value) => self.text(value),
            });
            return Value::String(text.collect());
        }
        if let Some(sources) = self.sources(expression) {
            return Value::String(self.mark(match expression.program {
                Program::Go(_) | Program::Jq(_) => format!("worked out from {sources}"),
                Program::Text(_) | Program::Path(_) | Program::Mixed(_) => {
                    format!("from {sources}")
                }
            }));
        }
        match evaluate::value(expression, &self.view) {
            Ok(Found::Value(value)) => value.into_owned(),
            Ok(Found::Missing(_)) => Value::String(self.mark("nothing".to_owned())),
            Err(fault) => Value::String(self.mark(format!("what fails: {fault}"))),
        }
    }

    /// Where the value will come from; `None` if it is known. Programs are not shown: the person need not know their
    /// language.
    fn sources(&self, expression: &Expression) -> Option<String> {
        let mut sources: Vec<String> = Vec::new();
        for reference in expression.references() {
            let source = match reference.target {
                Target::Step { name, segments, .. } if !self.has_ended(&name) => {
                    self.of_step(&name, &segments)
                }
                Target::AllSteps => "the steps before it".to_owned(),
                Target::Item { .. } | Target::Named { .. } => "each item".to_owned(),
                Target::Ambient => "the run, once the step starts".to_owned(),
                Target::Step { .. }
                | Target::Input { .. }
                | Target::Unknown { .. }
                | Target::UnknownField { .. } => continue,
            };
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        if sources.is_empty() {
            return None;
        }
        Some(sources.join(" and "))
    }

    fn has_ended(&self, step: &str) -> bool {
        let state = self.view.state;
        let index = state.step_index(step);
        index.is_some_and(|index| state.step(index).status.0.is_ended())
    }

    fn of_step(&self, name: &str, segments: &[String]) -> String {
        let (source, segments) = if name == self.asking {
            let content = segments.strip_prefix(&["content".to_owned()][..]);
            ("your answer".to_owned(), content.unwrap_or(segments))
        } else {
            (format!("step `{name}`"), segments)
        };
        if segments.is_empty() {
            return source;
        }
        format!("{source} (`{}`)", segments.join("."))
    }

    fn mark(&mut self, later: String) -> String {
        self.later.push(later);
        format!("⟦{:016x}:{}⟧", self.nonce, self.later.len() - 1)
    }

    /// A filled-in text with its marks told apart, and cut where it is too long to be read.
    pub(super) fn parts(&self, text: &str) -> Line {
        let opening = format!("⟦{:016x}:", self.nonce);
        let mut line = Vec::new();
        let mut pieces = text.split(opening.as_str());
        line.extend(pieces.next().and_then(known));
        for piece in pieces {
            let Some((index, rest)) = piece.split_once('⟧') else {
                continue;
            };
            let later = index
                .parse()
                .ok()
                .and_then(|index: usize| self.later.get(index));
            line.extend(later.cloned().map(Part::Later));
            line.extend(known(rest));
        }
        line
    }
}

fn known(text: &str) -> Option<Part> {
    if text.is_empty() {
        return None;
    }
    let cut = match text.char_indices().nth(AHEAD_CHARS_MAX) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    };
    Some(Part::Known(cut))
}

/// One row a value, under the path that leads to it. Lists are rows of their own only where they hold objects.
pub(super) fn rows(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, below) in object {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                rows(below, &path, found);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (index, below) in items.iter().enumerate() {
                rows(below, &format!("{path}[{index}]"), found);
            }
        }
        Value::Object(_) if path.is_empty() => {}
        Value::String(text) => found.push((path.to_owned(), text.clone())),
        other => found.push((path.to_owned(), other.to_string())),
    }
}
