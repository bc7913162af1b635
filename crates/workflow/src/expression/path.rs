//! The one form of a bare path, whatever language it was written in.
//! A key that is not there is *missing*, and what is below a missing key is missing too;
//! a field of null or of a value that has no fields is an error. A path with a default is never either.

use super::{Part, Target};
use crate::limits::KEY_CHARS_SHOWN_MAX;
use crate::scope::Scope;
use onecall_mcp::{content_map, sole_text};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    pub root: Root,
    pub segments: Vec<Segment>,
    /// Stands in for a value that is missing, null or cannot be reached.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub default: Option<Value>,
}

/// A value that is there, be it null; only an absent key is `None`.
pub(crate) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    Input,
    Step {
        name: String,
        facet: Facet,
    },
    /// The output of a step; where it lacks the first key of the path, the tool result as it came. mcptest reads
    /// so; the result alone is `Facet::Result`.
    Result {
        step: String,
    },
    Item {
        name: String,
    },
    ItemIndex,
    Run(RunField),
}

/// What of a step is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facet {
    Output,
    Status,
    Error,
    Content,
    Structured,
    Json,
    Failure,
    /// The tool result as it came; of a step that called no tool, or got no result of one, its output.
    Result,
}

impl Facet {
    pub const ALL: [Self; 8] = [
        Self::Output,
        Self::Status,
        Self::Error,
        Self::Content,
        Self::Structured,
        Self::Json,
        Self::Failure,
        Self::Result,
    ];

    /// What templates of ToolHive files see of a step.
    pub const IN_TEMPLATES: [Self; 7] = [
        Self::Output,
        Self::Status,
        Self::Error,
        Self::Content,
        Self::Structured,
        Self::Json,
        Self::Failure,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Status => "status",
            Self::Error => "error",
            Self::Content => "content",
            Self::Structured => "structured",
            Self::Json => "json",
            Self::Failure => "failure",
            Self::Result => "result",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::named(&Self::ALL, text)
    }

    pub fn in_templates(text: &str) -> Option<Self> {
        Self::named(&Self::IN_TEMPLATES, text)
    }

    fn named(known: &[Self], text: &str) -> Option<Self> {
        known.iter().copied().find(|facet| facet.as_str() == text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunField {
    Id,
    Name,
    Status,
    StartTime,
    DurationMs,
    StepCount,
}

impl RunField {
    pub const ALL: [Self; 6] = [
        Self::Id,
        Self::Name,
        Self::Status,
        Self::StartTime,
        Self::DurationMs,
        Self::StepCount,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Status => "status",
            Self::StartTime => "start_time",
            Self::DurationMs => "duration_ms",
            Self::StepCount => "step_count",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    Key(String),
    /// Counted from the end when negative.
    Index(i64),
    /// All items of a list: what the rest of the path gives for each, in one list.
    Every,
}

/// A path that led through something without fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{segment}` of {found} in `{path}`")]
pub struct PathError {
    pub path: String,
    pub segment: String,
    pub found: &'static str,
}

impl Path {
    pub fn new(root: Root, segments: Vec<Segment>) -> Self {
        Self {
            root,
            segments,
            default: None,
        }
    }

    /// The value at the end of the path, or `None` if it is missing.
    pub fn read<'a>(&self, scope: &'a dyn Scope) -> Result<Option<Cow<'a, Value>>, PathError> {
        let found = match self.start(scope) {
            None => Ok(None),
            Some(Cow::Borrowed(value)) => self.walk(value, &self.segments),
            Some(Cow::Owned(value)) => {
                let found = self.walk(&value, &self.segments);
                found.map(|found| found.map(|value| Cow::Owned(value.into_owned())))
            }
        };
        self.or_default(found)
    }

    /// A chain of names as Go templates write it; `None` for anything else. For messages alone.
    pub(crate) fn in_template(read: &str) -> Option<Self> {
        let names: Vec<&str> = read.strip_prefix('.')?.split('.').collect();
        let (root, rest) = match names.as_slice() {
            ["params", rest @ ..] => (Root::Input, rest),
            ["steps", name, facet, rest @ ..] => {
                let (name, facet) = ((*name).to_owned(), Facet::in_templates(facet)?);
                (Root::Step { name, facet }, rest)
            }
            _ => return None,
        };
        let segments = rest.iter().map(|name| Segment::Key((*name).to_owned()));
        Some(Self::new(root, segments.collect()))
    }

    /// The keys of the value that lacks the next part of this path.
    pub(crate) fn keys_beside(&self, scope: &dyn Scope) -> Vec<String> {
        let Some(start) = self.start(scope) else {
            return Vec::new();
        };
        let mut value = &*start;
        for segment in &self.segments {
            let next = match (segment, value) {
                (Segment::Key(key), Value::Object(object)) => object.get(key),
                (Segment::Index(index), Value::Array(items)) => item_at(items, *index),
                _ => return Vec::new(),
            };
            match (next, value) {
                (Some(next), _) => value = next,
                (None, Value::Object(object)) => {
                    return object.keys().map(|key| short(key)).collect();
                }
                (None, _) => return Vec::new(),
            }
        }
        Vec::new()
    }

    fn or_default<'a>(
        &self,
        found: Result<Option<Cow<'a, Value>>, PathError>,
    ) -> Result<Option<Cow<'a, Value>>, PathError> {
        let Some(default) = &self.default else {
            return found;
        };
        let found = found.ok().flatten().filter(|value| !value.is_null());
        Ok(Some(found.unwrap_or_else(|| Cow::Owned(default.clone()))))
    }

    fn start<'a>(&self, scope: &'a dyn Scope) -> Option<Cow<'a, Value>> {
        match &self.root {
            Root::Input => Some(Cow::Borrowed(scope.input())),
            Root::Step { name, facet } => step_facet(scope, name, *facet),
            Root::Result { step } => self.result(scope, step),
            Root::Item { name } => scope
                .item()
                .filter(|item| item.name == name.as_str())
                .map(|item| Cow::Borrowed(item.value)),
            Root::ItemIndex => scope.item().map(|item| Cow::Owned(Value::from(item.index))),
            Root::Run(field) => Some(Cow::Owned(run_field(scope, *field))),
        }
    }

    /// What the author reads of a tool result: its payload, and beside it the fields of the result itself.
    fn result<'a>(&self, scope: &'a dyn Scope, step: &str) -> Option<Cow<'a, Value>> {
        let step = scope.step(step)?;
        let in_output = match self.segments.first() {
            Some(Segment::Key(key)) => step.output.is_some_and(|value| value.get(key).is_some()),
            Some(Segment::Index(_) | Segment::Every) | None => true,
        };
        let found = if in_output { step.output } else { step.result };
        found.map(Cow::Borrowed)
    }

    fn walk<'a>(
        &self,
        start: &'a Value,
        segments: &[Segment],
    ) -> Result<Option<Cow<'a, Value>>, PathError> {
        let mut value = start;
        for (position, segment) in segments.iter().enumerate() {
            let next = match (segment, value) {
                (Segment::Key(key), Value::Object(object)) => object.get(key),
                (Segment::Index(index), Value::Array(items)) => item_at(items, *index),
                (Segment::Every, Value::Array(items)) => {
                    return self.every(items, &segments[position + 1..]);
                }
                (segment, value) => return Err(self.error(segment, value)),
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(Cow::Borrowed(value)))
    }

    /// One list, also where the rest of the path collects again. An item without the value makes the whole
    /// missing, since a hole would move what follows it.
    fn every<'a>(
        &self,
        items: &'a [Value],
        rest: &[Segment],
    ) -> Result<Option<Cow<'a, Value>>, PathError> {
        let collects_again = rest.contains(&Segment::Every);
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            match self.or_default(self.walk(item, rest))? {
                None => return Ok(None),
                Some(found) => match found.into_owned() {
                    Value::Array(inner) if collects_again => list.extend(inner),
                    other => list.push(other),
                },
            }
        }
        Ok(Some(Cow::Owned(Value::Array(list))))
    }

    fn error(&self, segment: &Segment, value: &Value) -> PathError {
        PathError {
            path: self.to_string(),
            segment: segment.to_string(),
            found: kind_of(value),
        }
    }

    /// What the path reads, for edges and checks.
    pub fn target(&self) -> Target {
        // What stands behind an index is told by no schema of an object.
        let keys = self.segments.iter().map_while(|segment| match segment {
            Segment::Key(key) => Some(key.clone()),
            Segment::Index(_) | Segment::Every => None,
        });
        let segments = keys.collect();
        match &self.root {
            Root::Input => Target::Input { segments },
            Root::Step { name, facet } => {
                let part = Some(Part::Known(*facet));
                Target::Step {
                    name: name.clone(),
                    part,
                    segments,
                }
            }
            // A part of it may stand beside the output, so that no schema tells what it has.
            Root::Result { step } => Target::Step {
                name: step.clone(),
                part: None,
                segments: Vec::new(),
            },
            Root::Item { name } => Target::Item { name: name.clone() },
            Root::ItemIndex => Target::Item {
                name: "index".to_owned(),
            },
            Root::Run(_) => Target::Ambient,
        }
    }
}

/// The read of a field of the run, under the name that the run has in a language.
pub(super) fn run_field_target(root: &'static str, field: Option<&str>) -> Target {
    match field {
        Some(name) if RunField::parse(name).is_none() => Target::UnknownField {
            root,
            name: name.to_owned(),
        },
        Some(_) | None => Target::Ambient,
    }
}

fn short(key: &str) -> String {
    key.chars().take(KEY_CHARS_SHOWN_MAX).collect()
}

fn item_at(items: &[Value], index: i64) -> Option<&Value> {
    let position = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 {
        items.get(items.len().checked_sub(position)?)
    } else {
        items.get(position)
    }
}

/// The part of a step that a path or a template asks for.
pub(crate) fn step_facet<'a>(
    scope: &'a dyn Scope,
    name: &str,
    facet: Facet,
) -> Option<Cow<'a, Value>> {
    let step = scope.step(name)?;
    match facet {
        Facet::Output => step.output.map(Cow::Borrowed),
        Facet::Status => Some(Cow::Owned(Value::from(step.status))),
        Facet::Error => step.error.map(|error| Cow::Owned(Value::from(error))),
        Facet::Failure => step.failure.map(Cow::Borrowed),
        Facet::Result => step.result.or(step.output).map(Cow::Borrowed),
        Facet::Structured => step.result?.get("structuredContent").map(Cow::Borrowed),
        Facet::Content => Some(Cow::Owned(Value::Object(content_map(blocks(step.result?))))),
        Facet::Json => {
            let text = sole_text(blocks(step.result?))?;
            serde_json::from_str(text).ok().map(Cow::Owned)
        }
    }
}

/// The content blocks of a result.
fn blocks(result: &Value) -> &[Value] {
    result
        .get("content")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

pub(crate) fn run_field(scope: &dyn Scope, field: RunField) -> Value {
    let run = scope.run();
    match field {
        RunField::Id => Value::from(run.id),
        RunField::Name => Value::from(run.name),
        RunField::Status => Value::from(run.status),
        RunField::StartTime => Value::from(run.started),
        RunField::DurationMs => Value::from(run.duration_ms),
        RunField::StepCount => Value::from(run.step_count),
    }
}

pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Root::Input => formatter.write_str("input")?,
            Root::Step { name, facet } => write!(formatter, "steps.{name}.{}", facet.as_str())?,
            Root::Result { step } => write!(formatter, "steps.{step}.output_or_result")?,
            Root::Item { name } => write!(formatter, "item.{name}")?,
            Root::ItemIndex => formatter.write_str("item.index")?,
            Root::Run(field) => write!(formatter, "run.{}", field.as_str())?,
        }
        for segment in &self.segments {
            match segment {
                Segment::Key(key) if is_plain(key) => write!(formatter, ".{key}")?,
                Segment::Key(key) => write!(formatter, "[{}]", Value::from(key.as_str()))?,
                Segment::Index(index) => write!(formatter, "[{index}]")?,
                Segment::Every => formatter.write_str("[*]")?,
            }
        }
        match &self.default {
            None => Ok(()),
            Some(default) => write!(formatter, " ?? {default}"),
        }
    }
}

/// A key that needs no quotes behind a dot.
fn is_plain(key: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    !key.is_empty() && key.chars().all(plain)
}

impl fmt::Display for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => formatter.write_str(key),
            Self::Index(index) => write!(formatter, "{index}"),
            Self::Every => formatter.write_str("*"),
        }
    }
}
