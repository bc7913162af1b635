//! `+ - * / %` and negation. Whatever makes a larger value is counted before it is made.

use super::super::budget;
use super::{Fields, ITEM_BYTES, Num, Val};
use crate::expression::jq::value::FIELD_BYTES;
use jaq_core::ops::Math;
use jaq_core::{Error, ValR};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::rc::Rc;

impl Add for Val {
    type Output = ValR<Self>;

    fn add(self, right: Self) -> ValR<Self> {
        match (self, right) {
            (Self::Null, value) | (value, Self::Null) => Ok(value),
            (Self::Num(left), Self::Num(right)) => {
                Ok(Self::Num(left.with(right, i128::checked_add, |l, r| l + r)))
            }
            (Self::Str(mut left), Self::Str(right)) => {
                budget::text(right.inner.len());
                let text = Rc::make_mut(&mut left);
                text.grow(right.inner.len(), 0);
                text.inner.push_str(&right.inner);
                Ok(Self::Str(left))
            }
            (Self::Arr(mut left), Self::Arr(right)) => {
                budget::steps(right.inner.len());
                let list = Rc::make_mut(&mut left);
                list.grow(right.inner.len() * ITEM_BYTES, right.depth);
                list.inner.extend(right.inner.iter().cloned());
                Ok(Self::Arr(left))
            }
            (Self::Obj(mut left), Self::Obj(right)) => {
                budget::steps(right.inner.len());
                let object = Rc::make_mut(&mut left);
                object.grow(right.inner.len() * FIELD_BYTES, right.depth);
                for (key, value) in &right.inner {
                    object.inner.insert(Rc::clone(key), value.clone());
                }
                Ok(Self::Obj(left))
            }
            (left, right) => Err(Error::math(left, Math::Add, right)),
        }
    }
}

impl Sub for Val {
    type Output = ValR<Self>;

    fn sub(self, right: Self) -> ValR<Self> {
        match (self, right) {
            (Self::Num(left), Self::Num(right)) => {
                Ok(Self::Num(left.with(right, i128::checked_sub, |l, r| l - r)))
            }
            (Self::Arr(left), Self::Arr(right)) => {
                let kept = left
                    .inner
                    .iter()
                    .filter(|item| !right.inner.contains(item))
                    .cloned();
                Ok(Self::list(kept))
            }
            (left, right) => Err(Error::math(left, Math::Sub, right)),
        }
    }
}

impl Mul for Val {
    type Output = ValR<Self>;

    fn mul(self, right: Self) -> ValR<Self> {
        match (self, right) {
            (Self::Num(left), Self::Num(right)) => {
                Ok(Self::Num(left.with(right, i128::checked_mul, |l, r| l * r)))
            }
            (Self::Str(text), Self::Num(count)) | (Self::Num(count), Self::Str(text)) => {
                Ok(repeated(&text.inner, count))
            }
            (Self::Obj(left), Self::Obj(right)) => Ok(merged(&left.inner, &right.inner)),
            (left, right) => Err(Error::math(left, Math::Mul, right)),
        }
    }
}

/// As often as the number says, rounded up; null for none.
fn repeated(text: &str, count: Num) -> Val {
    let count = count.to_f64().ceil();
    if count.is_nan() || count <= 0.0 {
        return Val::Null;
    }
    let count = usize::try_from(super::truncated(count)).unwrap_or(usize::MAX);
    let bytes = text.len().saturating_mul(count);
    budget::hold(bytes);
    budget::release(bytes);
    Val::string(text.repeat(count))
}

fn merged(left: &Fields, right: &Fields) -> Val {
    let kept = left.iter().map(|(key, own)| {
        let value = match (own, right.get(key)) {
            (Val::Obj(own), Some(Val::Obj(other))) => merged(&own.inner, &other.inner),
            (_, Some(other)) => other.clone(),
            (own, None) => own.clone(),
        };
        (Rc::clone(key), value)
    });
    let added = right.iter().filter(|(key, _)| !left.contains_key(*key));
    let added = added.map(|(key, value)| (Rc::clone(key), value.clone()));
    Val::object(kept.chain(added))
}

impl Div for Val {
    type Output = ValR<Self>;

    fn div(self, right: Self) -> ValR<Self> {
        match (self, right) {
            (Self::Num(left), Self::Num(right)) => match (left.whole(), right.whole()) {
                (_, Some(0)) => Err(Error::str("cannot divide by zero")),
                (Some(left), Some(right)) if left % right == 0 => {
                    Ok(Self::Num(Num::integer(left / right)))
                }
                _ => Ok(Self::Num(Num::Float(left.to_f64() / right.to_f64()))),
            },
            (Self::Str(left), Self::Str(right)) => Ok(split(&left.inner, &right.inner)),
            (left, right) => Err(Error::math(left, Math::Div, right)),
        }
    }
}

fn split(text: &str, separator: &str) -> Val {
    budget::text(text.len());
    if text.is_empty() {
        return Val::list([]);
    }
    if separator.is_empty() {
        return Val::list(text.chars().map(Val::string));
    }
    Val::list(text.split(separator).map(Val::string))
}

impl Rem for Val {
    type Output = ValR<Self>;

    fn rem(self, right: Self) -> ValR<Self> {
        let (Self::Num(left), Self::Num(right)) = (&self, &right) else {
            return Err(Error::math(self, Math::Rem, right));
        };
        if left.to_f64().is_nan() || right.to_f64().is_nan() {
            return Ok(Self::Num(Num::Float(f64::NAN)));
        }
        let truncated = |number: &Num| match number {
            Num::Int(value) => *value,
            Num::Float(value) => super::truncated(*value),
        };
        match truncated(left).checked_rem(truncated(right).saturating_abs()) {
            Some(rest) => Ok(Self::Num(Num::integer(rest))),
            None => Err(Error::str("cannot divide by zero")),
        }
    }
}

impl Neg for Val {
    type Output = ValR<Self>;

    fn neg(self) -> ValR<Self> {
        match self {
            Self::Num(Num::Int(value)) => Ok(Self::Num(Num::integer(-value))),
            Self::Num(Num::Float(value)) => Ok(Self::Num(Num::Float(-value))),
            other => Err(Error::typ(other, "number")),
        }
    }
}

impl Num {
    /// An integer of integers where it fits, else a float.
    fn with(
        self,
        other: Self,
        exact: fn(i128, i128) -> Option<i128>,
        near: fn(f64, f64) -> f64,
    ) -> Self {
        if let (Self::Int(left), Self::Int(right)) = (self, other)
            && let Some(value) = exact(left, right)
        {
            return Self::integer(value);
        }
        Self::Float(near(self.to_f64(), other.to_f64()))
    }
}
