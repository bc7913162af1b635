//! Go templates as this dialect uses them: text without a template is text, a bare path is a path,
//! everything else a program. Faults are shown at their place inside the value.

use crate::arguments;
use gotemplate::ParseError;
use onecall_source::{Diagnostic, Diagnostics, Node, NodeKind, Text, codes, suggest};
use onecall_workflow::expression::{
    Expression, Facet, GoOptions, GoProgram, Path, Program, Root, RunField, Segment, ValueTemplate,
};

/// Every function a template can call.
pub const FUNCTIONS: [&str; 22] = [
    "and", "call", "eq", "fromJson", "ge", "gt", "html", "index", "js", "json", "le", "len", "lt",
    "ne", "not", "or", "print", "printf", "println", "quote", "slice", "urlquery",
];

/// Reads the expressions of one composite tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    pub(super) go: GoOptions,
}

impl Reader {
    /// An expression whose value keeps its type: arguments, conditions, collections, output values.
    pub(super) fn value(
        self,
        text: &Text,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> Expression {
        if let Some(path) = self.bare_path(text) {
            return Expression::new(Program::Path(path), Some(text.clone()));
        }
        let expression = self.text(text, what, diagnostics);
        if is_whole_but_for_line_break(text, self.go) {
            diagnostics.push(value_becomes_text(text, what));
        }
        expression
    }

    /// An expression that is always text: messages.
    pub(super) fn text(self, text: &Text, what: &str, diagnostics: &mut Diagnostics) -> Expression {
        let written = Some(text.clone());
        if !text.contains("{{") {
            return Expression::new(Program::Text(text.as_str().to_owned()), written);
        }
        match GoProgram::parse(text.as_str(), self.go) {
            Ok(program) => Expression::new(Program::Go(program), written),
            Err(error) => {
                diagnostics.push(template_fault(text, what, &error));
                Expression::new(Program::Text(text.as_str().to_owned()), written)
            }
        }
    }

    /// A JSON value with templates at its leaves; a part without any is a literal.
    pub(super) fn values(
        self,
        node: &Node,
        path: &str,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> ValueTemplate {
        arguments::values(node, path, &mut |node, path| match &node.kind {
            NodeKind::String(text) if text.contains("{{") => {
                let what = format!("argument `{path}` of {what}");
                Some(ValueTemplate::Expression(self.value(
                    text,
                    &what,
                    diagnostics,
                )))
            }
            _ => None,
        })
    }

    /// `{{ .params.a.b }}` and the like. With Go's text for missing values a path would say too little.
    fn bare_path(self, text: &str) -> Option<Path> {
        if self.go.go_missing {
            return None;
        }
        let inner = bare_action(text)?;
        let mut names = inner.strip_prefix('.')?.split('.');
        let root = names.next()?;
        let names: Vec<&str> = names.collect();
        if !names.iter().all(|name| is_identifier(name)) {
            return None;
        }
        path_of(root, &names)
    }
}

fn path_of(root: &str, names: &[&str]) -> Option<Path> {
    let (root, rest) = match (root, names) {
        ("params", rest) => (Root::Input, rest),
        ("steps", [name, facet, rest @ ..]) => {
            let (name, facet) = ((*name).to_owned(), Facet::in_templates(facet)?);
            (Root::Step { name, facet }, rest)
        }
        ("forEach", ["index"]) => (Root::ItemIndex, &[][..]),
        ("forEach", [name, rest @ ..]) => {
            let name = (*name).to_owned();
            (Root::Item { name }, rest)
        }
        ("workflow", [field]) => (Root::Run(RunField::parse(field)?), &[][..]),
        _ => return None,
    };
    let segments = rest
        .iter()
        .map(|name| Segment::Key((*name).to_owned()))
        .collect();
    Some(Path::new(root, segments))
}

/// The inside of a text that is one action and nothing else.
fn bare_action(text: &str) -> Option<&str> {
    let mut rest = text;
    // Trim markers take the blanks around the action.
    if rest.trim_start().starts_with("{{- ") {
        rest = rest.trim_start();
    }
    if rest.trim_end().ends_with(" -}}") {
        rest = rest.trim_end();
    }
    let inner = rest.strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = match inner.strip_prefix("- ") {
        Some(inner) => inner,
        None => inner,
    };
    let inner = match inner.strip_suffix(" -") {
        Some(inner) => inner,
        None => inner,
    };
    Some(inner.trim_matches([' ', '\t', '\r', '\n']))
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first == '_' || first.is_alphabetic())
        && characters.all(|c| c == '_' || c.is_alphanumeric())
}

/// A block scalar ends with a line break, which makes text of what the author meant as a value.
fn is_whole_but_for_line_break(text: &str, go: GoOptions) -> bool {
    let trimmed = text.trim_end_matches(['\n', '\r']);
    trimmed.len() < text.len()
        && trimmed.starts_with("{{")
        && GoProgram::parse(trimmed, go).is_ok_and(|program| program.is_whole_value())
}

fn value_becomes_text(text: &Text, what: &str) -> Diagnostic {
    Diagnostic::warning(
        codes::VALUE_BECOMES_TEXT,
        format!("{what} ends with a line break, so its value becomes text"),
    )
    .label(text.place(), "the block ends with a line break")
    .help("write `|-` or `>-` in place of `|` or `>`, or put the template in quotes")
}

fn template_fault(text: &Text, what: &str, error: &ParseError) -> Diagnostic {
    let place = text.place_of(error.span.range());
    let function = error
        .message
        .strip_prefix("function \"")
        .and_then(|rest| rest.split_once('"'))
        .map(|(name, _)| name);
    let Some(function) = function else {
        let message = format!("the template of {what} cannot be parsed: {}", error.message);
        return Diagnostic::error(codes::TEMPLATE_SYNTAX, message)
            .label(place, "at this place")
            .help(syntax_help(&error.message));
    };
    let message = format!("the template of {what} calls `{function}`, which does not exist");
    let diagnostic =
        Diagnostic::error(codes::UNKNOWN_FUNCTION, message).label(place, "unknown function");
    match suggest(function, FUNCTIONS) {
        Some(near) => diagnostic.help(format!("a function named `{near}` exists")),
        None => diagnostic.help(format!("the functions are {}", FUNCTIONS.join(", "))),
    }
}

fn syntax_help(message: &str) -> &'static str {
    if message.contains("U+002D") {
        return "a name with `-` in it is read with `index`: `{{index .params \"a-b\"}}`";
    }
    "see the Go package text/template for the syntax"
}
