//! JSON data as YAML that people like to read: blocks, few quotes, keys in the order given.
//! Whatever it writes reads back as the same data.

use crate::limits::LINE_CHARACTERS_MAX;
use serde_json::{Map, Value};
use std::fmt::Write;

/// A mapping as a document.
pub(super) fn document(object: &Map<String, Value>) -> String {
    let mut text = String::new();
    mapping(object, 0, &mut text);
    text
}

fn mapping(object: &Map<String, Value>, depth: usize, text: &mut String) {
    for (key, value) in object {
        indent(depth, text);
        text.push_str(&scalar(key));
        text.push(':');
        below(value, depth, text);
    }
}

/// What stands behind a key or a dash, with its line break.
fn below(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            text.push('\n');
            mapping(object, depth + 1, text);
        }
        Value::Array(items) if !items.is_empty() => {
            if let Some(line) = one_line(items) {
                let _ = writeln!(text, " {line}");
            } else {
                text.push('\n');
                sequence(items, depth + 1, text);
            }
        }
        Value::String(own) if is_block(own) => block(own, depth, text),
        other => {
            let _ = writeln!(text, " {}", leaf(other));
        }
    }
}

fn sequence(items: &[Value], depth: usize, text: &mut String) {
    for item in items {
        indent(depth, text);
        text.push('-');
        match item {
            Value::Object(object) if !object.is_empty() => {
                // The first key stands behind the dash.
                let mut own = String::new();
                mapping(object, depth + 1, &mut own);
                let _ = write!(text, " {}", own.trim_start());
            }
            other => below(other, depth, text),
        }
    }
}

/// A list of plain words and numbers, where it is short.
fn one_line(items: &[Value]) -> Option<String> {
    let words: Option<Vec<String>> = items
        .iter()
        .map(|item| match item {
            Value::String(own) => is_word(own).then(|| own.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(item.to_string()),
            Value::Array(_) | Value::Object(_) => None,
        })
        .collect();
    let line = format!("[{}]", words?.join(", "));
    (line.len() <= LINE_CHARACTERS_MAX).then_some(line)
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

/// A text with as few quotes as can be.
fn scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    if text.chars().any(char::is_control) {
        return Value::from(text).to_string();
    }
    format!("'{}'", text.replace('\'', "''"))
}

fn is_word(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(inside)
        && !reserved.contains(&text.to_ascii_lowercase().as_str())
}

/// Words, sentences and expressions that no reader takes for anything else.
fn is_plain(text: &str) -> bool {
    if is_word(text) {
        return true;
    }
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic()) || text.starts_with("${{");
    starts
        && text.contains(' ')
        && !text.chars().any(char::is_control)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && text.trim() == text
}

/// Several lines, which a block shows as they are.
fn is_block(text: &str) -> bool {
    let lines: Vec<&str> = text.split('\n').collect();
    let odd = |line: &&str| line.ends_with(' ') || line.chars().any(char::is_control);
    lines.len() > 1
        && !lines[0].starts_with([' ', '\t'])
        && !lines[0].is_empty()
        && !lines.iter().any(odd)
        && !text.ends_with("\n\n")
}

fn block(own: &str, depth: usize, text: &mut String) {
    let (mark, lines) = match own.strip_suffix('\n') {
        Some(lines) => ("|", lines),
        None => ("|-", own),
    };
    let _ = writeln!(text, " {mark}");
    for line in lines.split('\n') {
        if !line.is_empty() {
            indent(depth + 1, text);
            text.push_str(line);
        }
        text.push('\n');
    }
}

fn indent(depth: usize, text: &mut String) {
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_source::{SourceMap, parse};
    use serde_json::json;

    fn read_back(text: &str) -> Value {
        let mut sources = SourceMap::new();
        let id = sources.add("written.yaml", text.to_owned());
        let (documents, diagnostics) = parse(&sources, id);
        assert!(diagnostics.is_empty(), "{diagnostics:?} in\n{text}");
        documents[0].root.to_json()
    }

    #[test]
    fn what_is_written_reads_back() {
        let odd: &[&str] = &[
            "",
            " ",
            "yes",
            "No",
            "null",
            "~",
            "1",
            "0x1f",
            "1e3",
            "-",
            "- a",
            "a: b",
            "a #b",
            "#a",
            "'q'",
            "\"q\"",
            "a\tb",
            "a\nb",
            "a\nb\n",
            "\na",
            " a\nb",
            "a \nb",
            "a\n\nb\n\n",
            "é ü",
            "${{ .a.b }}",
            "${{ {a: 1} }}",
            "x: ${{ .a }}",
            "{{ .params.a }}",
            "[a]",
            "{a}",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "a:",
            ":a",
            "?",
            "2024-01-01",
            "a\u{7f}b",
            "a\u{85}b",
            "a\u{2028}b",
            "\u{feff}a",
            "tab\there",
            "key with spaces",
            "|",
            ">",
            "a\r\nb",
        ];
        let mut object = Map::new();
        for text in odd {
            object.insert((*text).to_owned(), json!(text));
        }
        object.insert("list".to_owned(), json!(odd));
        object.insert(
            "nested".to_owned(),
            json!({ "a": [{ "b": odd, "c": [] }, {}, [[1, "x"], ["é"]]] }),
        );
        let value = Value::Object(object.clone());
        let text = document(&object);
        assert_eq!(read_back(&text), value, "{text}");
    }

    #[test]
    fn it_reads_well() {
        let value = json!({
            "workflow": "notes", "tags": ["a", "b"], "limit": 5,
            "steps": { "pulls": { "tool": "github.list", "with": { "repo": "${{ .inputs.repo }}" } } },
            "text": "one\ntwo\n"
        });
        let Value::Object(object) = value else {
            unreachable!()
        };
        let expected = "workflow: notes\ntags: [a, b]\nlimit: 5\nsteps:\n  pulls:\n    tool: github.list\n    with:\n      repo: ${{ .inputs.repo }}\ntext: |\n  one\n  two\n";
        assert_eq!(document(&object), expected);
    }
}
