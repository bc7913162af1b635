//! The comparisons `eq ne lt le gt ge`: Go's rules by kind, and in workflow mode numbers by value.

use std::cmp::Ordering;

use bumpalo::Bump;

use crate::budget::Budget;
use crate::format::printer::Printer;
use crate::halt::{Outcome, fail};
use crate::options::Mode;
use crate::value::Val;

/// What comparison distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
    Other,
}

fn basic(value: Val<'_>) -> Basic {
    match value {
        Val::Bool(_) => Basic::Bool,
        Val::Complex(_) => Basic::Complex,
        Val::Int(_) => Basic::Int,
        Val::Byte(_) => Basic::Uint,
        Val::Float(_) | Val::Whole(_) | Val::Big(_) | Val::Fraction(_) => Basic::Float,
        Val::Str(_) => Basic::String,
        _ => Basic::Other,
    }
}

fn is_number(value: Val<'_>) -> bool {
    matches!(basic(value), Basic::Int | Basic::Uint | Basic::Float)
}

/// What comparing needs beside the values.
pub(crate) struct Comparer<'p, 'a> {
    pub(crate) mode: Mode,
    pub(crate) budget: &'p mut Budget,
    pub(crate) arena: &'a Bump,
}

impl<'a> Comparer<'_, 'a> {
    /// `eq`: whether the first equals any of the others.
    pub(crate) fn equals_any(&mut self, first: Val<'a>, others: &[Val<'a>]) -> Outcome<bool> {
        if others.is_empty() {
            return fail("missing argument for comparison");
        }
        for &other in others {
            if self.equal(first, other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn equal(&mut self, left: Val<'a>, right: Val<'a>) -> Outcome<bool> {
        let (left_kind, right_kind) = (basic(left), basic(right));
        let by_value = self.mode == Mode::Workflow
            || left_kind == right_kind
            || is_integer_pair(left_kind, right_kind);
        if is_number(left) && is_number(right) && by_value {
            return Ok(order(left, right) == Some(Ordering::Equal));
        }
        if left_kind != right_kind {
            if left.is_absent() || right.is_absent() {
                return Ok(false);
            }
            return incompatible(left, right);
        }
        match (left, right) {
            (Val::Bool(left), Val::Bool(right)) => Ok(left == right),
            (Val::Str(left), Val::Str(right)) => Ok(left == right),
            #[expect(clippy::float_cmp, reason = "Go compares complex numbers exactly")]
            (Val::Complex(left), Val::Complex(right)) => Ok(left.0 == right.0 && left.1 == right.1),
            _ => self.equal_other(left, right),
        }
    }

    /// Lists, maps and what is absent: comparable with nil only.
    fn equal_other(&mut self, left: Val<'a>, right: Val<'a>) -> Outcome<bool> {
        let either_absent = left.is_absent() || right.is_absent();
        if !either_absent && left.type_name() != right.type_name() {
            let message = format!(
                "non-comparable types {}: {}, {}: {}",
                self.shown(left, b"%s")?,
                left.type_name(),
                right.type_name(),
                self.shown(right, b"%v")?
            );
            return fail(message);
        }
        let is_nil = |value: Val<'_>| value.is_absent() || matches!(value, Val::NilMap);
        if is_nil(left) || is_nil(right) {
            return Ok(is_nil(left) == is_nil(right));
        }
        let message = format!(
            "non-comparable type {}: {}",
            self.shown(right, b"%s")?,
            right.type_name()
        );
        fail(message)
    }

    fn shown(&mut self, value: Val<'a>, format: &[u8]) -> Outcome<String> {
        let mut out = Vec::new();
        Printer::new(&mut out, self.mode, self.budget, self.arena).printf(format, &[value])?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// `lt`.
    pub(crate) fn less(&mut self, left: Val<'a>, right: Val<'a>) -> Outcome<bool> {
        let (left_kind, right_kind) = (basic(left), basic(right));
        if left_kind == Basic::Other || right_kind == Basic::Other {
            return fail("invalid type for comparison");
        }
        let by_value = self.mode == Mode::Workflow
            || left_kind == right_kind
            || is_integer_pair(left_kind, right_kind);
        if is_number(left) && is_number(right) && by_value {
            return Ok(order(left, right) == Some(Ordering::Less));
        }
        if left_kind != right_kind {
            return incompatible(left, right);
        }
        match (left, right) {
            (Val::Str(left), Val::Str(right)) => Ok(left < right),
            _ => fail("invalid type for comparison"),
        }
    }

    /// `le`.
    pub(crate) fn less_or_equal(&mut self, left: Val<'a>, right: Val<'a>) -> Outcome<bool> {
        Ok(self.less(left, right)? || self.equal(left, right)?)
    }
}

fn is_integer_pair(left: Basic, right: Basic) -> bool {
    matches!(
        (left, right),
        (Basic::Int, Basic::Uint) | (Basic::Uint, Basic::Int)
    )
}

fn incompatible(left: Val<'_>, right: Val<'_>) -> Outcome<bool> {
    fail(format!(
        "incompatible types for comparison: {} and {}",
        left.type_name(),
        right.type_name()
    ))
}

/// The exact order of two numbers of any kind.
fn order(left: Val<'_>, right: Val<'_>) -> Option<Ordering> {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => with_float(left, float(right)),
        (None, Some(right)) => with_float(right, float(left)).map(Ordering::reverse),
        (None, None) => float(left).partial_cmp(&float(right)),
    }
}

fn integer(value: Val<'_>) -> Option<i128> {
    match value {
        Val::Int(number) | Val::Whole(number) => Some(i128::from(number)),
        Val::Byte(number) => Some(i128::from(number)),
        Val::Big(number) => Some(i128::from(number)),
        _ => None,
    }
}

fn float(value: Val<'_>) -> f64 {
    match value {
        Val::Float(number) | Val::Fraction(number) => number,
        _ => 0.0,
    }
}

/// The order of an integer and a float, without rounding the integer.
fn with_float(left: i128, right: f64) -> Option<Ordering> {
    if right.is_nan() {
        return None;
    }
    // Every integer here is below 2^65 in magnitude.
    if right.abs() >= 1e30 {
        return Some(if right > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below 1e30, so within i128"
    )]
    let whole = right.trunc() as i128;
    Some(left.cmp(&whole).then_with(|| {
        0.0f64
            .partial_cmp(&right.fract())
            .unwrap_or(Ordering::Equal)
    }))
}
