//! The conversions a value may undergo, in the order they are tried, and the text of numbers.

use crate::evaluate::boolean_word;
use serde_json::{Number, Value};

/// What a value could stand for, the first choice first.
pub(super) fn candidates(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => from_text(text.trim()),
        Value::Bool(flag) => vec![Value::from(flag.to_string())],
        Value::Number(number) => {
            let text = Value::from(number_text(number));
            std::iter::once(text).chain(whole(value)).collect()
        }
        Value::Null | Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

fn from_text(text: &str) -> Vec<Value> {
    let integer = integer(text);
    let mut found = Vec::new();
    if integer.is_none() {
        found.extend(number(text));
    }
    found.extend(integer);
    found.extend(boolean_word(text).map(Value::Bool));
    found.extend((text == "null").then_some(Value::Null));
    if text.starts_with(['{', '[']) {
        found.extend(serde_json::from_str::<Value>(text));
    }
    found
}

fn integer(text: &str) -> Option<Value> {
    let signed = text.parse::<i64>().map(Value::from);
    signed
        .or_else(|_| text.parse::<u64>().map(Value::from))
        .ok()
}

/// A number in JSON's own spelling. Digits are never lost: an integer too long to hold stays text.
fn number(text: &str) -> Option<Value> {
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    let number: Number = serde_json::from_str(text).ok()?;
    let is_digits = text
        .trim_start_matches('-')
        .bytes()
        .all(|b| b.is_ascii_digit());
    let kept = !is_digits
        || number
            .as_f64()
            .is_some_and(|float| format!("{float:.0}") == text);
    kept.then_some(Value::Number(number))
}

/// A whole float within the exact range of integers, as an integer.
pub(super) fn whole(value: &Value) -> Option<Value> {
    let Value::Number(number) = value else {
        return None;
    };
    crate::output::whole(number.as_f64().filter(|_| number.is_f64()))
}

/// Whether a value is or holds a whole float.
pub(super) fn has_whole(value: &Value) -> bool {
    match value {
        Value::Number(_) => whole(value).is_some(),
        Value::Array(items) => items.iter().any(has_whole),
        Value::Object(object) => object.values().any(has_whole),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// A number as templates print it: `3`, `1.5`, `1e+21`, never `3.0`.
pub(crate) fn number_text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let size = float.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{float}");
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}
