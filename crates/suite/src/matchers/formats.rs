//! Matchers of formats and languages: JSON Schema, JSON, XML, SQL, tool calls, CEL.

use super::{Matched, Mismatch, error, holds, type_name};
use crate::limits::SQL_DEPTH_MAX;
use cel::objects::{Key, Map};
use cel::{Context, Program, Value as CelValue};
use onecall_workflow::coerce::Coercer;
use serde_json::Value;
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn fits(schema: &Coercer, value: &Value) -> Matched {
    let violations = schema.validate(value);
    if violations.is_empty() {
        return Ok(());
    }
    let reasons: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Err(Mismatch::Differs(Some(reasons.join("; "))))
}

fn differs(note: String) -> Matched {
    Err(Mismatch::Differs(Some(note)))
}

pub(super) fn is_json(value: &Value, schema: Option<&Coercer>) -> Matched {
    let Value::String(text) = value else {
        return differs(format!("{} is not JSON text", type_name(value)));
    };
    match (serde_json::from_str(text), schema) {
        (Ok(parsed), Some(schema)) => fits(schema, &parsed),
        (Ok(_), None) => Ok(()),
        (Err(error), _) => differs(error.to_string()),
    }
}

pub(super) fn is_xml(value: &Value, root: Option<&str>) -> Matched {
    let Value::String(text) = value else {
        return differs(format!("{} is not XML text", type_name(value)));
    };
    let document = match roxmltree::Document::parse(text) {
        Ok(document) => document,
        Err(error) => return differs(error.to_string()),
    };
    let name = document.root_element().tag_name().name();
    match root {
        Some(root) if root != name => differs(format!("the root element is `{name}`")),
        _ => Ok(()),
    }
}

pub(super) fn is_sql(value: &Value) -> Matched {
    let Value::String(text) = value else {
        return differs(format!("{} is not SQL text", type_name(value)));
    };
    let parser = Parser::new(&GenericDialect {}).with_recursion_limit(SQL_DEPTH_MAX);
    let parsed = parser.try_with_sql(text);
    match parsed.and_then(|mut parser| parser.parse_statements()) {
        Ok(statements) if statements.is_empty() => differs("there is no statement".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => differs(error.to_string()),
    }
}

pub(super) fn is_tool_call(value: &Value, schema: Option<&Coercer>) -> Matched {
    if !value.get("name").is_some_and(Value::is_string) {
        return differs("`name` is not a text".to_owned());
    }
    match (value.get("arguments"), schema) {
        (Some(arguments @ Value::Object(_)), Some(schema)) => fits(schema, arguments),
        (Some(Value::Object(_)), None) => Ok(()),
        _ => differs("`arguments` is not an object".to_owned()),
    }
}

pub(super) fn holds_in_cel(program: &Program, value: &Value) -> Matched {
    let mut context = Context::default();
    context.add_variable_from_value("value", cel_value(value));
    match program.execute(&context) {
        Ok(CelValue::Bool(is_true)) => holds(is_true),
        Ok(other) => error(format!(
            "the CEL expression gives {}, not a boolean",
            other.type_of()
        )),
        Err(failed) => error(format!("the CEL expression failed: {failed}")),
    }
}

/// Whole numbers become CEL's `int`, so that they compare with literals.
fn cel_value(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(own) => CelValue::Bool(*own),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(own), _) => CelValue::Int(own),
            (None, Some(own)) => CelValue::UInt(own),
            (None, None) => CelValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(items) => CelValue::List(Arc::new(items.iter().map(cel_value).collect())),
        Value::Object(entries) => {
            let entries = entries.iter();
            let map: HashMap<Key, CelValue> = entries
                .map(|(key, own)| (Key::String(Arc::new(key.clone())), cel_value(own)))
                .collect();
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}
