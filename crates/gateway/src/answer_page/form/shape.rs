//! What of a schema can be filled in with which kind of field. Whatever no field can hold is filled in as JSON, that
//! part alone.

use crate::limits::{FORM_DEPTH_MAX, FORM_FIELDS_MAX};
use onecall_workflow::coerce::is_sensitive;
use serde_json::Value;

pub(super) struct Field<'a> {
    /// What it is called inside its object.
    pub(super) name: &'a str,
    pub(super) schema: &'a Value,
    pub(super) is_required: bool,
    pub(super) kind: Kind<'a>,
}

pub(super) enum Kind<'a> {
    Object(Vec<Field<'a>>),
    /// One value of a list.
    Choice(Vec<Choice<'a>>),
    /// Any number of them.
    Choices(Vec<Choice<'a>>),
    /// Any number of scalars, one a line.
    Lines(Scalar),
    Flag,
    /// A flag that must be decided: there is no answer before one is given.
    YesNo,
    One(Scalar),
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Text,
    Integer,
    Number,
}

pub(super) struct Choice<'a> {
    pub(super) value: &'a Value,
    pub(super) shown: String,
}

impl Field<'_> {
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.schema.get(key).and_then(Value::as_str)
    }

    /// Whether what is entered must not be shown.
    pub(super) fn is_secret(&self) -> bool {
        self.schema.as_object().is_some_and(is_sensitive)
    }
}

/// The fields of an object; `None` where the whole answer must be written as JSON.
pub(super) fn fields(schema: &Value) -> Option<Vec<Field<'_>>> {
    let mut reading = Reading {
        root: schema,
        left: FORM_FIELDS_MAX,
    };
    let schema = reading.resolved(schema)?;
    reading.object(schema, 0)
}

struct Reading<'a> {
    root: &'a Value,
    /// Fields that may still be made; a schema that refers to itself would make many.
    left: usize,
}

impl<'a> Reading<'a> {
    fn object(&mut self, schema: &'a Value, depth: usize) -> Option<Vec<Field<'a>>> {
        let properties = schema.get("properties")?.as_object()?;
        if is_combined(schema) {
            return None;
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|required| required.iter().any(|one| one == name));
        let mut fields = Vec::with_capacity(properties.len());
        for (name, below) in properties {
            self.left = self.left.checked_sub(1)?;
            let schema = self.resolved(below).unwrap_or(below);
            fields.push(Field {
                name,
                schema,
                is_required: is_required(name),
                kind: self.kind_in(schema, is_required(name), depth),
            });
        }
        Some(fields)
    }

    fn kind_in(&mut self, schema: &'a Value, is_required: bool, depth: usize) -> Kind<'a> {
        match self.kind(schema, depth) {
            Kind::Flag if is_required && schema.get("default").is_none() => Kind::YesNo,
            kind => kind,
        }
    }

    fn kind(&mut self, schema: &'a Value, depth: usize) -> Kind<'a> {
        if let Some(choices) = choices(schema) {
            return Kind::Choice(choices);
        }
        if is_combined(schema) {
            return Kind::Json;
        }
        match type_of(schema) {
            Some("boolean") => Kind::Flag,
            Some("object") if depth < FORM_DEPTH_MAX => self
                .object(schema, depth + 1)
                .map_or(Kind::Json, Kind::Object),
            Some("array") => self.list(schema),
            Some(other) => scalar(other).map_or(Kind::Json, Kind::One),
            None => Kind::Json,
        }
    }

    fn list(&self, schema: &'a Value) -> Kind<'a> {
        let items = schema.get("items").and_then(|items| self.resolved(items));
        let Some(items) = items.filter(|_| schema.get("prefixItems").is_none()) else {
            return Kind::Json;
        };
        if let Some(choices) = choices(items) {
            return Kind::Choices(choices);
        }
        if is_combined(items) {
            return Kind::Json;
        }
        type_of(items)
            .and_then(scalar)
            .map_or(Kind::Json, Kind::Lines)
    }

    /// What a reference inside the same schema leads to; `None` for any other.
    fn resolved(&self, mut schema: &'a Value) -> Option<&'a Value> {
        for _ in 0..=FORM_DEPTH_MAX {
            let Some(reference) = schema.get("$ref") else {
                return Some(schema);
            };
            schema = self.root.pointer(reference.as_str()?.strip_prefix('#')?)?;
        }
        None
    }
}

/// What fits depends on more than one schema, so no one kind of field is for it.
fn is_combined(schema: &Value) -> bool {
    let keys = ["allOf", "anyOf", "oneOf", "not"];
    keys.iter().any(|key| schema.get(key).is_some())
}

fn scalar(name: &str) -> Option<Scalar> {
    match name {
        "string" => Some(Scalar::Text),
        "integer" => Some(Scalar::Integer),
        "number" => Some(Scalar::Number),
        _ => None,
    }
}

/// The one type that a value can have, null aside: a field that is left empty is left out.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => Some(one),
        Some(Value::Array(several)) => {
            let named = several.iter().filter_map(Value::as_str);
            let mut named = named.filter(|name| *name != "null");
            let first = named.next()?;
            named.next().is_none().then_some(first)
        }
        Some(_) => None,
        None if schema.get("properties").is_some() => Some("object"),
        None if schema.get("items").is_some() => Some("array"),
        None => ["format", "pattern", "minLength", "maxLength"]
            .iter()
            .any(|key| schema.get(key).is_some())
            .then_some("string"),
    }
}

/// Values to choose from, where the schema lists them all.
fn choices(schema: &Value) -> Option<Vec<Choice<'_>>> {
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    if let Some(titled) = titled.and_then(Value::as_array) {
        return titled.iter().map(titled_choice).collect();
    }
    if let Some(value) = schema.get("const").filter(|value| is_scalar(value)) {
        let shown = bare(value);
        return Some(vec![Choice { value, shown }]);
    }
    let values = schema.get("enum").and_then(Value::as_array)?;
    let names = schema.get("enumNames").and_then(Value::as_array);
    let choice = |(index, value): (usize, _)| {
        let name = names.and_then(|names| names.get(index)?.as_str());
        let shown = name.map_or_else(|| bare(value), str::to_owned);
        is_scalar(value).then_some(Choice { value, shown })
    };
    values.iter().enumerate().map(choice).collect()
}

fn titled_choice(one: &Value) -> Option<Choice<'_>> {
    let value = one.get("const").filter(|value| is_scalar(value))?;
    let title = one.get("title").and_then(Value::as_str);
    let shown = title.map_or_else(|| bare(value), str::to_owned);
    Some(Choice { value, shown })
}

fn is_scalar(value: &Value) -> bool {
    !(value.is_object() || value.is_array())
}

/// A value as it stands in a field.
pub(super) fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
