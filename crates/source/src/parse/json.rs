//! JSON files, read exactly: a fault is reported and the reading goes on at the next value.
//! Comments and trailing commas, which editors allow in their settings, are accepted with a warning.

use std::sync::Arc;

use serde_json::Number;

use super::align::Segments;
use super::faults;
use crate::limits::{DEPTH_MAX, NODES_MAX, SYNTAX_FAULTS_MAX};
use crate::{Diagnostic, Diagnostics, Document, Entry, Node, NodeKind, SourceId, Span, Text};

pub(super) fn parse(source: SourceId, text: &str, diagnostics: &mut Diagnostics) -> Vec<Document> {
    let mut reader = Reader {
        source,
        text,
        at: 0,
        node_count: 0,
        fault_count: 0,
        diagnostics,
    };
    reader.skip_if('\u{feff}');
    reader.skip_space();
    if reader.rest().is_empty() {
        return Vec::new();
    }
    let root = reader.value(0);
    reader.skip_space();
    if let (Some(_), false) = (&root, reader.rest().is_empty()) {
        let span = reader.word();
        let _ = reader.fault(
            span,
            "text after the end of the JSON value",
            "nothing may follow",
        );
    }
    let complete = reader.fault_count == 0 && root.is_some();
    let root = root.unwrap_or_else(|| Node::new(NodeKind::Null, Span::new(source, 0, 0)));
    vec![Document {
        root,
        index: 0,
        complete,
    }]
}

struct Reader<'t, 'd> {
    source: SourceId,
    text: &'t str,
    at: usize,
    node_count: usize,
    fault_count: usize,
    diagnostics: &'d mut Diagnostics,
}

impl<'t> Reader<'t, '_> {
    /// One value; `None` when reading must stop.
    fn value(&mut self, depth: usize) -> Option<Node> {
        self.skip_space();
        let start = self.at;
        self.node_count += 1;
        if self.node_count > NODES_MAX {
            return self.stop(faults::too_many_nodes(self.span(start)));
        }
        let kind = match self.rest().chars().next() {
            Some('{') => {
                self.check_depth(depth)?;
                let entries = self.object(depth)?;
                NodeKind::Mapping(self.without_duplicates(entries))
            }
            Some('[') => {
                self.check_depth(depth)?;
                NodeKind::Sequence(self.array(depth)?)
            }
            Some('"') => NodeKind::String(self.string()?),
            Some(_) => self.word_value()?,
            None => {
                let span = Span::new(self.source, self.last_text(), self.text.len());
                self.fault(
                    span,
                    "the file ends where a value is due",
                    "expected a value",
                )?;
                return None;
            }
        };
        Some(Node::new(kind, self.span(start)))
    }

    fn object(&mut self, depth: usize) -> Option<Vec<Entry>> {
        let open = self.at;
        self.at += 1;
        let mut entries = Vec::new();
        while self.next_item('}', open, entries.is_empty())? {
            let key = match self.rest().chars().next() {
                Some('"') => self.string()?,
                _ => self.bare_key()?,
            };
            self.skip_space();
            if !self.skip_if(':') {
                let span = self.word_at();
                self.fault(span, "a key without `:`", "expected `:`")?;
            }
            let value = self.value(depth + 1)?;
            entries.push(Entry { key, value });
        }
        Some(entries)
    }

    fn array(&mut self, depth: usize) -> Option<Vec<Node>> {
        let open = self.at;
        self.at += 1;
        let mut items = Vec::new();
        while self.next_item(']', open, items.is_empty())? {
            items.push(self.value(depth + 1)?);
        }
        Some(items)
    }

    /// Moves to the next item of a collection, or past its end.
    fn next_item(&mut self, close: char, open: usize, is_first: bool) -> Option<bool> {
        self.skip_space();
        if self.skip_if(close) {
            return Some(false);
        }
        let comma = self.at;
        if !is_first && !self.skip_if(',') {
            let span = self.word_at();
            if self.rest().starts_with(['}', ']']) {
                let message = format!("expected `{close}`");
                self.fault(span, "brackets that do not match", &message)?;
                self.at += 1;
                return Some(false);
            }
            if !self.rest().is_empty() {
                self.fault(span, "a missing comma", "expected `,` before this")?;
            }
        }
        self.skip_space();
        if !is_first && self.skip_if(close) {
            let span = Span::new(self.source, comma, comma + 1);
            self.diagnostics
                .push(faults::lenient_json(span, "a trailing comma"));
            return Some(false);
        }
        if self.rest().is_empty() {
            let span = Span::new(self.source, open, open + 1);
            let label = format!("`{close}` is missing");
            self.fault(span, "a bracket is not closed", &label)?;
            return Some(false);
        }
        Some(true)
    }

    fn string(&mut self) -> Option<Text> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        let mut segments = Segments::default();
        loop {
            let at = self.at;
            let Some(next) = self.rest().chars().next() else {
                return self.unclosed(start, value);
            };
            match next {
                '"' => {
                    self.at += 1;
                    break;
                }
                '\n' | '\r' => return self.unclosed(start, value),
                '\\' => {
                    let decoded = self.escape()?;
                    segments.decoded(value.len(), at, self.at - at);
                    value.push(decoded);
                }
                _ => {
                    self.at += next.len_utf8();
                    if next < ' ' {
                        let span = Span::new(self.source, at, self.at);
                        self.fault(
                            span,
                            "a control character in a string",
                            "write it as an escape",
                        )?;
                    }
                    segments.verbatim(value.len(), at, next.len_utf8());
                    value.push(next);
                }
            }
        }
        let span = self.span(start);
        Some(Text::with_offsets(
            Arc::from(value),
            span,
            segments.finish(),
        ))
    }

    fn unclosed(&mut self, start: usize, value: String) -> Option<Text> {
        let span = self.span(start);
        self.fault(span, "a string is not closed", "`\"` is missing at the end")?;
        Some(Text::new(value, span))
    }

    /// One escape, the backslash included.
    fn escape(&mut self) -> Option<char> {
        let start = self.at;
        self.at += 1;
        let code = self.rest().chars().next();
        let simple = match code {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode_escape(start),
            _ => {
                let span = Span::new(self.source, start, self.at);
                self.fault(span, "an unknown escape", "write `\\\\` for a backslash")?;
                return Some('\\');
            }
        };
        self.at += 1;
        Some(simple)
    }

    fn unicode_escape(&mut self, start: usize) -> Option<char> {
        self.at += 1;
        let first = self.hexadecimal();
        let decoded = match first {
            Some(high @ 0xD800..=0xDBFF) if self.rest().starts_with("\\u") => {
                self.at += 2;
                let low = self
                    .hexadecimal()
                    .filter(|low| (0xDC00..=0xDFFF).contains(low));
                low.and_then(|low| {
                    char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
                })
            }
            Some(number) => char::from_u32(number),
            None => None,
        };
        if decoded.is_none() {
            let span = self.span(start);
            self.fault(
                span,
                "an escape that is no character",
                "expected `\\u` and four digits",
            )?;
        }
        Some(decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    /// `true`, `null`, a number, or a word that is no JSON.
    fn word_value(&mut self) -> Option<NodeKind> {
        let span = self.word();
        let word = &self.text[span.range()];
        match word {
            "null" => return Some(NodeKind::Null),
            "true" => return Some(NodeKind::Bool(true)),
            "false" => return Some(NodeKind::Bool(false)),
            _ => {}
        }
        if let Ok(number) = serde_json::from_str::<Number>(word) {
            if number.is_f64()
                && word.bytes().all(|b| b.is_ascii_digit() || b == b'-')
                && word != "-0"
            {
                self.diagnostics.push(faults::inexact_number(word, span));
            }
            return Some(NodeKind::Number(number));
        }
        if word.parse::<f64>().is_ok_and(f64::is_infinite)
            && word.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        {
            self.diagnostics.push(faults::not_a_json_number(word, span));
            return Some(NodeKind::String(Text::new(word, span)));
        }
        self.fault(
            span,
            "not a JSON value",
            "strings are written in double quotes",
        )?;
        Some(NodeKind::String(Text::new(word, span)))
    }

    fn bare_key(&mut self) -> Option<Text> {
        let span = self.word();
        self.fault(
            span,
            "a key that is no string",
            "keys are written in double quotes",
        )?;
        Some(Text::new(self.text[span.range()].trim_matches('\''), span))
    }

    /// Takes the characters up to the next separator; one at least, so that reading goes on.
    fn word(&mut self) -> Span {
        let span = self.word_at();
        self.at = span.end as usize;
        span
    }

    fn word_at(&self) -> Span {
        let rest = self.rest();
        let len = rest
            .find(|c: char| {
                c.is_whitespace() || matches!(c, ',' | ':' | '{' | '}' | '[' | ']' | '"')
            })
            .unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        Span::new(self.source, self.at, self.at + len.max(first))
    }

    fn skip_space(&mut self) {
        loop {
            let trimmed = self.rest().trim_start_matches([' ', '\t', '\n', '\r']);
            self.at = self.text.len() - trimmed.len();
            let len = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            let shown = trimmed[..len].lines().next().map_or(0, str::len);
            let span = Span::new(self.source, self.at, self.at + shown);
            self.diagnostics
                .push(faults::lenient_json(span, "a comment"));
            self.at += len;
        }
    }

    fn skip_if(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn check_depth(&mut self, depth: usize) -> Option<()> {
        if depth >= DEPTH_MAX {
            let span = Span::new(self.source, self.at, self.at + 1);
            return self.stop(faults::too_deep(span));
        }
        Some(())
    }

    /// Reports a fault; `None` when there have been too many to go on.
    fn fault(&mut self, span: Span, message: &str, label: &str) -> Option<()> {
        self.fault_count += 1;
        self.diagnostics.push(faults::syntax(span, message, label));
        (self.fault_count < SYNTAX_FAULTS_MAX).then_some(())
    }

    fn stop<T>(&mut self, diagnostic: Diagnostic) -> Option<T> {
        self.fault_count += 1;
        self.diagnostics.push(diagnostic);
        None
    }

    fn without_duplicates(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        super::entries::without_duplicates(entries, self.diagnostics)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.source, start, self.at)
    }

    fn last_text(&self) -> usize {
        let text = self.text.trim_end();
        text.char_indices().next_back().map_or(0, |(at, _)| at)
    }
}
