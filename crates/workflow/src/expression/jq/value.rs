//! The values of running jq programs: shared, counted against the budget as long as they live, and never
//! deeper than a store can read back. Numbers are JSON's: integers of 64 bits either way, and floats.

mod access;
mod arithmetic;
mod order;
mod text;

pub(super) use access::positions;

use super::budget::{self, Spent};
use crate::limits::JQ_DEPTH_MAX;
use indexmap::IndexMap;
use serde_json::{Map, Number, Value};
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(super) enum Val {
    Null,
    Bool(bool),
    Num(Num),
    Str(Rc<Kept<String>>),
    Arr(Rc<Kept<Vec<Val>>>),
    Obj(Rc<Kept<Fields>>),
}

pub(super) type Fields = IndexMap<Rc<str>, Val>;

#[derive(Clone, Copy, Debug)]
pub(super) enum Num {
    /// Within `i64::MIN..=u64::MAX`.
    Int(i128),
    Float(f64),
}

/// Something that is paid for until it is dropped.
#[derive(Debug)]
pub(super) struct Kept<T> {
    pub(super) inner: T,
    bytes: usize,
    /// How deep it nests; what holds it is deeper.
    depth: usize,
}

const STRING_BYTES: usize = 64;
const LIST_BYTES: usize = 80 + 4 * ITEM_BYTES;
const ITEM_BYTES: usize = size_of::<Val>();
const OBJECT_BYTES: usize = 160;
const FIELD_BYTES: usize = 96;
/// One value of the result, and a field of it.
const JSON_BYTES: usize = size_of::<Value>();
const JSON_FIELD_BYTES: usize = JSON_BYTES + 72;

impl<T> Kept<T> {
    fn new(inner: T, bytes: usize, depth: usize) -> Rc<Self> {
        budget::hold(bytes);
        Self::paid(inner, bytes, depth)
    }

    /// What it takes has been counted already.
    fn paid(inner: T, bytes: usize, depth: usize) -> Rc<Self> {
        if depth > JQ_DEPTH_MAX {
            budget::release(bytes);
            budget::stop(Spent::Depth);
        }
        Rc::new(Self {
            inner,
            bytes,
            depth,
        })
    }

    fn grow(&mut self, bytes: usize, depth: usize) {
        budget::hold(bytes);
        self.bytes += bytes;
        self.depth = self.depth.max(depth);
        if self.depth > JQ_DEPTH_MAX {
            budget::stop(Spent::Depth);
        }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        budget::release(self.bytes);
    }
}

impl<T: Clone> Clone for Kept<T> {
    fn clone(&self) -> Self {
        budget::hold(self.bytes);
        budget::steps(self.bytes / ITEM_BYTES);
        Self {
            inner: self.inner.clone(),
            bytes: self.bytes,
            depth: self.depth,
        }
    }
}

impl Val {
    pub(super) fn string(text: impl Into<String>) -> Self {
        let text = text.into();
        budget::text(text.len());
        let bytes = STRING_BYTES + text.len();
        Self::Str(Kept::new(text, bytes, 0))
    }

    /// A list whose items are counted as they come, so that an endless one is stopped.
    pub(super) fn list(items: impl IntoIterator<Item = Self>) -> Self {
        let mut list = Vec::new();
        let (mut bytes, mut depth) = (LIST_BYTES, 0);
        budget::hold(LIST_BYTES);
        for item in items {
            budget::steps(1);
            budget::hold(ITEM_BYTES);
            bytes += ITEM_BYTES;
            depth = depth.max(item.depth());
            list.push(item);
        }
        Self::Arr(Kept::paid(list, bytes, depth + 1))
    }

    pub(super) fn object<K: AsRef<str>>(fields: impl IntoIterator<Item = (K, Self)>) -> Self {
        let mut object = Fields::new();
        let mut depth = 0;
        let mut bytes = OBJECT_BYTES;
        budget::hold(OBJECT_BYTES);
        for (key, value) in fields {
            let key = key.as_ref();
            budget::steps(1);
            budget::hold(FIELD_BYTES + key.len());
            bytes += FIELD_BYTES + key.len();
            depth = depth.max(value.depth());
            object.insert(Rc::from(key), value);
        }
        Self::Obj(Kept::paid(object, bytes, depth + 1))
    }

    fn depth(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Num(_) | Self::Str(_) => 0,
            Self::Arr(list) => list.depth,
            Self::Obj(object) => object.depth,
        }
    }

    pub(super) fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Num(Num::from_json(number)),
            Value::String(text) => {
                let bytes = STRING_BYTES + text.len();
                Self::Str(Kept::new(text.clone(), bytes, 0))
            }
            Value::Array(items) => {
                let items: Vec<Self> = items.iter().map(Self::from_json).collect();
                let depth = items.iter().map(Self::depth).max().unwrap_or(0);
                let bytes = LIST_BYTES + items.len() * ITEM_BYTES;
                Self::Arr(Kept::new(items, bytes, depth + 1))
            }
            Value::Object(fields) => {
                let mut bytes = OBJECT_BYTES;
                let mut depth = 0;
                let fields: Fields = fields
                    .iter()
                    .map(|(key, value)| {
                        let value = Self::from_json(value);
                        bytes += FIELD_BYTES + key.len();
                        depth = depth.max(value.depth());
                        (Rc::from(key.as_str()), value)
                    })
                    .collect();
                Self::Obj(Kept::new(fields, bytes, depth + 1))
            }
        }
    }

    /// `None` for a number that JSON cannot hold. What is shared is written out, and paid for.
    pub(super) fn to_json(&self) -> Option<Value> {
        budget::steps(1);
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Num(number) => Value::Number(number.to_json()?),
            Self::Str(text) => {
                budget::hold(text.inner.len());
                Value::String(text.inner.clone())
            }
            Self::Arr(list) => {
                budget::hold(LIST_BYTES + list.inner.len() * JSON_BYTES);
                let mut items = Vec::with_capacity(list.inner.len());
                for item in &list.inner {
                    items.push(item.to_json()?);
                }
                Value::Array(items)
            }
            Self::Obj(object) => {
                budget::hold(OBJECT_BYTES);
                let mut fields = Map::with_capacity(object.inner.len());
                for (key, value) in &object.inner {
                    budget::hold(JSON_FIELD_BYTES + key.len());
                    fields.insert(key.to_string(), value.to_json()?);
                }
                Value::Object(fields)
            }
        })
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(&text.inner),
            _ => None,
        }
    }
}

/// Whole floats up to here are the integers they look like.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Num {
    /// An integer where it fits, else the nearest float.
    pub(super) fn integer(value: i128) -> Self {
        if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value) {
            Self::Int(value)
        } else {
            Self::Float(nearest(value))
        }
    }

    fn from_json(number: &Number) -> Self {
        let signed = number.as_i64().map(i128::from);
        let unsigned = number.as_u64().map(i128::from);
        match signed.or(unsigned) {
            Some(value) => Self::Int(value),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    pub(super) fn to_json(self) -> Option<Number> {
        match self.whole() {
            Some(value) => match i64::try_from(value) {
                Ok(value) => Some(Number::from(value)),
                Err(_) => u64::try_from(value).ok().map(Number::from),
            },
            None => Number::from_f64(self.to_f64()),
        }
    }

    /// The integer that it is, also when it is held as a float.
    pub(super) fn whole(self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(value),
            Self::Float(value) if value.fract() == 0.0 && value.abs() <= EXACT => {
                Some(truncated(value))
            }
            Self::Float(_) => None,
        }
    }

    pub(super) fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => nearest(value),
            Self::Float(value) => value,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the nearest float is wanted")]
fn nearest(value: i128) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what does not fit saturates"
)]
fn truncated(value: f64) -> i128 {
    value as i128
}
