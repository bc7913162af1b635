//! Targets: paths into the document that a run leaves, such as `nodes.search.output.hits[0].name`.
//!
//! Fields are split by `.`; `[n]` is an element, `["any key"]` a key with any characters, and `.length` the length of
//! a list. `"."` is the whole document.

use crate::limits::NAMES_LISTED_MAX;
use crate::matchers::type_name;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Key(String),
    Index(usize),
}

/// Why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseTargetError {
    #[error("the target is empty")]
    Empty,
    #[error("a name is missing in `{0}`")]
    NoName(String),
    #[error("`{0}` is not an element (`[0]`) or a key (`[\"a key\"]`)")]
    Brackets(String),
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self, ParseTargetError> {
        let mut parts = Vec::new();
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(ParseTargetError::Empty);
        }
        let no_name = || ParseTargetError::NoName(text.to_owned());
        if rest == "." {
            rest = "";
        }
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (part, behind) =
                    bracketed(inner).ok_or_else(|| ParseTargetError::Brackets(rest.to_owned()))?;
                parts.push(part);
                rest = behind;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (name, behind) = rest.split_at(end);
                if name.is_empty() {
                    return Err(no_name());
                }
                parts.push(Part::Key(name.to_owned()));
                rest = behind;
            }
            if let Some(behind) = rest.strip_prefix('.') {
                if behind.is_empty() {
                    return Err(no_name());
                }
                rest = behind;
            }
        }
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }

    /// Whether both name the same location, however they are written.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.parts == other.parts
    }

    /// The value that the target names, or what exists where it finds nothing.
    pub(crate) fn find<'d>(&self, document: &'d Value) -> Result<Cow<'d, Value>, String> {
        let mut value = document;
        for (index, part) in self.parts.iter().enumerate() {
            let is_last = index + 1 == self.parts.len();
            let next = match part {
                Part::Key(key) => value.get(key),
                Part::Index(at) => value.get(at),
            };
            match (next, part, value) {
                (Some(next), _, _) => value = next,
                (None, Part::Key(key), Value::Array(items)) if is_last && key == "length" => {
                    return Ok(Cow::Owned(items.len().into()));
                }
                (None, _, _) => return Err(self.missing(index, value)),
            }
        }
        Ok(Cow::Borrowed(value))
    }

    /// The node that the target is about, if it is about one.
    pub(crate) fn node(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Key(nodes), Part::Key(id), ..] if nodes == "nodes" => Some(id),
            _ => None,
        }
    }

    /// Whether the target is the output of a node, or a part of it.
    pub(crate) fn is_node_output(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Key(nodes), _, Part::Key(output), ..] if nodes == "nodes" && output == "output")
    }

    /// What exists where the part at this index was looked for.
    fn missing(&self, index: usize, value: &Value) -> String {
        let part = match &self.parts[index] {
            Part::Key(key) => format!("`{key}`"),
            Part::Index(at) => format!("`[{at}]`"),
        };
        let parent = self.printed(index);
        match value {
            Value::Object(entries) if entries.is_empty() => {
                format!("there is no {part}: {parent} has no keys")
            }
            Value::Object(entries) => {
                let names: Vec<&str> = entries.keys().map(String::as_str).collect();
                let more = names.len().saturating_sub(NAMES_LISTED_MAX);
                let shown = names[..names.len() - more].join("`, `");
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("there is no {part}; {parent} has `{shown}`{more}")
            }
            Value::Array(items) => {
                let count = onecall_source::counted(items.len(), "element");
                format!("there is no {part}; {parent} is a list of {count}")
            }
            other => format!("there is no {part}: {parent} is {}", type_name(other)),
        }
    }

    /// The first parts, as they would be written.
    fn printed(&self, count: usize) -> String {
        let mut text = String::new();
        for part in &self.parts[..count] {
            match part {
                Part::Key(key) if text.is_empty() => text.push_str(key),
                Part::Key(key) => {
                    text.push('.');
                    text.push_str(key);
                }
                Part::Index(at) => {
                    let _ = write!(text, "[{at}]");
                }
            }
        }
        if text.is_empty() {
            "the document".to_owned()
        } else {
            format!("`{text}`")
        }
    }
}

/// What brackets hold, and the text behind them.
fn bracketed(inner: &str) -> Option<(Part, &str)> {
    if inner.starts_with('"') {
        let mut key = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let text = key.next()?.ok()?;
        let behind = inner.get(key.byte_offset()..)?.strip_prefix(']')?;
        return Some((Part::Key(text), behind));
    }
    let (index, behind) = inner.split_once(']')?;
    Some((Part::Index(index.parse().ok()?), behind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(target: &str) -> Result<Value, String> {
        let document = json!({
            "nodes": { "a": { "status": "ok", "output": { "hits": [{ "n": 1 }, { "n": 2 }], "x.y": 3 } } },
            "output": null,
        });
        let target = Target::parse(target).unwrap();
        target.find(&document).map(Cow::into_owned)
    }

    #[test]
    fn paths_lead_to_values() {
        assert_eq!(found("nodes.a.output.hits[1].n"), Ok(json!(2)));
        assert_eq!(found("nodes.a.output.hits.length"), Ok(json!(2)));
        assert_eq!(found("nodes.a.output[\"x.y\"]"), Ok(json!(3)));
        assert_eq!(found("output"), Ok(Value::Null));
        assert!(found(".").unwrap().is_object());
    }

    #[test]
    fn a_path_to_nothing_says_what_exists() {
        let missing = |target| found(target).unwrap_err();
        assert_eq!(
            missing("nodes.b.status"),
            "there is no `b`; `nodes` has `a`"
        );
        assert_eq!(
            missing("nodes.a.output.hits[9]"),
            "there is no `[9]`; `nodes.a.output.hits` is a list of 2 elements"
        );
        assert_eq!(missing("output.x"), "there is no `x`: `output` is null");
        assert_eq!(
            missing("costs"),
            "there is no `costs`; the document has `nodes`, `output`"
        );
    }

    #[test]
    fn broken_targets_are_refused() {
        for text in ["", "a..b", "a.", "a[x]", "a[0", "[\"a]"] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }
}
