//! Source files and their lines: from bytes to text, and from a byte offset to a line and column.
//! Reading files from disk is left to the caller.

use std::sync::Arc;

use crate::place::offset;
use crate::{Code, Diagnostic, Place, Span, codes};

/// Names one source of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(u32);

/// A named text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Arc<[u32]>,
}

/// A place as people count: from one, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// All sources of one check. Ids stay valid, since nothing is removed.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> SourceId {
        let id = SourceId(offset(self.files.len()));
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| offset(at + 1)))
            .collect();
        self.files.push(SourceFile {
            name: name.into(),
            text,
            line_starts,
        });
        id
    }

    /// Adds bytes as read from disk. Bytes that are not UTF-8 are replaced and reported; UTF-16 is reported and read,
    /// so that it shows the faults it has and no others.
    pub fn add_bytes(
        &mut self,
        name: impl Into<Arc<str>>,
        bytes: Vec<u8>,
    ) -> (SourceId, Option<Diagnostic>) {
        let fault = match String::from_utf8(bytes) {
            Ok(text) => return (self.add(name, text), None),
            Err(fault) => fault,
        };
        if let Some(text) = utf16(fault.as_bytes()) {
            let mark = '\u{feff}'.len_utf8();
            let first = text[mark..].chars().next().map_or(0, char::len_utf8);
            let id = self.add(name, text);
            let fault = not_utf8(Span::new(id, mark, mark + first), "from here on")
                .help("the file looks like UTF-16; save it as UTF-8");
            return (id, Some(fault));
        }
        let valid_up_to = fault.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(fault.as_bytes()).into_owned();
        let id = self.add(name, text);
        let span = Span::new(
            id,
            valid_up_to,
            valid_up_to + char::REPLACEMENT_CHARACTER.len_utf8(),
        );
        let fault = not_utf8(span, "these bytes are no character").help("save the file as UTF-8");
        (id, Some(fault))
    }

    /// The file of an id of this map.
    pub fn get(&self, id: SourceId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &SourceFile)> {
        (0..).map(SourceId).zip(&self.files)
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        let text = self.get(span.source).text();
        text.get(span.range()).unwrap_or_default()
    }

    /// Line and column of the span's start.
    pub fn position(&self, span: Span) -> Position {
        self.get(span.source).position(span.start as usize)
    }

    /// The place as one line of text: `release.yaml:12:22`, or `origin: spec.steps[2].tool`.
    pub fn describe(&self, place: &Place) -> String {
        match place {
            Place::Path(path) => path.to_string(),
            Place::Span(span) => {
                let Position { line, column } = self.position(*span);
                format!("{}:{line}:{column}", self.get(span.source).name())
            }
        }
    }
}

impl SourceFile {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// Line and column of a byte offset; an offset past the end is the end.
    pub fn position(&self, byte: usize) -> Position {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.line_index(byte);
        let start = self.line_starts[line] as usize;
        let mut before = &self.text[start..byte];
        if line == 0 {
            // A byte order mark is not a column.
            before = before.trim_start_matches('\u{feff}');
        }
        Position {
            line: line + 1,
            column: before.chars().count() + 1,
        }
    }

    /// Byte range of a line, counted from zero, without its line break.
    pub fn line_range(&self, index: usize) -> std::ops::Range<usize> {
        let end = self.text.len();
        let start = self.line_starts.get(index).map_or(end, |at| *at as usize);
        let next = self
            .line_starts
            .get(index + 1)
            .map_or(end, |at| *at as usize);
        let line = &self.text[start..next];
        start..start + line.trim_end_matches(['\n', '\r']).len()
    }

    /// The line, counted from zero, that holds this byte.
    pub fn line_index(&self, byte: usize) -> usize {
        let byte = offset(byte);
        self.line_starts
            .partition_point(|start| *start <= byte)
            .saturating_sub(1)
    }
}

fn not_utf8(span: Span, label: &str) -> Diagnostic {
    const CODE: Code = codes::NOT_UTF8;
    Diagnostic::error(CODE, "the file is not UTF-8 text").label(span, label)
}

/// The text of bytes that begin with the mark of UTF-16, which stays.
fn utf16(bytes: &[u8]) -> Option<String> {
    let unit = match bytes.get(..2)? {
        [0xFF, 0xFE] => u16::from_le_bytes,
        [0xFE, 0xFF] => u16::from_be_bytes,
        _ => return None,
    };
    let pairs = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let units: Vec<u16> = pairs.collect();
    Some(String::from_utf16_lossy(&units))
}
