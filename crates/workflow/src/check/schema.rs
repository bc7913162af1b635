//! What a JSON Schema says about one property, as far as it can be told without a value.
//! Local references and `allOf` are followed; alternatives make everything possible.

use crate::limits::SCHEMA_DEPTH_MAX;
use serde_json::Value;

/// What is known of a property.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Property<'a> {
    /// Declared, with its schema.
    Declared(&'a Value),
    /// Not declared, but other properties are allowed.
    Allowed,
    /// Not declared, and nothing else is allowed.
    Forbidden,
    /// The schema does not tell.
    Unknown,
}

/// Follows local references.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    let mut schema = schema;
    for _ in 0..SCHEMA_DEPTH_MAX {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return Some(schema);
        };
        schema = root.pointer(reference.strip_prefix('#')?)?;
    }
    None
}

pub(crate) fn property<'a>(root: &'a Value, schema: &'a Value, name: &str) -> Property<'a> {
    let Some(object) = resolve(root, schema).and_then(Value::as_object) else {
        return Property::Unknown;
    };
    let opaque = [
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "patternProperties",
        "$dynamicRef",
        "not",
    ];
    if let Some(found) = object.get("properties").and_then(|all| all.get(name)) {
        return Property::Declared(found);
    }
    if opaque.iter().any(|key| object.contains_key(*key)) {
        return Property::Unknown;
    }
    if !object.get("properties").is_some_and(Value::is_object) {
        return Property::Unknown;
    }
    match object.get("additionalProperties") {
        Some(Value::Bool(false)) => Property::Forbidden,
        None => Property::Allowed,
        Some(_) => Property::Unknown,
    }
}

/// The names of the declared properties.
pub(super) fn names<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    resolve(root, schema)
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object)
        .map(|all| all.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// The names that must be there.
pub(super) fn required<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    resolve(root, schema)
        .and_then(|schema| schema.get("required"))
        .and_then(Value::as_array)
        .map(|all| all.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// The one type a schema asks for.
pub(super) fn sole_type<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a str> {
    resolve(root, schema)?.get("type")?.as_str()
}
