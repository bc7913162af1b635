//! `x-mcp-header`: parameters of a tool that an HTTP client mirrors into `Mcp-Param-*` headers.
//! A tool whose annotation is invalid must be dropped by an HTTP client; the caller decides.

use serde_json::Value;

use crate::error::ShapeError;
use crate::header::{encode_value, name};
use crate::limits::{NESTING_MAX, PARAM_HEADERS_MAX};

const KEY: &str = "x-mcp-header";

/// One annotated parameter: where it stands in the arguments and which header carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    pub path: Vec<String>,
    /// Lower case, with the prefix `mcp-param-`.
    pub header: String,
}

/// All annotated parameters of an input schema, or why the tool must be dropped.
pub fn param_headers(schema: &Value) -> Result<Vec<ParamHeader>, ShapeError> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    let placed = collect(schema, &mut path, &mut found)?;
    // Invariant: every annotation in the schema was reached through `properties` alone.
    if count(schema, 0) != placed {
        return Err(wrong("x-mcp-header", "reachable through `properties` only"));
    }
    for (index, one) in found.iter().enumerate() {
        if found[..index]
            .iter()
            .any(|other| other.header == one.header)
        {
            return Err(wrong(&one.header, "named by one parameter only"));
        }
    }
    Ok(found)
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<ParamHeader>,
) -> Result<usize, ShapeError> {
    let mut placed = 0;
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(0);
    };
    if path.len() > NESTING_MAX {
        return Err(ShapeError::TooDeep { limit: NESTING_MAX });
    }
    for (property, inner) in properties {
        path.push(property.clone());
        if let Some(annotation) = inner.get(KEY) {
            found.push(ParamHeader {
                path: path.clone(),
                header: header_of(annotation, inner)?,
            });
            placed += 1;
            if found.len() > PARAM_HEADERS_MAX {
                return Err(ShapeError::TooMany {
                    what: "x-mcp-header annotations",
                    limit: PARAM_HEADERS_MAX,
                });
            }
        }
        placed += collect(inner, path, found)?;
        path.pop();
    }
    Ok(placed)
}

fn header_of(annotation: &Value, schema: &Value) -> Result<String, ShapeError> {
    let text = annotation.as_str().ok_or_else(|| wrong(KEY, "a string"))?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if text.is_empty() || !text.bytes().all(token) {
        return Err(wrong(KEY, "a header token"));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => {}
        _ => {
            return Err(wrong(
                KEY,
                "on a parameter of type string, integer or boolean",
            ));
        }
    }
    Ok(format!(
        "{}{}",
        name::PARAM_PREFIX,
        text.to_ascii_lowercase()
    ))
}

/// Annotations anywhere in the schema. Values under `const`, `enum`, `default` and `examples` are
/// data, and a property may itself be called `x-mcp-header`.
fn count(schema: &Value, depth: usize) -> usize {
    if depth > NESTING_MAX {
        return 0;
    }
    match schema {
        Value::Object(object) => {
            let own = usize::from(object.contains_key(KEY));
            let inner: usize = object
                .iter()
                .filter(|(key, _)| {
                    !matches!(key.as_str(), "const" | "enum" | "default" | "examples")
                })
                .map(|(key, value)| match (key.as_str(), value) {
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions",
                        Value::Object(map),
                    ) => map.values().map(|inner| count(inner, depth + 1)).sum(),
                    _ => count(value, depth + 1),
                })
                .sum();
            own + inner
        }
        Value::Array(items) => items.iter().map(|item| count(item, depth + 1)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Headers for one call: annotated parameters that are present and not null, encoded.
pub fn values<'a>(annotated: &'a [ParamHeader], arguments: &Value) -> Vec<(&'a str, String)> {
    annotated
        .iter()
        .filter_map(|one| {
            let value = one
                .path
                .iter()
                .try_fold(arguments, |value, key| value.get(key))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((one.header.as_str(), encode_value(&text)))
        })
        .collect()
}

fn wrong(what: &str, wanted: &'static str) -> ShapeError {
    ShapeError::Wrong {
        what: format!("`{what}`"),
        wanted,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_parameters_are_found_and_sent() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "inner": { "type": "object", "properties": {
                "count": { "type": "integer", "x-mcp-header": "Count" },
                "dry": { "type": "boolean", "x-mcp-header": "Dry" } } } } });
        let annotated = param_headers(&schema).unwrap();
        let sent = values(
            &annotated,
            &json!({ "region": "Zürich", "inner": { "count": 3, "dry": null } }),
        );
        assert_eq!(
            sent,
            vec![
                ("mcp-param-region", "=?base64?WsO8cmljaA==?=".to_owned()),
                ("mcp-param-count", "3".to_owned())
            ]
        );
    }

    #[test]
    fn invalid_annotations_are_refused() {
        let property = |inner: Value| json!({ "type": "object", "properties": { "a": inner } });
        for schema in [
            property(json!({ "type": "number", "x-mcp-header": "A" })),
            property(json!({ "type": "string", "x-mcp-header": "" })),
            property(json!({ "type": "string", "x-mcp-header": "a b" })),
            property(json!({ "type": "string", "x-mcp-header": 1 })),
            property(
                json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "A" } }),
            ),
            json!({ "type": "object", "anyOf": [{ "properties": {
                "a": { "type": "string", "x-mcp-header": "A" } } }] }),
            json!({ "type": "object", "properties": {
                "a": { "type": "string", "x-mcp-header": "A" },
                "b": { "type": "string", "x-mcp-header": "a" } } }),
        ] {
            assert!(param_headers(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_property_may_have_the_name_of_the_annotation() {
        let schema =
            json!({ "type": "object", "properties": { "x-mcp-header": { "type": "string" } } });
        assert_eq!(param_headers(&schema), Ok(Vec::new()));
    }
}
