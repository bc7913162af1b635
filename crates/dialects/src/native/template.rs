//! Texts with `${{ … }}` in them: where the templates stand. `$${{` is the text `${{`.

use std::ops::Range;

/// A part of a text, as byte ranges of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    /// What stands between the braces.
    Code(Range<usize>),
}

/// A template without an end: where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unclosed(pub(super) usize);

/// Whether a text has templates, or the escape of one.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("${{")
}

pub(super) fn parts(text: &str) -> Result<Vec<Part>, Unclosed> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("${{") {
        let start = at + found;
        let before = &text[at..start];
        if let Some(before) = before.strip_suffix('$') {
            literal.push_str(before);
            literal.push_str("${{");
            at = start + 3;
            continue;
        }
        literal.push_str(before);
        let inner = start + 3;
        let end = code_end(&text[inner..]).ok_or(Unclosed(start))? + inner;
        if !literal.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut literal)));
        }
        parts.push(Part::Code(inner..end));
        at = end + 2;
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() || parts.is_empty() {
        parts.push(Part::Text(literal));
    }
    Ok(parts)
}

/// Where the braces close that opened before: not inside of a string, nor of braces of jq.
fn code_end(code: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at + 1)?,
            b'{' => depth += 1,
            b'}' if depth == 0 => return (bytes.get(at + 1) == Some(&b'}')).then_some(at),
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The closing quote of a string of jq, whose interpolations may hold strings again.
fn string_end(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut open) = (from, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if open == 0 && bytes.get(at + 1) == Some(&b'(') => {
                open += 1;
                at += 1;
            }
            b'\\' if open == 0 => at += 1,
            b'(' if open > 0 => open += 1,
            b')' if open > 0 => open -= 1,
            b'"' if open == 0 => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}
