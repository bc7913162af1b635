//! Typed output: each property is evaluated, fitted to its declared type, and replaced by its default
//! where it is missing or does not fit. The JSON Schema that clients see comes from the same properties.

#[cfg(test)]
mod tests;

use crate::check::schema as schemas;
use crate::coerce::{Coercer, Reason};
use crate::evaluate::{self, Fault, FaultKind, Found};
use crate::expression::{Facet, Program, Root, Target, kind_of};
use crate::scope::Scope;
use crate::workflow::{OutputKind, OutputProperties, OutputProperty, OutputSource, Unset};
use serde_json::{Map, Value, json};

/// What an output block gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Produced {
    pub value: Map<String, Value>,
    /// Properties whose default was used, with the reason.
    pub defaulted: Vec<(String, String)>,
    /// Required properties that are missing or null. Empty unless `Absent::LeftOut`.
    pub lacking: Vec<String>,
}

/// What a property without value and default does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The output fails.
    Fails,
    /// The property is left out: the rest of the run was skipped, or it failed and the rest is wanted.
    LeftOut,
}

/// Evaluates an output block.
pub fn produce(
    block: &OutputProperties,
    scope: &dyn Scope,
    absent: Absent,
) -> Result<Produced, Fault> {
    let mut produced = Produced::default();
    let options = Options {
        scope,
        absent,
        unset: block.unset,
    };
    produced.value = object(&block.properties, "", &options, &mut produced.defaulted)?;
    for name in &block.required {
        if produced.value.get(name).is_none_or(Value::is_null) {
            match absent {
                Absent::Fails => {
                    let message = format!("required output property `{name}` is missing or null");
                    return Err(Fault::new(FaultKind::Output, message));
                }
                Absent::LeftOut => produced.lacking.push(name.clone()),
            }
        }
    }
    Ok(produced)
}

struct Options<'a> {
    scope: &'a dyn Scope,
    absent: Absent,
    unset: Unset,
}

impl Options<'_> {
    fn leaves_out(&self, fault: &Fault) -> bool {
        let is_unset = fault.kind == FaultKind::Missing && self.unset == Unset::LeftOut;
        is_unset || self.absent == Absent::LeftOut
    }
}

fn object(
    properties: &[OutputProperty],
    prefix: &str,
    options: &Options<'_>,
    defaulted: &mut Vec<(String, String)>,
) -> Result<Map<String, Value>, Fault> {
    let mut object_value = Map::with_capacity(properties.len());
    for property in properties {
        let path = if prefix.is_empty() {
            property.name.clone()
        } else {
            format!("{prefix}.{}", property.name)
        };
        let before = defaulted.len();
        let own = match &property.source {
            OutputSource::Value(expression) => {
                fitted(property, evaluate::value(expression, options.scope))
            }
            OutputSource::Properties(below) => {
                object(below, &path, options, defaulted).map(Value::Object)
            }
        };
        let fault = match own {
            Ok(value) => {
                object_value.insert(property.name.clone(), value);
                continue;
            }
            Err(fault) => fault,
        };
        if let Some(default) = &property.default {
            let value = fit(property.kind, default.clone()).unwrap_or_else(|_| default.clone());
            object_value.insert(property.name.clone(), value);
            // Defaults below it went with the object that failed.
            defaulted.truncate(before);
            defaulted.push((path, fault.message));
        } else if !options.leaves_out(&fault) {
            return Err(match &property.source {
                OutputSource::Value(_) => {
                    let message = format!("output property `{path}`: {}", fault.message);
                    Fault::new(fault.kind, message)
                }
                // The property below has named itself.
                OutputSource::Properties(_) => fault,
            });
        }
    }
    Ok(object_value)
}

fn fitted(property: &OutputProperty, found: Result<Found<'_>, Fault>) -> Result<Value, Fault> {
    match found? {
        Found::Missing(read) => Err(evaluate::missing(&read)),
        Found::Value(value) => {
            let value = fit(property.kind, value.into_owned())?;
            match &property.schema {
                None => Ok(value),
                Some(schema) => fit_schema(schema, value),
            }
        }
    }
}

fn fit_schema(schema: &Value, value: Value) -> Result<Value, Fault> {
    match Coercer::new(schema.clone()).validate(&value).first() {
        None => Ok(value),
        Some(fault) => {
            let kind = match fault.reason {
                Reason::Limit => FaultKind::Patterns,
                Reason::Mismatch | Reason::Schema => FaultKind::Output,
            };
            Err(Fault::new(kind, fault.to_string()))
        }
    }
}

/// Fits a value to a declared type; text is parsed, other types become text where text is declared.
pub fn fit(kind: OutputKind, value: Value) -> Result<Value, Fault> {
    let fits = match (kind, &value) {
        (OutputKind::Any, _)
        | (OutputKind::String, Value::String(_))
        | (OutputKind::Boolean, Value::Bool(_))
        | (OutputKind::Object, Value::Object(_))
        | (OutputKind::Array, Value::Array(_))
        | (OutputKind::Number, Value::Number(_)) => true,
        (OutputKind::Integer, Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    };
    if fits {
        return Ok(value);
    }
    let converted = match (kind, &value) {
        (_, Value::Null) => None,
        (OutputKind::String, other) => Some(Value::String(evaluate::as_text(other))),
        (OutputKind::Integer, Value::Number(number)) => whole(number.as_f64()),
        (kind, Value::String(text)) => parse(kind, text),
        _ => None,
    };
    converted.ok_or_else(|| {
        let shown = match &value {
            Value::String(text) => format!("{:?}", text.chars().take(100).collect::<String>()),
            other => kind_of(other).to_owned(),
        };
        Fault::new(
            FaultKind::Output,
            format!("{shown} does not fit type `{}`", kind.as_str()),
        )
    })
}

fn parse(kind: OutputKind, text: &str) -> Option<Value> {
    let text = text.trim();
    match kind {
        OutputKind::Integer => {
            let signed = text.parse::<i64>().map(Value::from);
            signed
                .or_else(|_| text.parse::<u64>().map(Value::from))
                .ok()
        }
        OutputKind::Number => {
            let parsed: Value = serde_json::from_str(text).ok()?;
            parsed.is_number().then_some(parsed)
        }
        OutputKind::Boolean => match text {
            "true" | "1" => Some(Value::Bool(true)),
            "false" | "0" => Some(Value::Bool(false)),
            _ => None,
        },
        OutputKind::Object => serde_json::from_str(text).ok().filter(Value::is_object),
        OutputKind::Array => serde_json::from_str(text).ok().filter(Value::is_array),
        OutputKind::String | OutputKind::Any => Some(Value::from(text)),
    }
}

/// A whole float within the exact range of integers, as an integer.
pub(crate) fn whole(number: Option<f64>) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = number?;
    if number.fract() != 0.0 || number.abs() > EXACT {
        return None;
    }
    format!("{number:.0}").parse::<i64>().ok().map(Value::from)
}

/// The JSON Schema of an output block, as clients see it.
pub fn schema(block: &OutputProperties) -> Value {
    schema_over(block, &|_| None)
}

/// The same, where `known` tells the schema of a step's output: what is passed on untyped has its type from there.
pub fn schema_over<'a>(
    block: &OutputProperties,
    known: &dyn Fn(&str) -> Option<&'a Value>,
) -> Value {
    let properties = properties_schema(&block.properties, known);
    let mut schema = json!({ "type": "object", "properties": properties });
    if !block.required.is_empty() {
        schema["required"] = json!(block.required);
    }
    schema
}

fn properties_schema<'a>(
    properties: &[OutputProperty],
    known: &dyn Fn(&str) -> Option<&'a Value>,
) -> Value {
    let entries = properties.iter().map(|property| {
        let mut own = match (&property.schema, inferred(property, known)) {
            (Some(Value::Object(schema)), _) | (None, Some(Value::Object(schema))) => {
                schema.clone()
            }
            _ => Map::new(),
        };
        if property.kind != OutputKind::Any {
            own.insert("type".to_owned(), Value::from(property.kind.as_str()));
        }
        if let Some(description) = &property.description {
            own.insert("description".to_owned(), Value::from(description.as_str()));
        }
        if let OutputSource::Properties(below) = &property.source {
            own.insert("properties".to_owned(), properties_schema(below, known));
        }
        (property.name.clone(), Value::Object(own))
    });
    Value::Object(entries.collect())
}

/// What the tool says of a field that is passed on as it is. A schema with references cannot stand alone.
fn inferred<'a>(
    property: &OutputProperty,
    known: &dyn Fn(&str) -> Option<&'a Value>,
) -> Option<&'a Value> {
    let OutputSource::Value(expression) = &property.source else {
        return None;
    };
    let Program::Path(path) = &expression.program else {
        return None;
    };
    let (Root::Step { name, facet }, OutputKind::Any) = (&path.root, property.kind) else {
        return None;
    };
    let Target::Step { segments, .. } = path.target() else {
        return None;
    };
    if *facet != Facet::Output || segments.len() != path.segments.len() {
        return None;
    }
    let root = known(name)?;
    let mut at = root;
    for segment in &segments {
        match schemas::property(root, at, segment) {
            schemas::Property::Declared(own) => at = own,
            schemas::Property::Allowed
            | schemas::Property::Forbidden
            | schemas::Property::Unknown => {
                return None;
            }
        }
    }
    (!at.to_string().contains("\"$ref\"")).then_some(at)
}
