//! Turns a value of a running template into an owned JSON value, without recursion.

use bumpalo::Bump;
use serde_json::{Map, Number, Value};

use crate::halt::{Halt, Outcome};
use crate::limits::VALUE_DEPTH_MAX;
use crate::options::Mode;
use crate::value::{Entry, ListView, Val};

/// A list or object that is being built.
enum Open<'a> {
    List(ListView<'a>, Vec<Value>),
    Map(&'a [Entry<'a>], Map<String, Value>),
}

/// The JSON value of `value`; what is absent is null.
pub(crate) fn to_json<'a>(value: Val<'a>, mode: Mode, arena: &'a Bump) -> Outcome<Value> {
    let mut open: Vec<Open<'a>> = Vec::new();
    let mut next = value;
    loop {
        if open.len() > VALUE_DEPTH_MAX {
            let message = format!("value is nested deeper than the limit of {VALUE_DEPTH_MAX}");
            return Err(Box::new(Halt::Limit(message)));
        }
        let mut done = match next {
            Val::Array(list) => Some(Value::Array(list.to_vec())),
            Val::Object(map) => Some(Value::Object(map.clone())),
            _ => {
                if let Some(list) = next.list() {
                    open.push(Open::List(list, Vec::with_capacity(list.len())));
                    None
                } else if let Some(map) = next.map().filter(|_| !matches!(next, Val::NilMap)) {
                    open.push(Open::Map(map.sorted(mode, arena), Map::new()));
                    None
                } else {
                    Some(scalar(next))
                }
            }
        };
        loop {
            let Some(top) = open.last_mut() else {
                return Ok(done.unwrap_or(Value::Null));
            };
            let waiting = match top {
                Open::List(list, values) => {
                    values.extend(done.take());
                    (values.len() < list.len()).then(|| list.get(values.len(), mode))
                }
                Open::Map(entries, map) => {
                    if let Some(value) = done.take() {
                        map.insert(text(entries[map.len()].0), value);
                    }
                    entries.get(map.len()).map(|entry| entry.1)
                }
            };
            if let Some(waiting) = waiting {
                next = waiting;
                break;
            }
            done = open.pop().map(|closed| match closed {
                Open::List(_, values) => Value::Array(values),
                Open::Map(_, map) => Value::Object(map),
            });
        }
    }
}

fn scalar(value: Val<'_>) -> Value {
    match value {
        Val::Bool(value) => Value::Bool(value),
        Val::Int(number) | Val::Whole(number) => Value::Number(number.into()),
        Val::Byte(number) => Value::Number(number.into()),
        Val::Big(number) => Value::Number(number.into()),
        Val::Float(number) | Val::Fraction(number) => {
            Number::from_f64(number).map_or(Value::Null, Value::Number)
        }
        Val::Str(bytes) => Value::String(text(bytes)),
        _ => Value::Null,
    }
}

/// Bytes as text, each byte that is not UTF-8 as one U+FFFD.
fn text(bytes: &[u8]) -> String {
    crate::template::Rendered {
        bytes: bytes.to_vec(),
        missing: Vec::new(),
    }
    .into_string()
}
