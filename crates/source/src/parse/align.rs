//! From the decoded value of a scalar back to its source bytes, by walking both side by side.
//! Whatever does not match byte for byte is given up, so a mapping found is never wrong.

use saphyr_parser::ScalarStyle;

use super::written::Written;
use crate::place::offset;
use crate::text::{Offsets, Segment};

/// Finds the mapping of a scalar.
pub(super) fn align(written: Written<'_>, value: &str, style: ScalarStyle) -> Offsets {
    let Written { raw, base, .. } = written;
    let found =
        match style {
            ScalarStyle::Plain => flow(raw, base, value, Escapes::None),
            ScalarStyle::SingleQuoted => inside_quotes(raw, '\'')
                .and_then(|inner| flow(inner, base + 1, value, Escapes::Single)),
            ScalarStyle::DoubleQuoted => inside_quotes(raw, '"')
                .and_then(|inner| flow(inner, base + 1, value, Escapes::Double)),
            ScalarStyle::Literal => literal(written, value),
            ScalarStyle::Folded => folded(written, value),
        };
    found.map_or(Offsets::Whole, Segments::finish)
}

/// Runs found so far; neighbours that continue each other are one.
#[derive(Default)]
pub(super) struct Segments(Vec<Segment>);

impl Segments {
    /// `len` bytes of the value stand as they are at `source`.
    pub(super) fn verbatim(&mut self, value: usize, source: usize, len: usize) {
        let (value, source, len) = (offset(value), offset(source), offset(len));
        if let Some(last) = self.0.last_mut()
            && last.verbatim
            && last.value + last.source_len == value
            && last.source + last.source_len == source
        {
            last.source_len += len;
            return;
        }
        self.push(value, source, len, true);
    }

    /// The value's bytes from here on come from these source bytes as a whole.
    pub(super) fn decoded(&mut self, value: usize, source: usize, source_len: usize) {
        self.push(offset(value), offset(source), offset(source_len), false);
    }

    fn push(&mut self, value: u32, source: u32, source_len: u32, verbatim: bool) {
        self.0.push(Segment {
            value,
            source,
            source_len,
            verbatim,
        });
    }

    pub(super) fn finish(self) -> Offsets {
        match self.0.as_slice() {
            [] => Offsets::Whole,
            [only] if only.verbatim && only.value == 0 => Offsets::Linear(only.source),
            _ => Offsets::Segments(self.0.into()),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    None,
    Single,
    Double,
}

fn inside_quotes(raw: &str, quote: char) -> Option<&str> {
    raw.strip_prefix(quote)?.strip_suffix(quote)
}

/// Plain and quoted scalars: text, escapes, and line breaks folded with the white space around them.
fn flow(raw: &str, base: usize, value: &str, escapes: Escapes) -> Option<Segments> {
    let mut segments = Segments::default();
    if raw == value && !raw.contains(['\n', '\r']) {
        segments.verbatim(0, base, raw.len());
        return Some(segments);
    }
    let mut at = 0;
    let mut done = 0;
    while at < raw.len() {
        let rest = &raw[at..];
        if let Some((len, breaks)) = fold(rest, escapes) {
            let folded = if breaks == 1 {
                " ".to_owned()
            } else {
                "\n".repeat(breaks - 1)
            };
            value[done..].starts_with(&folded).then_some(())?;
            segments.decoded(done, base + at, len);
            at += len;
            done += folded.len();
            continue;
        }
        let (len, decoded) = next_character(rest, escapes)?;
        if let Some(decoded) = decoded {
            value[done..].starts_with(decoded).then_some(())?;
            if rest.starts_with(decoded) && len == decoded.len_utf8() {
                segments.verbatim(done, base + at, len);
            } else {
                segments.decoded(done, base + at, len);
            }
            done += decoded.len_utf8();
        }
        at += len;
    }
    (done == value.len()).then_some(segments)
}

/// A run of white space with line breaks in it: its length and how many breaks it has.
fn fold(rest: &str, escapes: Escapes) -> Option<(usize, usize)> {
    let len = rest
        .find(|c: char| !matches!(c, ' ' | '\t' | '\n' | '\r'))
        .unwrap_or(rest.len());
    let run = &rest[..len];
    let breaks = run.replace("\r\n", "\n").matches(['\n', '\r']).count();
    // An escaped line break is no fold; `next_character` sees the backslash first.
    (breaks > 0 && (escapes != Escapes::None || len < rest.len())).then_some((len, breaks))
}

/// The length of the next character as written and what it stands for; nothing for an escaped line break.
fn next_character(rest: &str, escapes: Escapes) -> Option<(usize, Option<char>)> {
    let first = rest.chars().next()?;
    match (escapes, first) {
        (Escapes::Single, '\'') => rest.starts_with("''").then_some((2, Some('\''))),
        (Escapes::Double, '\\') => escape(rest),
        _ => Some((first.len_utf8(), Some(first))),
    }
}

fn escape(rest: &str) -> Option<(usize, Option<char>)> {
    let code = rest[1..].chars().next()?;
    let simple = |decoded| Some((1 + code.len_utf8(), Some(decoded)));
    let hexadecimal = |digits: usize| {
        let end = 2 + digits;
        let number = u32::from_str_radix(rest.get(2..end)?, 16).ok()?;
        Some((end, Some(char::from_u32(number)?)))
    };
    match code {
        '0' => simple('\0'),
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        't' | '\t' => simple('\t'),
        'n' => simple('\n'),
        'v' => simple('\u{b}'),
        'f' => simple('\u{c}'),
        'r' => simple('\r'),
        'e' => simple('\u{1b}'),
        ' ' | '"' | '/' | '\\' => simple(code),
        'N' => simple('\u{85}'),
        '_' => simple('\u{a0}'),
        'L' => simple('\u{2028}'),
        'P' => simple('\u{2029}'),
        'x' => hexadecimal(2),
        'u' => hexadecimal(4),
        'U' => hexadecimal(8),
        '\n' | '\r' => {
            let after = &rest[1..];
            let after = after.strip_prefix("\r\n").unwrap_or(&after[1..]);
            let text = after.trim_start_matches([' ', '\t']);
            Some((rest.len() - text.len(), None))
        }
        _ => None,
    }
}

/// Literal blocks: each line of the value is a line of the source without its indentation.
fn literal(written: Written<'_>, value: &str) -> Option<Segments> {
    let mut segments = Segments::default();
    let mut done = above(&mut segments, written.base, value);
    let mut lines = Lines::new(written);
    for text in value[done..].split_inclusive('\n') {
        let line = lines.next()?;
        let bare = text.strip_suffix('\n').unwrap_or(text);
        (line.text == bare).then_some(())?;
        segments.verbatim(done, line.at, bare.len());
        done += bare.len();
        if text.len() > bare.len() {
            line.break_into(&mut segments, done);
            done += 1;
        }
    }
    Some(segments)
}

/// Folded blocks: as literal ones, but a line break may be a space, and blank lines may be fewer.
fn folded(written: Written<'_>, value: &str) -> Option<Segments> {
    let mut segments = Segments::default();
    let mut done = above(&mut segments, written.base, value);
    let mut lines = Lines::new(written).peekable();
    while done < value.len() {
        let line = lines.next()?;
        value[done..].starts_with(line.text).then_some(())?;
        segments.verbatim(done, line.at, line.text.len());
        done += line.text.len();
        let mut breaks = 1;
        while lines.next_if(|next| next.text.is_empty()).is_some() {
            breaks += 1;
        }
        let rest = &value[done..];
        let newlines = rest.len() - rest.trim_start_matches('\n').len();
        if newlines > 0 || rest.starts_with(' ') {
            line.break_into(&mut segments, done);
            done += newlines.clamp(1, breaks);
        }
    }
    Some(segments)
}

/// Blank lines above the first line of text, where `written` starts. Returns how much of the value they are.
fn above(segments: &mut Segments, base: usize, value: &str) -> usize {
    let len = value.len() - value.trim_start_matches('\n').len();
    if len > 0 {
        segments.decoded(0, base, 0);
    }
    len
}

/// The lines of a block scalar, without their indentation.
struct Lines<'t> {
    written: Written<'t>,
    next: usize,
}

struct Line<'t> {
    at: usize,
    text: &'t str,
    break_len: usize,
}

impl<'t> Lines<'t> {
    fn new(written: Written<'t>) -> Self {
        Self { written, next: 0 }
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        let rest = self.written.raw.get(self.next..)?;
        if rest.is_empty() {
            return None;
        }
        let line = rest.split_inclusive('\n').next()?;
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = bare.strip_suffix('\r').unwrap_or(bare);
        // The first line has lost its indentation to the span already.
        let indent = if self.next == 0 {
            0
        } else {
            self.written.indent
        };
        let skipped = bare
            .bytes()
            .take(indent)
            .take_while(|byte| *byte == b' ')
            .count();
        let found = Line {
            at: self.written.base + self.next + skipped,
            text: &bare[skipped..],
            break_len: line.len() - bare.len(),
        };
        self.next += line.len();
        Some(found)
    }
}

impl Line<'_> {
    /// Records that the value's line break at `done` is the one that ends this line.
    fn break_into(&self, segments: &mut Segments, done: usize) {
        segments.decoded(done, self.at + self.text.len(), self.break_len);
    }
}
