//! Bare paths: `.steps.a.items[0].name`, `.inputs["odd key"]`, `.steps.a[*].x ?? 0`. Everything else is jq.

use onecall_workflow::expression::{Facet, Path, Root, RunField, Segment};
use serde_json::Value;

/// The names that a path can start from; a loop's item must have another.
pub(super) const ROOTS: [&str; 6] = ["inputs", "steps", "results", "run", "index", "loop"];

/// The part of a step that mcptest reads: what its output lacks is read of the tool result.
pub(super) const OUTPUT_OR_RESULT: &str = "output_or_result";

/// The path a text is, if it is one. `item` is the name of the loop's item, inside of a loop.
pub(super) fn parse(text: &str, item: Option<&str>) -> Option<Path> {
    let (text, default) = match text.split_once("??") {
        None => (text.trim(), None),
        Some((path, default)) => (path.trim(), Some(serde_json::from_str(default).ok()?)),
    };
    let (root, segments) = rooted(segments(text)?, item)?;
    Some(Path {
        root,
        segments,
        default,
    })
}

fn rooted(segments: Vec<Segment>, item: Option<&str>) -> Option<(Root, Vec<Segment>)> {
    let mut segments = segments.into_iter();
    let mut key = || match segments.next() {
        Some(Segment::Key(key)) => Some(key),
        _ => None,
    };
    let first = key()?;
    let root = match first.as_str() {
        "inputs" => Root::Input,
        "steps" => Root::Step {
            name: key()?,
            facet: Facet::Output,
        },
        "results" => {
            let (step, part) = (key()?, key()?);
            match Facet::parse(&part) {
                Some(facet) => Root::Step { name: step, facet },
                None if part == OUTPUT_OR_RESULT => Root::Result { step },
                None => return None,
            }
        }
        "run" => Root::Run(RunField::parse(&key()?)?),
        "index" => Root::ItemIndex,
        "loop" => match key()? {
            name if name == "index" => Root::ItemIndex,
            name => Root::Item { name },
        },
        name if Some(name) == item => Root::Item { name: first },
        _ => return None,
    };
    Some((root, segments.collect()))
}

/// The parts of a path, each led by a dot or in brackets.
fn segments(text: &str) -> Option<Vec<Segment>> {
    let mut rest = text;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (segment, after) = match rest.strip_prefix('.') {
            Some(named) if !named.starts_with('[') => name(named)?,
            Some(bracket) if !found.is_empty() || text.starts_with(".[") => bracketed(bracket)?,
            Some(_) => return None,
            None if found.is_empty() => return None,
            None => bracketed(rest)?,
        };
        found.push(segment);
        rest = after;
    }
    (!found.is_empty()).then_some(found)
}

fn name(text: &str) -> Option<(Segment, &str)> {
    if text.starts_with('"') {
        return quoted(text);
    }
    let mut end = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let inside = match c {
            'a'..='z' | 'A'..='Z' | '_' => true,
            '0'..='9' => at > 0,
            // `a-b` is a name; `a - b`, `a-1` and `a-.b` are sums of jq.
            '-' => {
                at > 0
                    && characters
                        .peek()
                        .is_some_and(|(_, next)| next.is_ascii_alphabetic())
            }
            _ => false,
        };
        if !inside {
            break;
        }
        end = at + c.len_utf8();
    }
    let (key, rest) = text.split_at(end);
    (!key.is_empty()).then(|| (Segment::Key(key.to_owned()), rest))
}

fn bracketed(text: &str) -> Option<(Segment, &str)> {
    let inner = text.strip_prefix('[')?;
    if let Some(rest) = inner.strip_prefix("*]") {
        return Some((Segment::Every, rest));
    }
    if inner.starts_with('"') {
        let (segment, rest) = quoted(inner)?;
        return Some((segment, rest.strip_prefix(']')?));
    }
    let (number, rest) = inner.split_once(']')?;
    Some((Segment::Index(number.parse().ok()?), rest))
}

/// A JSON string without interpolation.
fn quoted(text: &str) -> Option<(Segment, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(Ok(Value::String(key))) = values.next() else {
        return None;
    };
    Some((Segment::Key(key), &text[values.byte_offset()..]))
}
