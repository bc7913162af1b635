//! Why a value does not fit, in words a caller can act on. Sensitive values are never quoted.

use super::Compiled;
use super::analysis::Analysis;
use super::fit::Walk;
use super::graph::{Kinds, NodeId};
use super::limits;
use super::sensitive::{self, MASK, PathPart};
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, JsonTypeSet, ValidationError};
use onecall_source::counted;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write;

/// One reason why a value does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaFault {
    /// Where in the value, as `a.b[0]`; empty for the value itself.
    pub path: String,
    pub message: String,
    /// The type wanted there, where the type is what is wrong.
    pub wanted: Option<String>,
    /// What stands there, shortened.
    pub got: String,
    /// What is wrong, if it is not the value.
    pub reason: Reason,
}

/// Why a value is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It does not match the schema.
    Mismatch,
    /// Telling whether it matches takes more steps than a value may take.
    Limit,
    /// The schema itself cannot be used.
    Schema,
}

impl SchemaFault {
    pub(crate) fn over_limit() -> Self {
        let message = "checking the value against the patterns of its schema takes too many steps";
        Self::of_whole(message.to_owned(), Reason::Limit)
    }

    /// Nothing matches a schema that cannot be used.
    pub(crate) fn unusable(problem: &str) -> Self {
        Self::of_whole(
            format!("its schema cannot be used: {problem}"),
            Reason::Schema,
        )
    }

    fn of_whole(message: String, reason: Reason) -> Self {
        Self {
            path: String::new(),
            message,
            wanted: None,
            got: String::new(),
            reason,
        }
    }

    pub(crate) fn wrong_type(wanted: &str, value: &Value) -> Self {
        let got = shown(value);
        Self {
            path: String::new(),
            message: format!("the arguments must be {wanted}, not {got}"),
            wanted: Some(wanted.to_owned()),
            got,
            reason: Reason::Mismatch,
        }
    }
}

pub(super) fn explain(compiled: &Compiled, value: &Value) -> Vec<SchemaFault> {
    let mut telling = Telling {
        compiled,
        faults: Vec::new(),
    };
    match compiled.accepts(value) {
        Some(true) => {}
        Some(false) => {
            let walk = Walk::new(compiled, value);
            telling.narrow(&walk, &[NodeId::ROOT], value, &mut Vec::new());
        }
        None => telling.tell(&[], "is too deep or too large to be checked", None, value),
    }
    telling.faults
}

struct Telling<'a> {
    compiled: &'a Compiled,
    faults: Vec<SchemaFault>,
}

impl<'a> Telling<'a> {
    /// Tells the faults of a value, or of its first faulty part if the whole would cost too much.
    fn narrow(
        &mut self,
        walk: &Walk<'_>,
        tops: &[NodeId],
        value: &'a Value,
        path: &mut Vec<PathPart<'a>>,
    ) {
        let compiled = self.compiled;
        let refuses = |id: &&NodeId| walk.validates(&[**id], value) == Some(false);
        let refusing = tops.iter().find(refuses).copied();
        if let Some(id) = refusing
            && Analysis::may_explain(&compiled.graph, id, value)
            && compiled.may_test_names(value)
        {
            if id == NodeId::ROOT {
                self.errors(compiled.validators.root().iter_errors(value), path);
            } else if let Some(part) = compiled.validators.part(&compiled.graph, id) {
                self.errors(part.iter_errors(value), path);
            }
            return;
        }
        let nodes = compiled.together(tops, Kinds::of(value)).nodes;
        for (step, part) in parts(value) {
            let tops = match &step {
                PathPart::Name(name) => compiled.of_property(&nodes, name),
                PathPart::Index(index) => compiled.of_item(&nodes, *index),
            };
            if walk.validates(&tops, part) == Some(false) {
                path.push(step);
                return self.narrow(walk, &tops, part, path);
            }
        }
        self.tell(path, "does not fit its schema", None, value);
    }

    fn errors<'e>(
        &mut self,
        errors: impl Iterator<Item = ValidationError<'e>>,
        prefix: &[PathPart<'_>],
    ) {
        for error in errors {
            if self.faults.len() >= limits::FAULTS_MAX {
                return;
            }
            self.error(&error, prefix);
        }
    }

    fn error(&mut self, error: &ValidationError<'_>, prefix: &[PathPart<'_>]) {
        let path = full_path(prefix, error.instance_path());
        let value = error.instance();
        match error.kind() {
            Kind::Type { kind } => self.wrong_type(&path, &wanted(types(kind)), value),
            Kind::Required { property } => {
                let path = with_name(&path, property.as_str().unwrap_or_default());
                self.tell_absent(&path, "is required");
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    self.tell_absent(&with_name(&path, name), "is not a known property");
                }
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.branches(context, &path, prefix, value);
            }
            kind => {
                let what = constraint(kind)
                    .unwrap_or_else(|| format!("does not fit `{}`", kind.keyword()));
                self.tell(&path, &what, None, value);
            }
        }
    }

    /// A value that fits no branch: if only one branch is for its type, that one's faults are meant.
    fn branches(
        &mut self,
        context: &[Vec<ValidationError<'static>>],
        path: &[PathPart<'_>],
        prefix: &[PathPart<'_>],
        value: &Value,
    ) {
        let here = |error: &ValidationError<'_>| {
            full_path(prefix, error.instance_path()).len() == path.len()
        };
        let own_type = |errors: &Vec<ValidationError<'_>>| {
            errors.iter().find_map(|error| match error.kind() {
                Kind::Type { kind } if here(error) => Some(types(kind)),
                _ => None,
            })
        };
        let mut meant = context.iter().filter(|errors| own_type(errors).is_none());
        match (meant.next(), meant.next()) {
            (None, _) => {
                let all = context.iter().filter_map(own_type);
                let all = all.fold(JsonTypeSet::empty(), JsonTypeSet::union);
                self.wrong_type(path, &wanted(all), value);
            }
            (Some(only), None) => {
                for error in only {
                    self.error(error, prefix);
                }
            }
            (Some(_), Some(_)) => self.tell(path, "fits none of the forms allowed", None, value),
        }
    }

    fn wrong_type(&mut self, path: &[PathPart<'_>], wanted: &str, value: &Value) {
        let message = format!("must be {wanted}");
        self.tell(path, &message, Some(wanted), value);
    }

    fn tell(&mut self, path: &[PathPart<'_>], what: &str, wanted: Option<&str>, value: &Value) {
        let got = if sensitive::is_hidden(&self.compiled.graph, path) {
            MASK.to_owned()
        } else {
            shown(value)
        };
        let link = if what.starts_with("must") {
            ", not"
        } else {
            ":"
        };
        self.push(path, &format!("{what}{link} {got}"), wanted, got.clone());
    }

    fn tell_absent(&mut self, path: &[PathPart<'_>], what: &str) {
        self.push(path, what, None, "nothing".to_owned());
    }

    fn push(&mut self, path: &[PathPart<'_>], what: &str, wanted: Option<&str>, got: String) {
        let path = written(path);
        let name = match path.as_str() {
            "" => "the value".to_owned(),
            path => format!("`{path}`"),
        };
        let fault = SchemaFault {
            message: format!("{name} {what}"),
            path,
            wanted: wanted.map(str::to_owned),
            got,
            reason: Reason::Mismatch,
        };
        if self.faults.len() < limits::FAULTS_MAX && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

/// What a keyword asks for, as the end of `x must …`.
fn constraint(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Enum { options } => {
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            let shown = options.iter().take(limits::OPTIONS_SHOWN_MAX).map(plain);
            let mut list = shown.collect::<Vec<_>>().join(", ");
            if options.len() > limits::OPTIONS_SHOWN_MAX {
                list.push_str(", …");
            }
            format!("must be one of {list}")
        }
        Kind::Constant { expected_value } => format!("must be {}", plain(expected_value)),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => at_least(*limit, "character"),
        Kind::MaxLength { limit } => at_most(*limit, "character"),
        Kind::MinItems { limit } => at_least(*limit, "item"),
        Kind::MaxItems { limit } => at_most(*limit, "item"),
        Kind::AdditionalItems { limit } => at_most(*limit as u64, "item"),
        Kind::MinProperties { limit } => at_least(*limit, "property"),
        Kind::MaxProperties { limit } => at_most(*limit, "property"),
        Kind::Pattern { pattern } => format!("must match the pattern `{}`", cut(pattern)),
        Kind::UniqueItems => "must have no item twice".to_owned(),
        Kind::Contains => "lacks an item of the kind it must contain".to_owned(),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::Not { .. } => "has a form that is not allowed".to_owned(),
        Kind::OneOfMultipleValid { .. } => "fits more than one of the forms allowed".to_owned(),
        Kind::PropertyNames { .. } => "has a property whose name is not allowed".to_owned(),
        _ => return None,
    })
}

fn types(kind: &TypeKind) -> JsonTypeSet {
    match kind {
        TypeKind::Single(kind) => JsonTypeSet::from(*kind),
        TypeKind::Multiple(kinds) => *kinds,
    }
}

fn wanted(types: JsonTypeSet) -> String {
    let mut words: Vec<&str> = types
        .remove(JsonType::Null)
        .iter()
        .map(|kind| match kind {
            JsonType::Array => "an array",
            JsonType::Boolean => "a boolean",
            JsonType::Integer => "an integer",
            JsonType::Null => "null",
            JsonType::Number => "a number",
            JsonType::Object => "an object",
            JsonType::String => "text",
        })
        .collect();
    words.extend(types.contains(JsonType::Null).then_some("null"));
    match words.as_slice() {
        [] => "nothing".to_owned(),
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        [only, ..] => (*only).to_owned(),
    }
}

/// A value as a message quotes it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("the boolean {flag}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => format!("the text {}", plain(value)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn at_least(limit: u64, noun: &str) -> String {
    format!("must have at least {}", counted(limit, noun))
}

fn at_most(limit: u64, noun: &str) -> String {
    format!("must have at most {}", counted(limit, noun))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => Value::from(cut(text)).to_string(),
        other => cut(&other.to_string()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(limits::SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn parts(value: &Value) -> Vec<(PathPart<'_>, &Value)> {
    match value {
        Value::Object(object) => object
            .iter()
            .map(|(name, part)| (PathPart::Name(Cow::Borrowed(name.as_str())), part))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, part)| (PathPart::Index(index), part))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn full_path<'p>(prefix: &[PathPart<'p>], location: &Location) -> Vec<PathPart<'p>> {
    let rest = location.into_iter().map(|segment| match segment {
        LocationSegment::Property(name) => PathPart::Name(Cow::Owned(name.into_owned())),
        LocationSegment::Index(index) => PathPart::Index(index),
    });
    prefix.iter().cloned().chain(rest).collect()
}

fn with_name<'p>(path: &[PathPart<'p>], name: &str) -> Vec<PathPart<'p>> {
    let name = PathPart::Name(Cow::Owned(name.to_owned()));
    path.iter().cloned().chain([name]).collect()
}

fn written(path: &[PathPart<'_>]) -> String {
    let mut text = String::new();
    for part in path {
        match part {
            PathPart::Name(name) if text.is_empty() => text.push_str(&cut(name)),
            PathPart::Name(name) => {
                text.push('.');
                text.push_str(&cut(name));
            }
            PathPart::Index(index) => {
                let _ = write!(text, "[{index}]");
            }
        }
    }
    text
}
