//! The one form of a bare path, whatever language it was written in.
//! A key that is not there is *missing*, and what is below a missing key is missing too;
//! a field of null or of a value that has no fields is an error.

use super::Target;
use crate::scope::Scope;
use onecall_mcp::{content_map, sole_text};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    pub root: Root,
    pub segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    Input,
    Step { name: String, facet: Facet },
    Item { name: String },
    ItemIndex,
    Run(RunField),
}

/// What of a step is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facet {
    Output,
    Status,
    Error,
    Content,
    Structured,
    Json,
    Failure,
}

impl Facet {
    pub const ALL: [Self; 7] = [
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
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|facet| facet.as_str() == text)
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
    Index(i64),
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
    /// The value at the end of the path, or `None` if it is missing.
    pub fn read<'a>(&self, scope: &'a dyn Scope) -> Result<Option<Cow<'a, Value>>, PathError> {
        let Some(start) = self.start(scope) else {
            return Ok(None);
        };
        match start {
            Cow::Borrowed(value) => Ok(self.walk(value)?.map(Cow::Borrowed)),
            Cow::Owned(value) => Ok(self.walk(&value)?.cloned().map(Cow::Owned)),
        }
    }

    fn start<'a>(&self, scope: &'a dyn Scope) -> Option<Cow<'a, Value>> {
        match &self.root {
            Root::Input => Some(Cow::Borrowed(scope.input())),
            Root::Step { name, facet } => step_facet(scope, name, *facet),
            Root::Item { name } => scope
                .item()
                .filter(|item| item.name == name.as_str())
                .map(|item| Cow::Borrowed(item.value)),
            Root::ItemIndex => scope.item().map(|item| Cow::Owned(Value::from(item.index))),
            Root::Run(field) => Some(Cow::Owned(run_field(scope, *field))),
        }
    }

    fn walk<'a>(&self, start: &'a Value) -> Result<Option<&'a Value>, PathError> {
        let mut value = start;
        for segment in &self.segments {
            let next = match (segment, value) {
                (Segment::Key(key), Value::Object(object)) => object.get(key),
                (Segment::Index(index), Value::Array(items)) => usize::try_from(*index)
                    .ok()
                    .and_then(|index| items.get(index)),
                (segment, value) => return Err(self.error(segment, value)),
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
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
        let segments = self.segments.iter().map(Segment::to_string).collect();
        match &self.root {
            Root::Input => Target::Input { segments },
            Root::Step { name, facet } => {
                let facet = Some(facet.as_str().to_owned());
                Target::Step {
                    name: name.clone(),
                    facet,
                    segments,
                }
            }
            Root::Item { name } => Target::Item { name: name.clone() },
            Root::ItemIndex => Target::Item {
                name: "index".to_owned(),
            },
            Root::Run(_) => Target::Ambient,
        }
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
            Root::Item { name } => write!(formatter, "item.{name}")?,
            Root::ItemIndex => formatter.write_str("item.index")?,
            Root::Run(field) => write!(formatter, "run.{}", field.as_str())?,
        }
        for segment in &self.segments {
            match segment {
                Segment::Key(key) => write!(formatter, ".{key}")?,
                Segment::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => formatter.write_str(key),
            Self::Index(index) => write!(formatter, "{index}"),
        }
    }
}
