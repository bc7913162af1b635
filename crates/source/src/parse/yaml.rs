//! YAML files: the parser's events become documents, and after a syntax fault reading goes on.
//!
//! The parser stops at its first fault. So the faulty line is blanked out, offsets unchanged, and the text read
//! again; when that only leads to a next fault nearby, the rest of that document is given up and the next one read.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScanError};

use super::builder::{Builder, LimitReached};
use super::faults;
use super::written::ScalarEvent;
use crate::limits::SYNTAX_FAULTS_MAX;
use crate::{Diagnostic, Diagnostics, Document, Node, SourceId, Span};

pub(super) fn parse(source: SourceId, text: &str, diagnostics: &mut Diagnostics) -> Vec<Document> {
    let mut reading = Reading {
        source,
        original: text,
        text: Cow::Borrowed(text),
        given_up: Vec::new(),
        faults: Vec::new(),
    };
    let mut built = reading.run();
    built.append(&mut reading.given_up);
    built.sort_by_key(|document| document.start);
    let mut documents = Vec::new();
    for document in built {
        diagnostics.append(document.diagnostics);
        let Some(root) = document.root.filter(|root| !is_blank(root)) else {
            continue;
        };
        let faulty = reading
            .faults
            .iter()
            .any(|fault| (document.start..=document.end).contains(&fault.offset));
        documents.push(Document {
            root,
            index: documents.len(),
            complete: document.complete && !faulty,
        });
    }
    diagnostics.extend(reading.faults.into_iter().map(|fault| fault.diagnostic));
    documents
}

/// One file being read, possibly several times.
struct Reading<'t> {
    source: SourceId,
    original: &'t str,
    /// With what is left out blanked.
    text: Cow<'t, str>,
    given_up: Vec<Built>,
    faults: Vec<Fault>,
}

struct Built {
    root: Option<Node>,
    diagnostics: Diagnostics,
    start: usize,
    end: usize,
    complete: bool,
    /// The innermost `[` or `{` left open.
    open_bracket: Option<usize>,
}

struct Fault {
    offset: usize,
    line: usize,
    diagnostic: Diagnostic,
}

/// What one time through the text gave.
struct Pass {
    built: Vec<Built>,
    /// The document in which the pass ended, and why.
    broken: Option<(Built, Option<ScanError>)>,
}

impl Reading<'_> {
    fn run(&mut self) -> Vec<Built> {
        // Each round blanks out a line or a document, so the text gets shorter; the bound is on time.
        for _ in 0..2 * SYNTAX_FAULTS_MAX {
            let mut pass = self.pass();
            let Some((broken, error)) = pass.broken else {
                return pass.built;
            };
            let Some(error) = error else {
                // A limit was reached, and is reported.
                pass.built.push(broken);
                return pass.built;
            };
            let offset = self.locate(&error, broken.start);
            let line = self.text[..offset].matches('\n').count();
            let nearby = self
                .faults
                .last()
                .is_some_and(|last| line <= last.line + 1 && last.offset >= broken.start);
            if !nearby {
                let diagnostic = self.explain(error.info(), offset, broken.open_bracket);
                self.faults.push(Fault {
                    offset,
                    line,
                    diagnostic,
                });
            }
            if self.faults.len() >= SYNTAX_FAULTS_MAX {
                pass.built.push(broken);
                return pass.built;
            }
            if nearby || !is_local(error.info()) {
                let end = next_document(&self.text, offset);
                self.blank(broken.start, end);
                self.given_up.push(broken);
            } else {
                let (start, end) = line_around(&self.text, offset);
                let is_value = is_of_one_value(error.info());
                self.blank(if is_value { offset } else { start }, end);
            }
        }
        self.pass().built
    }

    fn pass(&self) -> Pass {
        let text = self.text.as_ref();
        let offsets = Offsets::new(text);
        let mut parser = Parser::new_from_str(text);
        let mut built = Vec::new();
        let mut start = 0;
        let mut end = 0;
        let mut builder = Builder::new(self.source, text, 0);
        let stopped = loop {
            let (event, span) = match parser.next_event() {
                None => break None,
                Some(Err(error)) => break Some(Some(error)),
                Some(Ok(next)) => next,
            };
            let from = offsets.byte(span.start.index());
            let to = offsets.byte(span.end.index());
            match event {
                Event::StreamEnd => break None,
                // One without `---` starts where the last one ended; its mark may lie behind a block's header.
                Event::DocumentStart(false) => {}
                Event::DocumentStart(true) => start = to,
                Event::DocumentEnd => {
                    let next = Builder::new(self.source, text, builder.node_count());
                    let done = std::mem::replace(&mut builder, next);
                    built.push(Built::new(done, start, from, true));
                    start = from;
                }
                event => {
                    if step(&mut builder, event, from, to).is_err() {
                        break Some(None);
                    }
                }
            }
            end = to;
        };
        let broken = stopped.map(|error| (Built::new(builder, start, end, false), error));
        Pass { built, broken }
    }

    /// Where a fault is shown: at its last character when found only at the end of a text or line.
    fn locate(&self, error: &ScanError, document_start: usize) -> usize {
        let offset = Offsets::new(&self.text).byte(error.marker().index());
        let mut offset = self.original.floor_char_boundary(offset);
        let is_line_before = error.info().contains("simple key expect");
        if is_line_before || self.text[offset..].trim().is_empty() {
            let last = self.text[..offset].trim_end();
            let last = last.char_indices().next_back().map_or(0, |(at, _)| at);
            offset = last.max(document_start.min(offset));
        }
        if is_line_before {
            let (start, _) = line_around(&self.text, offset);
            let line = &self.text[start..];
            offset = start + (line.len() - line.trim_start_matches(' ').len());
        }
        offset
    }

    fn blank(&mut self, start: usize, end: usize) {
        let text = self.text.to_mut();
        let blanks: String = text[start..end]
            .bytes()
            .map(|byte| {
                if matches!(byte, b'\n' | b'\r') {
                    char::from(byte)
                } else {
                    ' '
                }
            })
            .collect();
        text.replace_range(start..end, &blanks);
    }

    /// The fault of a line that a tab indents: the one at this place, or the next, when a text goes on into it.
    fn tab(&self, offset: usize) -> Option<Diagnostic> {
        let mut line = line_around(&self.text, offset);
        if !self.text[line.0..offset].trim().is_empty() {
            line = line_around(&self.text, (line.1 + 1).min(self.text.len()));
        }
        let (start, end) = line;
        let own = &self.text[start..end];
        let indent = &own[..own.len() - own.trim_start().len()];
        if !indent.contains('\t') {
            return None;
        }
        let rest = &self.text[end..next_document(&self.text, offset).max(end)];
        let indented = rest
            .lines()
            .filter(|line| line.trim_start_matches(' ').starts_with('\t'));
        let span = Span::new(self.source, start, start + indent.len());
        Some(faults::tab_indentation(span, indented.count()))
    }

    fn explain(&self, info: &str, offset: usize, open_bracket: Option<usize>) -> Diagnostic {
        let (line_start, line_end) = line_around(&self.text, offset);
        let line = &self.text[line_start..line_end];
        let width = self.text[offset..].chars().next().map_or(0, char::len_utf8);
        let span = Span::new(self.source, offset, offset + width);
        if info.contains("tab")
            && let Some(diagnostic) = self.tab(offset)
        {
            return diagnostic;
        }
        if info.contains("unknown anchor") {
            let word: &str = self.text[offset..]
                .split(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}'))
                .next()
                .unwrap_or_default();
            let span = Span::new(self.source, offset, offset + word.len());
            return faults::unknown_anchor(span, word.trim_start_matches('*'));
        }
        let (message, label, help) = wording(info);
        let mut diagnostic = faults::syntax(span, message, label);
        if let Some(bracket) = open_bracket {
            let bracket = Span::new(self.source, bracket, bracket + 1);
            diagnostic = diagnostic.secondary(bracket, "opened here");
        }
        if let Some(item) = item_of_optional_list(line) {
            let help = format!("write `{item}[]?`, or `\"[{item}]?\"` in quotes");
            return diagnostic.help(help);
        }
        match help {
            _ if line.contains(": {{") || line.contains("- {{") => {
                diagnostic.help("a value that starts with `{{` must be quoted")
            }
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

impl Built {
    fn new(builder: Builder<'_>, start: usize, end: usize, complete: bool) -> Self {
        let open_bracket = builder.open_bracket();
        let (root, diagnostics) = builder.finish();
        Self {
            root,
            diagnostics,
            start,
            end,
            complete,
            open_bracket,
        }
    }
}

fn step(
    builder: &mut Builder<'_>,
    event: Event<'_>,
    from: usize,
    to: usize,
) -> Result<(), LimitReached> {
    match event {
        Event::Scalar(value, style, anchor, tag) => builder.scalar(&ScalarEvent {
            value: &value,
            style,
            anchor,
            tag: tag.as_deref(),
            start: from,
            end: to,
        }),
        Event::SequenceStart(anchor, tag) => {
            if let Some(tag) = tag {
                builder.tag_on_collection(&tag, from);
            }
            builder.start_sequence(from, anchor)
        }
        Event::MappingStart(anchor, tag) => {
            if let Some(tag) = tag {
                builder.tag_on_collection(&tag, from);
            }
            builder.start_mapping(from, anchor)
        }
        Event::SequenceEnd | Event::MappingEnd => builder.end_collection(from, to),
        Event::Alias(anchor) => builder.alias(anchor, from, to),
        Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd => Ok(()),
    }
}

/// Nothing but white space and comments.
fn is_blank(root: &Node) -> bool {
    root.is_null() && root.place.span().is_some_and(Span::is_empty)
}

/// Whether leaving out the faulty line may bring the parser back in step; what is left open cannot.
fn is_local(info: &str) -> bool {
    !(info.contains("quoted scalar")
        || info.contains("flow")
        || info.contains("tab")
        || info.contains("unexpected e")
        || info.contains("bracket"))
}

/// Whether the rest of the line is the fault, and the key before it can be kept.
fn is_of_one_value(info: &str) -> bool {
    info.contains("unknown anchor") || info.starts_with("unexpected character")
}

/// `string` where a line has `[string]?`, of which YAML reads the list and stumbles over the rest.
fn item_of_optional_list(line: &str) -> Option<&str> {
    let (before, _) = line.split_once("]?")?;
    let (_, item) = before.rsplit_once('[')?;
    let is_word = |item: &str| !item.is_empty() && item.chars().all(|c| c.is_ascii_alphabetic());
    Some(item.trim()).filter(|item| is_word(item))
}

/// The parser's words in ours: message, label, help.
fn wording(info: &str) -> (String, &'static str, Option<&'static str>) {
    let said = |message: &str, label, help| (message.to_owned(), label, Some(help));
    if info.contains("mapping values are not allowed") {
        return said(
            "a second `:` in a line, or a line indented too far",
            "no value can start here",
            "quote the text if the `:` belongs to it, or correct the indentation",
        );
    }
    if let Some(character) = info.strip_prefix("unexpected character: `") {
        let character = character.trim_end_matches('\'');
        return (
            format!("a value cannot start with `{character}`"),
            "not allowed here",
            Some("write the value in quotes"),
        );
    }
    if info.contains("mapping keys are not allowed") {
        return said(
            "a `?` where YAML takes it for the start of a key",
            "no key can start here",
            "quote the text if the `?` belongs to it",
        );
    }
    if info.contains("simple key expect") {
        return said(
            "a line without `:` where a key is needed",
            "expected `key: value`",
            "add `:` after the key, or indent the line if it continues the value above",
        );
    }
    if info.contains("quoted scalar")
        && (info.contains("end of stream")
            || info.contains("indentation")
            || info.contains("document indicator"))
    {
        return said(
            "a quoted text is not closed",
            "the quote is opened here or above",
            "add the closing quote",
        );
    }
    if info.contains("escape") {
        return said(
            "an unknown escape in a double-quoted text",
            "in this text",
            "write `\\\\` for a backslash, or use single quotes",
        );
    }
    if info.contains("flow")
        || info.contains("illegal placement of ':'")
        || info.contains("bracket")
    {
        return said(
            "a `[` or `{` is not closed, or its items are not separated",
            "found here",
            "add the missing `]`, `}` or `,`, or quote the text",
        );
    }
    if info.contains("did not find expected key")
        || info.contains("expected '-'")
        || info.contains("block sequence entries")
        || info.contains("invalid indentation")
    {
        return said(
            "this line does not fit the lines above it",
            "indented differently, or not of the same kind",
            "indent the line as its neighbours are",
        );
    }
    (info.to_owned(), "here", None)
}

/// Start and end of the line around a byte, without its line break.
fn line_around(text: &str, offset: usize) -> (usize, usize) {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let end = text[offset..]
        .find('\n')
        .map_or(text.len(), |at| offset + at);
    (start, end)
}

/// Where the next `---` line starts, or the end.
fn next_document(text: &str, offset: usize) -> usize {
    let mut at = offset.saturating_sub(1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    while let Some(found) = text[at..].find("\n---") {
        let line = at + found + 1;
        let after = text[line + 3..].chars().next();
        if after.is_none_or(char::is_whitespace) {
            return line;
        }
        at = line;
    }
    text.len()
}

/// The parser counts characters; we count bytes.
enum Offsets {
    Same(usize),
    Table(Vec<u32>),
}

impl Offsets {
    fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Self::Same(text.len());
        }
        let ends = std::iter::once(text.len());
        let table = text.char_indices().map(|(at, _)| at).chain(ends);
        Self::Table(table.map(crate::place::offset).collect())
    }

    fn byte(&self, character: usize) -> usize {
        match self {
            Self::Same(len) => character.min(*len),
            Self::Table(table) => {
                let last = table.len() - 1;
                table[character.min(last)] as usize
            }
        }
    }
}
