//! The functions that jq programs can call and that are not written in jq: those of jaq that reach nothing
//! outside of the program, and ours over our values.

use super::budget;
use super::compile::Counted;
use super::value::{Num, Val};
use jaq_core::native::{Filter, Fun, bome, unary, v};
use jaq_core::{Cv, Error, Exn, Native, RunPtr, ValR, ValX, ValXs};
use std::cmp::Ordering;

/// Functions of jaq that see the environment, the clock, the time zone or a log, and those of ours.
const LEFT_OUT: [&str; 8] = [
    "env",
    "now",
    "halt",
    "localtime",
    "strflocaltime",
    "debug_empty",
    "stderr_empty",
    "range",
];

pub(super) fn all() -> impl Iterator<Item = Fun<Counted>> {
    let theirs = jaq_core::funs::<Counted>().chain(jaq_std::funs::<Counted>());
    theirs
        .filter(|(name, ..)| !LEFT_OUT.contains(name))
        .chain(ours())
}

fn ours() -> impl Iterator<Item = Fun<Counted>> {
    let functions: [Filter<RunPtr<Counted>>; 11] = [
        ("range", v(3), |cv| range(cv)),
        ("length", v(0), |cv| bome(length(&cv.1))),
        ("tojson", v(0), |cv| bome(Ok(Val::string(cv.1.json_text())))),
        ("fromjson", v(0), |cv| bome(from_json(cv.1))),
        ("contains", v(1), |cv| {
            unary(cv, |whole, part| Ok(Val::Bool(contains(&whole, &part))))
        }),
        ("has", v(1), |cv| {
            unary(cv, |value, key| {
                value.part(&key).map(|part| Val::Bool(part.is_some()))
            })
        }),
        ("indices", v(1), |cv| unary(cv, indices)),
        ("bsearch", v(1), |cv| {
            unary(cv, |list, wanted| search(list, &wanted))
        }),
        ("nan", v(0), |_| bome(Ok(Val::from(f64::NAN)))),
        ("infinite", v(0), |_| bome(Ok(Val::from(f64::INFINITY)))),
        ("isnan", v(0), |cv| match cv.1 {
            Val::Num(number) => bome(Ok(Val::Bool(number.to_f64().is_nan()))),
            other => bome(Err(Error::typ(other, "number"))),
        }),
    ];
    functions
        .into_iter()
        .map(|(name, arguments, function)| (name, arguments, Native::<Counted>::new(function)))
}

/// Counts every value, so that an endless range is stopped also where nothing looks at its values.
fn range(mut cv: Cv<'_, Counted>) -> ValXs<'_, Val> {
    let by = cv.0.pop_var();
    let to = cv.0.pop_var();
    let mut next: Option<ValX<'_, Val>> = Some(Ok(cv.0.pop_var()));
    let towards = by.cmp(&Val::Num(Num::Int(0)));
    Box::new(std::iter::from_fn(move || {
        budget::steps(1);
        let current = match next.take()? {
            Ok(current) => current,
            Err(error) => return Some(Err(error)),
        };
        let goes_on = match towards {
            Ordering::Greater => current < to,
            Ordering::Less => current > to,
            Ordering::Equal => current != to,
        };
        if !goes_on {
            return None;
        }
        next = Some((current.clone() + by.clone()).map_err(Exn::from));
        Some(Ok(current))
    }))
}

fn length(value: &Val) -> ValR<Val> {
    Ok(match value {
        Val::Null => Val::from(0_usize),
        Val::Num(Num::Int(number)) => Val::Num(Num::integer(number.abs())),
        Val::Num(Num::Float(number)) => Val::from(number.abs()),
        Val::Str(text) => {
            budget::text(text.inner.len());
            Val::from(text.inner.chars().count())
        }
        Val::Arr(list) => Val::from(list.inner.len()),
        Val::Obj(object) => Val::from(object.inner.len()),
        Val::Bool(_) => return Err(Error::str(format!("{value} has no length"))),
    })
}

fn from_json(value: Val) -> ValR<Val> {
    let Some(text) = value.as_str() else {
        return Err(Error::typ(value, "string"));
    };
    budget::text(text.len());
    // A parsed value takes several times its text.
    budget::hold(text.len());
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(text);
    budget::release(text.len());
    match parsed {
        Ok(parsed) => Ok(Val::from_json(&parsed)),
        Err(error) => Err(Error::str(format!("cannot parse {value} as JSON: {error}"))),
    }
}

fn contains(whole: &Val, part: &Val) -> bool {
    budget::steps(1);
    match (whole, part) {
        (Val::Str(whole), Val::Str(part)) => {
            budget::text(whole.inner.len());
            whole.inner.contains(&part.inner)
        }
        (Val::Arr(whole), Val::Arr(part)) => part
            .inner
            .iter()
            .all(|part| whole.inner.iter().any(|whole| contains(whole, part))),
        (Val::Obj(whole), Val::Obj(part)) => part.inner.iter().all(|(key, part)| {
            let own = whole.inner.get(key);
            own.is_some_and(|whole| contains(whole, part))
        }),
        (whole, part) => whole == part,
    }
}

/// Where a text, a list or an item is found, in characters or items.
fn indices(value: Val, wanted: Val) -> ValR<Val> {
    match (&value, &wanted) {
        (Val::Null, _) => Ok(Val::Null),
        (Val::Str(text), Val::Str(part)) => {
            budget::text(text.inner.len());
            if part.inner.is_empty() {
                return Ok(Val::Null);
            }
            let starts = text.inner.char_indices().enumerate();
            Ok(Val::list(starts.filter_map(|(position, (byte, _))| {
                budget::text(part.inner.len());
                let found = text.inner[byte..].starts_with(&part.inner);
                found.then(|| Val::from(position))
            })))
        }
        (Val::Arr(list), Val::Arr(part)) => Ok(super::value::positions(&list.inner, &part.inner)),
        (Val::Arr(list), item) => {
            let items = list.inner.iter().enumerate();
            let found = items.filter(|(_, own)| *own == item);
            Ok(Val::list(found.map(|(position, _)| Val::from(position))))
        }
        _ => Err(Error::index(value, wanted)),
    }
}

/// The position in a sorted list, or where it would stand, as jq counts it.
fn search(value: Val, wanted: &Val) -> ValR<Val> {
    let Val::Arr(list) = &value else {
        return Err(Error::typ(value, "array"));
    };
    Ok(match list.inner.binary_search(wanted) {
        Ok(found) => Val::from(found),
        Err(place) => {
            let place = i128::try_from(place).unwrap_or(i128::MAX - 1);
            Val::Num(Num::integer(-1 - place))
        }
    })
}
