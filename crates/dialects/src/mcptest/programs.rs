//! The jq programs of a composition. One that only follows a path becomes that path.

use onecall_source::{Diagnostics, Text};
use onecall_workflow::expression::{
    Expression, Facet, JqProgram, Path, Program, Root, Segment, ValueTemplate, View,
};
use serde_json::Value;

/// The condition of a node, over the outputs of what it needs.
pub(super) fn when(
    text: &Text,
    id: &str,
    needs: Vec<String>,
    diagnostics: &mut Diagnostics,
) -> Expression {
    let what = format!("`when` of node `{id}`");
    expression(text, "parents", View::Parents(needs), &what, diagnostics)
}

/// The output, over those of all nodes.
pub(super) fn assemble(text: &Text, diagnostics: &mut Diagnostics) -> ValueTemplate {
    let own = expression(text, "nodes", View::Nodes, "`output.assemble`", diagnostics);
    ValueTemplate::Expression(own)
}

/// What reshapes the result of a node.
pub(super) fn transform(text: &Text, id: &str, diagnostics: &mut Diagnostics) -> Option<JqProgram> {
    match JqProgram::compile(text, View::Result) {
        Ok(program) => Some(program),
        Err(error) => {
            error.report(text, &format!("`transform` of node `{id}`"), diagnostics);
            None
        }
    }
}

fn expression(
    text: &Text,
    root: &str,
    view: View,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Expression {
    let program = match path(text, root) {
        Some(path) => Program::Path(path),
        None => match JqProgram::compile(text, view) {
            Ok(program) => Program::Jq(program),
            Err(error) => {
                error.report(text, what, diagnostics);
                Program::Text(text.to_string())
            }
        },
    };
    Expression::new(program, Some(text.clone()))
}

/// `.parents.node.field[0]["key"]`, and nothing else.
fn path(code: &str, root: &str) -> Option<Path> {
    let rest = code.trim().strip_prefix('.')?.strip_prefix(root)?;
    let mut segments = segments(rest)?.into_iter();
    let Some(Segment::Key(name)) = segments.next() else {
        return None;
    };
    let facet = Facet::Output;
    Some(Path::new(Root::Step { name, facet }, segments.collect()))
}

fn segments(mut rest: &str) -> Option<Vec<Segment>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('.') {
            if behind.starts_with(['"', '[']) {
                rest = behind;
                if let Some(after) = behind.strip_prefix('"') {
                    let end = after.find('"')?;
                    found.push(Segment::Key(text_of(&behind[..end + 2])?));
                    rest = &after[end + 1..];
                }
                continue;
            }
            let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (key, after) = behind.split_at(end.unwrap_or(behind.len()));
            if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
            found.push(Segment::Key(key.to_owned()));
            rest = after;
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            found.push(match inside.parse() {
                Ok(index) => Segment::Index(index),
                Err(_) => Segment::Key(text_of(inside)?),
            });
            rest = after;
        }
    }
    Some(found)
}

/// A JSON text without an interpolation of jq.
fn text_of(quoted: &str) -> Option<String> {
    match serde_json::from_str(quoted) {
        Ok(Value::String(text)) if !quoted.contains('\\') => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(code: &str) -> Option<String> {
        path(code, "parents").map(|path| path.to_string())
    }

    #[test]
    fn only_bare_paths_are_paths() {
        let is = |code: &str, expected: &str| assert_eq!(shown(code).as_deref(), Some(expected));
        is(".parents.a", "steps.a.output");
        is(" .parents.a.b_c[0].d ", "steps.a.output.b_c[0].d");
        is(".parents[\"get-user\"].x", "steps.get-user.output.x");
        is(
            ".parents.\"get-user\"[\"a b\"]",
            "steps.get-user.output[\"a b\"]",
        );
        for code in [
            ".parents",
            ".parents.a | .b",
            ".parents.a[]",
            ".parents.a?",
            ".other.a",
            ".parents.a.b > 0",
            ".parents.\"a\\(1)\"",
            ".parents..a",
            "..",
            ".parents[.x]",
            ".parentsa",
            "",
        ] {
            assert_eq!(shown(code), None, "{code}");
        }
    }
}
