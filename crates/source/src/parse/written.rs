//! Where a YAML scalar itself stands, without its anchor, tag and block header.
//! How its text maps to its value is left to `align`.

use saphyr_parser::{ScalarStyle, Tag};

/// A scalar event.
pub(super) struct ScalarEvent<'e> {
    pub(super) value: &'e str,
    pub(super) style: ScalarStyle,
    pub(super) anchor: usize,
    pub(super) tag: Option<&'e Tag>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A scalar as it stands in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<'t> {
    /// Quotes included; of a block only its lines, from the first character of text on.
    pub(super) raw: &'t str,
    /// Where `raw` starts in the source.
    pub(super) base: usize,
    /// Indentation of a block's lines.
    pub(super) indent: usize,
}

/// The scalar's own text, without anchor, tag and block header.
pub(super) fn written<'t>(text: &'t str, event: &ScalarEvent<'_>) -> Written<'t> {
    let mut start = event.start;
    let is_block = matches!(event.style, ScalarStyle::Literal | ScalarStyle::Folded);
    let has_properties = event.anchor > 0 || event.tag.is_some();
    if has_properties {
        start = after_properties(text, start, event.end);
    }
    if is_block && has_properties {
        start = block_text(text, start, event);
    }
    if !is_block && event.value.is_empty() && event.style == ScalarStyle::Plain {
        return Written {
            raw: "",
            base: start,
            indent: 0,
        };
    }
    // Only blocks have an indentation; looking for it elsewhere would cost a long line once a scalar.
    let indent = if is_block {
        text[..start].len() - text[..start].trim_end_matches(' ').len()
    } else {
        0
    };
    let mut raw = &text[start..event.end.max(start)];
    if has_properties
        && matches!(
            event.style,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted
        )
    {
        raw = quoted(raw);
    }
    Written {
        raw,
        base: start,
        indent,
    }
}

/// Skips `&anchor` and `!tag`, and the white space and comments after each.
fn after_properties(text: &str, start: usize, end: usize) -> usize {
    let mut at = start;
    while at < end {
        let rest = &text[at..end];
        let skipped = match rest.bytes().next() {
            Some(b'&' | b'!') => word_len(text, at),
            Some(b' ' | b'\t' | b'\n' | b'\r') => 1,
            Some(b'#') => rest.find('\n').unwrap_or(rest.len()),
            _ => return at,
        };
        at += skipped.max(1);
    }
    end
}

/// The first character of text of a block whose header is at `start`.
fn block_text(text: &str, start: usize, event: &ScalarEvent<'_>) -> usize {
    let end = event.end.max(start);
    let first = event.value.lines().find(|line| !line.is_empty());
    let mut at = start;
    for line in text[start..end].split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        if at > start && !bare.trim_start_matches(' ').is_empty() {
            let leading = bare.len() - bare.trim_start_matches(' ').len();
            let kept = first.map_or(0, |text| text.len() - text.trim_start_matches(' ').len());
            return at + leading.saturating_sub(kept);
        }
        at += line.len();
    }
    end
}

/// How many bytes there are up to the next white space.
pub(super) fn word_len(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    rest.find(char::is_whitespace).unwrap_or(rest.len())
}

/// A quoted scalar up to its closing quote: after an anchor or tag the parser's span runs on over comments.
fn quoted(raw: &str) -> &str {
    let Some(quote) = raw.chars().next() else {
        return raw;
    };
    let mut escaped = false;
    let mut characters = raw.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if escaped {
            escaped = false;
        } else if quote == '"' && c == '\\' {
            escaped = true;
        } else if c == quote {
            if quote == '\'' && characters.next_if(|(_, next)| *next == '\'').is_some() {
                continue;
            }
            return &raw[..=at];
        }
    }
    raw
}
