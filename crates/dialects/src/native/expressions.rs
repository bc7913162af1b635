//! Expressions of workflow files: texts with `${{ … }}`, and the objects that say what a text cannot:
//! `{$go: …}`, `{$jq: …, view: …}`, `{$text: …}`, `{$value: …}`.

use super::path;
use super::template::{self, Part, Unclosed};
use crate::arguments;
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, NodeKind, Text, codes};
use onecall_workflow::expression::{
    Expression, GoOptions, GoProgram, JqProgram, Piece, Program, ValueTemplate, View,
};

/// Reads the expressions of one place; inside of a loop its item has a name.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    pub(super) item: Option<String>,
}

impl Reader {
    /// The expression that a node holds: a text, or an object with a `$` key. Other values are literal JSON
    /// text, so that a list can be written where a list is computed.
    pub(super) fn expression(
        &self,
        node: &Node,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Expression> {
        match &node.kind {
            NodeKind::String(text) => Some(self.text(text, what, diagnostics)),
            NodeKind::Mapping(_) if special(node).is_some() => {
                special_expression(node, what, diagnostics)
            }
            NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::Sequence(_) => {
                let text = Text::new(node.to_json().to_string(), node.place.clone());
                let program = Program::Text(text.as_str().to_owned());
                Some(Expression::new(program, Some(text)))
            }
            NodeKind::Null | NodeKind::Mapping(_) => {
                node.expect_string(what, diagnostics);
                None
            }
        }
    }

    pub(super) fn text(
        &self,
        text: &Text,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> Expression {
        let literal = |text: &Text| {
            Expression::new(Program::Text(text.as_str().to_owned()), Some(text.clone()))
        };
        if !template::is_template(text) {
            return literal(text);
        }
        let parts = match template::parts(text) {
            Ok(parts) => parts,
            Err(Unclosed(start)) => {
                diagnostics.push(unclosed(text, start, what));
                return literal(text);
            }
        };
        match parts.as_slice() {
            [Part::Text(own)] => Expression::new(Program::Text(own.clone()), Some(text.clone())),
            [Part::Code(range)] => self.code(&text.part(range.clone()), what, diagnostics),
            _ => {
                let pieces = parts.into_iter().map(|part| match part {
                    Part::Text(text) => Piece::Text(text),
                    Part::Code(range) => {
                        Piece::Value(self.code(&text.part(range), what, diagnostics))
                    }
                });
                Expression::new(Program::Mixed(pieces.collect()), Some(text.clone()))
            }
        }
    }

    /// What stands between the braces.
    fn code(&self, text: &Text, what: &str, diagnostics: &mut Diagnostics) -> Expression {
        let start = text.len() - text.trim_start().len();
        let text = text.part(start..text.trim_end().len().max(start));
        if let Some(path) = path::parse(&text, self.item.as_deref()) {
            return Expression::new(Program::Path(path), Some(text));
        }
        jq(&text, View::Run, what, diagnostics)
    }

    /// `with`, the arguments of a call: an object, or one template that gives one.
    pub(super) fn arguments(
        &self,
        node: &Node,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> ValueTemplate {
        let is_template = node
            .as_text()
            .is_some_and(|text| template::is_template(text));
        if !is_template && node.expect_mapping("with", diagnostics).is_none() {
            return ValueTemplate::empty_object();
        }
        self.values(node, "", what, diagnostics)
    }

    /// A value with expressions at every depth.
    pub(super) fn values(
        &self,
        node: &Node,
        path: &str,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> ValueTemplate {
        arguments::values(node, path, &mut |node, path| {
            let what = format!("`{path}` of {what}");
            match &node.kind {
                NodeKind::String(text) if template::is_template(text) => {
                    let expression = self.text(text, &what, diagnostics);
                    Some(match expression.program {
                        Program::Text(text) => ValueTemplate::Literal(text.into()),
                        _ => ValueTemplate::Expression(expression),
                    })
                }
                NodeKind::Mapping(_) => match special(node)? {
                    "$value" => Some(ValueTemplate::Literal(node.get("$value")?.to_json())),
                    _ => {
                        special_expression(node, &what, diagnostics).map(ValueTemplate::Expression)
                    }
                },
                _ => None,
            }
        })
    }
}

/// The `$` key that makes an expression of a mapping.
pub(super) fn special(node: &Node) -> Option<&'static str> {
    ["$go", "$jq", "$text", "$value"]
        .into_iter()
        .find(|key| node.get(key).is_some())
}

/// The expression of a mapping with a `$` key.
fn special_expression(
    node: &Node,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Expression> {
    let key = special(node)?;
    let mut fields = Fields::read(node, "an expression", diagnostics)?;
    let text = match key {
        "$go" => fields.optional_string("$go", diagnostics),
        "$jq" => fields.optional_string("$jq", diagnostics),
        "$text" => fields.optional_string("$text", diagnostics),
        _ => {
            let value = fields.optional("$value")?;
            let text = Text::new(value.to_json().to_string(), value.place.clone());
            fields.finish(diagnostics);
            let program = Program::Text(text.as_str().to_owned());
            return Some(Expression::new(program, Some(text)));
        }
    };
    let expression = match key {
        "$go" => go(text?, &mut fields, what, diagnostics),
        "$jq" => {
            let view = view(&mut fields, diagnostics);
            jq(text?, view, what, diagnostics)
        }
        _ => Expression::new(
            Program::Text(text?.as_str().to_owned()),
            Some(text?.clone()),
        ),
    };
    fields.finish(diagnostics);
    Some(expression)
}

pub(super) fn jq(text: &Text, view: View, what: &str, diagnostics: &mut Diagnostics) -> Expression {
    let written = Some(text.clone());
    match JqProgram::compile(text, view) {
        Ok(program) => Expression::new(Program::Jq(program), written),
        Err(error) => {
            error.report(text, what, diagnostics);
            Expression::new(Program::Text(text.as_str().to_owned()), written)
        }
    }
}

fn view(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> View {
    let views = ["run", "parents", "nodes", "result"];
    let stated = fields.optional_choice("view", &views, diagnostics);
    let parents = fields.string_sequence("parents", diagnostics);
    match stated.map_or("run", |stated| stated.value) {
        "parents" => View::Parents(parents.iter().map(ToString::to_string).collect()),
        "nodes" => View::Nodes,
        "result" => View::Result,
        _ => View::Run,
    }
}

fn go(
    text: &Text,
    fields: &mut Fields<'_>,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Expression {
    let mode = fields.optional_choice("mode", &["workflow", "go"], diagnostics);
    let missing = fields.optional_choice("missing", &["error", "go"], diagnostics);
    let options = GoOptions {
        go_mode: mode.is_some_and(|mode| mode.value == "go"),
        go_missing: missing.is_some_and(|missing| missing.value == "go"),
    };
    let written = Some(text.clone());
    match GoProgram::parse(text.as_str(), options) {
        Ok(program) => Expression::new(Program::Go(program), written),
        Err(error) => {
            let message = format!("the template of {what} cannot be parsed: {}", error.message);
            diagnostics.push(
                Diagnostic::error(codes::TEMPLATE_SYNTAX, message)
                    .label(text.place_of(error.span.range()), "at this place")
                    .help("see the Go package text/template for the syntax"),
            );
            Expression::new(Program::Text(text.as_str().to_owned()), written)
        }
    }
}

fn unclosed(text: &Text, start: usize, what: &str) -> Diagnostic {
    let message = format!("the template of {what} has no `}}}}` at its end");
    Diagnostic::error(codes::TEMPLATE_SYNTAX, message)
        .label(text.place_of(start..start + 3), "opened here")
        .help("close it with `}}`, or write `$${{` for the text `${{`")
}
