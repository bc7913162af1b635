//! Matchers that compare values: equality, containment, order. Numbers compare by value: `1` equals `1.0`.

use super::{Matched, Mismatch, error, holds, type_name};
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Deep equality. The order of keys does not matter.
pub(crate) fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_same = |(key, own): (&String, _)| b.get(key).is_some_and(|b| is_equal(own, b));
            a.len() == b.len() && a.iter().all(is_same)
        }
        _ => a == b,
    }
}

/// The order of two numbers by value. Integers are compared exactly.
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

pub(super) fn order(value: &Value, bound: &Value, is_wanted: impl Fn(Ordering) -> bool) -> Matched {
    match (value, bound) {
        (Value::Number(value), Value::Number(bound)) => {
            holds(compare(value, bound).is_some_and(is_wanted))
        }
        _ => error(format!(
            "only numbers can be compared, not {}",
            type_name(value)
        )),
    }
}

/// Text contains text, an object the keys and values of another, a list the elements of another. Other values are
/// equal.
pub(super) fn contains(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (Value::Object(_), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| {
            let own = value.get(key);
            own.is_some_and(|own| contains_below(own, wanted))
        }),
        (Value::Array(own), Value::Array(wanted)) => has_elements(own, wanted),
        _ => is_equal(value, wanted),
    }
}

/// Below an object, text must be equal: only objects and lists are looked into.
fn contains_below(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::String(_), Value::String(_)) => is_equal(value, wanted),
        _ => contains(value, wanted),
    }
}

/// Whether every wanted element has one of its own among these.
fn has_elements(own: &[Value], wanted: &[Value]) -> bool {
    let mut is_used = vec![false; own.len()];
    wanted.iter().all(|wanted| {
        let mut free = own.iter().zip(&mut is_used).filter(|(_, used)| !**used);
        match free.find(|(own, _)| is_equal(own, wanted)) {
            Some((_, used)) => {
                *used = true;
                true
            }
            None => false,
        }
    })
}

/// Every key of an object, at any depth, with an equal value; anything else is equal.
pub(super) fn is_subset(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(key, own)| whole.get(key).is_some_and(|other| is_subset(own, other))),
        _ => is_equal(part, whole),
    }
}

pub(super) fn contains_all(value: &Value, wanted: &Value) -> Matched {
    let missing: Vec<&Value> = found(value, wanted)?
        .into_iter()
        .filter_map(|(wanted, is_found)| (!is_found).then_some(wanted))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = serde_json::json!(missing);
    Err(Mismatch::Differs(Some(format!("{missing} is missing"))))
}

pub(super) fn contains_any(value: &Value, wanted: &Value) -> Matched {
    holds(found(value, wanted)?.iter().any(|(_, is_found)| *is_found))
}

/// Each wanted element, and whether the value has it.
fn found<'w>(value: &Value, wanted: &'w Value) -> Result<Vec<(&'w Value, bool)>, Mismatch> {
    let wanted = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
    match value {
        Value::String(text) => {
            let found = wanted.iter().map(|part| match part {
                Value::String(own) => Ok((part, text.contains(own.as_str()))),
                other => error(format!("text cannot contain {}", type_name(other))),
            });
            found.collect()
        }
        Value::Array(own) => {
            let has = |wanted: &Value| own.iter().any(|own| is_equal(own, wanted));
            Ok(wanted.iter().map(|part| (part, has(part))).collect())
        }
        other => error(format!(
            "only text and lists can contain something, not {}",
            type_name(other)
        )),
    }
}
