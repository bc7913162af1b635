//! Evaluation of expressions over a scope: values, text, arguments, conditions, collections.
//! Pure and bounded. Typed output is in `output`; fitting arguments to a schema is in `coerce`.

#[cfg(test)]
pub(crate) mod tests;

use crate::coerce::{self, Coercer};
use crate::expression::{Expression, Path, Piece, Program, Root, ValueTemplate, kind_of};
use crate::limits::{Bounds, KEYS_SHOWN_MAX};
use crate::scope::Scope;
use crate::step::{Call, Condition, Truth, Unfound};
use gotemplate::{Evaluated as GoEvaluated, Node, RenderError, RenderErrorKind};
use onecall_source::counted;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt::{self, Write};

/// Why an expression gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A value that is needed is not there.
    Missing,
    Failed,
    Limit,
    /// A condition gave neither true nor false.
    Condition,
    /// A collection is not a list.
    Collection,
    /// A collection has more items than it may.
    Iterations,
    /// A value does not fit the declared type of the output.
    Output,
    /// Checking a value against the patterns of a schema takes too many steps.
    Patterns,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The same fault with the place it happened at in front.
    fn at(self, place: &[Part<'_>]) -> Self {
        if place.is_empty() {
            return self;
        }
        let place = written(place);
        Self {
            kind: self.kind,
            message: format!("{place}: {}", self.message),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<RenderError> for Fault {
    fn from(error: RenderError) -> Self {
        let kind = match error.kind {
            RenderErrorKind::Execution => FaultKind::Failed,
            RenderErrorKind::MissingKey => FaultKind::Missing,
            RenderErrorKind::Limit => FaultKind::Limit,
        };
        Self::new(kind, error.to_string())
    }
}

/// The value of an expression; `Err(text)` inside `Ok` would hide that missing is no fault yet:
/// what a missing value means is for the place that reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'a> {
    Missing(Missing),
    Value(Cow<'a, Value>),
}

/// A read that found nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What was read, as the author wrote it.
    pub read: String,
    /// The keys that exist where the first missing one was looked for.
    pub keys: Vec<String>,
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "`{}` has no value", self.read)?;
        let (shown, more) = self.keys.split_at(self.keys.len().min(KEYS_SHOWN_MAX));
        if !shown.is_empty() {
            let shown: Vec<String> = shown.iter().map(|key| format!("`{key}`")).collect();
            write!(formatter, "; the keys there are {}", shown.join(", "))?;
        }
        if !more.is_empty() {
            write!(formatter, " and {} more", more.len())?;
        }
        Ok(())
    }
}

impl Missing {
    /// A read in a Go template, such as `.steps.a.output.b`.
    fn in_template(read: &str, scope: &dyn Scope) -> Self {
        let read = read.trim();
        Self {
            read: read.to_owned(),
            keys: Path::in_template(read).map_or_else(Vec::new, |path| path.keys_beside(scope)),
        }
    }
}

/// The value of an expression, with its JSON type where the expression is a whole value.
pub fn value<'a>(expression: &Expression, scope: &'a dyn Scope) -> Result<Found<'a>, Fault> {
    match &expression.program {
        Program::Text(text) => Ok(Found::Value(Cow::Owned(Value::from(text.as_str())))),
        Program::Path(path) => match path.read(scope) {
            Ok(Some(value)) => Ok(Found::Value(value)),
            Ok(None) => Ok(Found::Missing(Missing {
                read: expression.words_of(path).trim().to_owned(),
                keys: path.keys_beside(scope),
            })),
            Err(mut error) => {
                error.path = expression.words_of(path);
                Err(Fault::new(FaultKind::Failed, error.to_string()))
            }
        },
        Program::Go(go) if go.is_whole_value() && !go.options().go_missing => {
            let context = go.context(scope);
            match go
                .template()
                .value(Node::Object(&context), &go.render_options(scope.bounds()))?
            {
                GoEvaluated::Missing(span) => {
                    let read = go.text().get(span.range()).unwrap_or(go.text());
                    Ok(Found::Missing(Missing::in_template(read, scope)))
                }
                GoEvaluated::Value(value) => Ok(Found::Value(Cow::Owned(value.into_owned()))),
            }
        }
        Program::Jq(jq) => Ok(Found::Value(Cow::Owned(jq.evaluate(scope)?))),
        Program::Go(_) | Program::Mixed(_) => Ok(Found::Value(Cow::Owned(Value::String(text(
            expression, scope,
        )?)))),
    }
}

/// The text of an expression. A missing value fails.
pub fn text(expression: &Expression, scope: &dyn Scope) -> Result<String, Fault> {
    match &expression.program {
        Program::Text(text) => Ok(text.clone()),
        Program::Path(_) => match value(expression, scope)? {
            Found::Missing(read) => Err(missing(&read)),
            Found::Value(value) => bounded(as_text(&value), scope.bounds()),
        },
        Program::Jq(jq) => bounded(as_text(&jq.evaluate(scope)?), scope.bounds()),
        Program::Mixed(pieces) => mixed(pieces, scope),
        Program::Go(go) => {
            let context = go.context(scope);
            let rendered = go
                .template()
                .render(Node::Object(&context), &go.render_options(scope.bounds()))?;
            if let (Some(span), false) = (rendered.missing.first(), go.options().go_missing) {
                let read = go.text().get(span.range()).unwrap_or(go.text());
                return Err(missing(&Missing::in_template(read, scope)));
            }
            String::from_utf8(rendered.bytes).map_err(|_| {
                Fault::new(
                    FaultKind::Failed,
                    "the template gave bytes that are no text",
                )
            })
        }
    }
}

fn mixed(pieces: &[Piece], scope: &dyn Scope) -> Result<String, Fault> {
    let mut whole = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => whole.push_str(text),
            Piece::Value(expression) => whole.push_str(&text(expression, scope)?),
        }
        whole = bounded(whole, scope.bounds())?;
    }
    Ok(whole)
}

fn bounded(text: String, bounds: Bounds) -> Result<String, Fault> {
    within(&text, bounds)?;
    Ok(text)
}

/// Refuses a text that is longer than one expression may make.
pub(crate) fn within(text: &str, bounds: Bounds) -> Result<(), Fault> {
    let limit = bounds.text_bytes;
    if text.len() > limit {
        let message = format!("the text is longer than {limit} bytes");
        return Err(Fault::new(FaultKind::Limit, message));
    }
    Ok(())
}

/// Strings as they are, numbers as templates print them, everything else as compact JSON.
pub fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => coerce::number_text(number),
        other => other.to_string(),
    }
}

pub(crate) fn missing(missing: &Missing) -> Fault {
    Fault::new(FaultKind::Missing, missing.to_string())
}

/// Arguments of a call, expanded at every depth and fitted to the tool's schema.
pub fn arguments(call: &Call, schema: Option<&Coercer>, scope: &dyn Scope) -> Result<Value, Fault> {
    let anything = Coercer::new(Value::Bool(true));
    let schema = schema.unwrap_or(&anything);
    let place = &mut Place::in_call(call);
    let expanded = expand(&call.arguments, schema, scope, place)?;
    let value = expanded.unwrap_or_else(|| Value::Object(Map::new()));
    let coerced = schema.try_coerce(value);
    coerced.map_err(|over_limit| Fault::new(FaultKind::Patterns, over_limit.to_string()))
}

/// A value with its expressions filled in. What is missing is null at the top and left out below.
pub fn filled(template: &ValueTemplate, scope: &dyn Scope) -> Result<Value, Fault> {
    let anything = Coercer::new(Value::Bool(true));
    let filled = expand(template, &anything, scope, &mut Place::default())?;
    Ok(filled.unwrap_or(Value::Null))
}

/// Where in a value the evaluation is, and what an absent value means there.
#[derive(Default)]
struct Place<'a> {
    parts: Vec<Part<'a>>,
    missing: Unfound,
}

impl Place<'_> {
    fn in_call(call: &Call) -> Self {
        Self {
            parts: Vec::new(),
            missing: call.missing,
        }
    }
}

/// One step of the way into arguments.
enum Part<'a> {
    Name(&'a str),
    Index(usize),
}

fn written(place: &[Part<'_>]) -> String {
    let mut text = String::new();
    for part in place {
        match part {
            Part::Name(name) if text.is_empty() => text.push_str(name),
            Part::Name(name) => {
                text.push('.');
                text.push_str(name);
            }
            Part::Index(index) => {
                let _ = write!(text, "[{index}]");
            }
        }
    }
    text
}

/// Whether a missing value at this place fails the call. A hole in a list would move what follows it.
fn must_be_there(expression: &Expression, place: &Place<'_>, schema: &Coercer) -> bool {
    let is_input = matches!(&expression.program, Program::Path(path) if path.root == Root::Input);
    if place.missing == Unfound::Fails && !is_input {
        return true;
    }
    if let Some(Part::Index(_)) = place.parts.last() {
        return true;
    }
    let names = place.parts.iter().filter_map(|part| match part {
        Part::Name(name) => Some(*name),
        Part::Index(_) => None,
    });
    schema.requires(&names.collect::<Vec<_>>())
}

/// `None` is a missing value that may be left out.
fn expand<'a>(
    template: &'a ValueTemplate,
    schema: &Coercer,
    scope: &dyn Scope,
    place: &mut Place<'a>,
) -> Result<Option<Value>, Fault> {
    match template {
        ValueTemplate::Literal(value) => Ok(Some(value.clone())),
        ValueTemplate::Expression(expression) => {
            match value(expression, scope).map_err(|fault| fault.at(&place.parts))? {
                Found::Value(value) => Ok(Some(value.into_owned())),
                Found::Missing(read) if must_be_there(expression, place, schema) => {
                    Err(missing(&read).at(&place.parts))
                }
                Found::Missing(_) => Ok(None),
            }
        }
        ValueTemplate::Object(entries) => {
            let mut object = Map::with_capacity(entries.len());
            for (key, below) in entries {
                place.parts.push(Part::Name(key));
                if let Some(value) = expand(below, schema, scope, place)? {
                    object.insert(key.clone(), value);
                }
                place.parts.pop();
            }
            Ok(Some(Value::Object(object)))
        }
        ValueTemplate::Array(items) => {
            let mut array = Vec::with_capacity(items.len());
            for (index, below) in items.iter().enumerate() {
                place.parts.push(Part::Index(index));
                array.extend(expand(below, schema, scope, place)?);
                place.parts.pop();
            }
            Ok(Some(Value::Array(array)))
        }
    }
}

/// Whether a condition holds. Anything that is neither true nor false is a fault.
pub fn condition(condition: &Condition, scope: &dyn Scope) -> Result<bool, Fault> {
    let found = match value(&condition.test, scope)? {
        Found::Value(found) => found,
        Found::Missing(read) => match condition.truth {
            Truth::Words => return Err(missing(&read)),
            Truth::Jq => return Ok(false),
        },
    };
    match condition.truth {
        Truth::Jq => Ok(!matches!(*found, Value::Null | Value::Bool(false))),
        Truth::Words => match &*found {
            Value::Bool(value) => Ok(*value),
            Value::String(text) => boolean_word(text.trim()).ok_or_else(|| not_a_truth(&found)),
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(not_a_truth(&found))
            }
        },
    }
}

/// The six words that are booleans.
pub fn boolean_word(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn not_a_truth(found: &Value) -> Fault {
    let mut shown = found.to_string();
    if shown.len() > 100 {
        shown = shown.chars().take(100).chain("…".chars()).collect();
    }
    Fault::new(
        FaultKind::Condition,
        format!("condition must evaluate to 'true' or 'false', got: {shown}"),
    )
}

/// What a loop takes for its collection.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    pub iterations_max: u32,
    /// JSON text of a list is one too, and null is an empty one.
    pub is_lenient: bool,
}

/// The items of a loop.
pub fn items(
    expression: &Expression,
    scope: &dyn Scope,
    accepted: Collection,
) -> Result<Vec<Value>, Fault> {
    let found = match value(expression, scope)? {
        Found::Value(found) => found.into_owned(),
        Found::Missing(read) => return Err(missing(&read)),
    };
    let found = match found {
        Value::String(text) if accepted.is_lenient => {
            serde_json::from_str(&text).map_err(|error| {
                let shown: String = text.chars().take(100).collect();
                let message =
                    format!("the collection is text that is no JSON list ({error}): {shown}");
                Fault::new(FaultKind::Collection, message)
            })?
        }
        other => other,
    };
    let items = match found {
        Value::Array(items) => items,
        Value::Null if accepted.is_lenient => Vec::new(),
        other => {
            let message = format!("the collection must be a list, not {}", kind_of(&other));
            return Err(Fault::new(FaultKind::Collection, message));
        }
    };
    let iterations_max = accepted.iterations_max;
    if items.len() > iterations_max as usize {
        let message = format!(
            "the collection has {}, more than the {iterations_max} allowed",
            counted(items.len(), "item")
        );
        return Err(Fault::new(FaultKind::Iterations, message));
    }
    Ok(items)
}
