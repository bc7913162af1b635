//! Filled-in fields back as JSON, by the types of their schema. What is left empty is left out, where it may be.

use super::shape::{Choice, Field, Kind, Scalar, bare};
use super::{Entered, below};
use serde_json::{Map, Number, Value};

/// The answer that the fields hold, or why they hold none.
pub(super) fn answer(
    fields: &[Field<'_>],
    entered: Entered<'_>,
) -> Result<Map<String, Value>, String> {
    let answer = object(fields, "", entered)?;
    refuse_undecided(fields, &answer)?;
    Ok(answer)
}

fn object(
    fields: &[Field<'_>],
    prefix: &str,
    entered: Entered<'_>,
) -> Result<Map<String, Value>, String> {
    let mut answer = Map::new();
    for field in fields {
        let name = below(prefix, field.name);
        if let Some(value) = value(field, &name, entered)? {
            answer.insert(field.name.to_owned(), value);
        }
    }
    Ok(answer)
}

fn value(field: &Field<'_>, name: &str, entered: Entered<'_>) -> Result<Option<Value>, String> {
    let first = entered.first(name);
    let filled = first.filter(|text| !text.trim().is_empty());
    Ok(match &field.kind {
        Kind::Flag => Some(Value::Bool(first.is_some())),
        Kind::YesNo => match filled {
            None => None,
            Some("true") => Some(Value::Bool(true)),
            Some("false") => Some(Value::Bool(false)),
            Some(other) => return Err(format!("`{}` is yes or no, not `{other}`", field.name)),
        },
        Kind::Object(fields) => {
            let inner = object(fields, name, entered)?;
            let is_left_out = !field.is_required && is_untouched(fields, &inner);
            if !is_left_out {
                refuse_undecided(fields, &inner)?;
            }
            (!is_left_out).then_some(Value::Object(inner))
        }
        Kind::Choices(choices) => {
            let chosen = entered.all(name).map(|text| choice(field, choices, text));
            list(field, chosen.collect::<Result<_, _>>()?)
        }
        Kind::Choice(choices) => match filled {
            Some(text) => Some(choice(field, choices, text)?),
            // An empty text may be among the choices.
            None if field.is_required => first.and_then(|text| choice(field, choices, text).ok()),
            None => None,
        },
        Kind::Lines(kind) => {
            let lines = first.unwrap_or_default().lines();
            let lines = lines.map(str::trim).filter(|line| !line.is_empty());
            let items = lines.map(|line| scalar(field, *kind, line));
            list(field, items.collect::<Result<_, _>>()?)
        }
        Kind::One(Scalar::Text) => match first {
            None => None,
            Some("") if !field.is_required => None,
            Some(text) => Some(Value::from(written(field, text))),
        },
        Kind::One(kind) => filled
            .map(|text| scalar(field, *kind, text.trim()))
            .transpose()?,
        Kind::Json => match filled {
            None => None,
            Some(text) => {
                let name = field.name;
                let parsed = serde_json::from_str(text);
                Some(parsed.map_err(|error| format!("`{name}` is not JSON: {error}"))?)
            }
        },
    })
}

/// What must be decided and was not is nobody's answer, neither yes nor no.
fn refuse_undecided(fields: &[Field<'_>], answer: &Map<String, Value>) -> Result<(), String> {
    let undecided = fields
        .iter()
        .find(|field| matches!(field.kind, Kind::YesNo) && !answer.contains_key(field.name));
    match undecided {
        Some(field) => Err(format!("choose yes or no for `{}`", field.name)),
        None => Ok(()),
    }
}

/// Nothing was entered in any field of an object.
fn is_untouched(fields: &[Field<'_>], object: &Map<String, Value>) -> bool {
    fields.iter().all(|field| {
        let Some(value) = object.get(field.name) else {
            return true;
        };
        match (&field.kind, value) {
            (Kind::YesNo, _) | (_, Value::Null | Value::Number(_)) => false,
            (Kind::Object(fields), Value::Object(below)) => is_untouched(fields, below),
            (_, Value::Bool(flag)) => !flag,
            (_, Value::String(text)) => text.is_empty(),
            (_, Value::Array(items)) => items.is_empty(),
            (_, Value::Object(below)) => below.is_empty(),
        }
    })
}

fn list(field: &Field<'_>, items: Vec<Value>) -> Option<Value> {
    let is_left_out =
        items.is_empty() && !field.is_required && field.schema.get("default").is_none();
    (!is_left_out).then_some(Value::Array(items))
}

fn choice(field: &Field<'_>, choices: &[Choice<'_>], text: &str) -> Result<Value, String> {
    let chosen = choices.iter().find(|choice| bare(choice.value) == text);
    let chosen = chosen.map(|choice| choice.value.clone());
    chosen.ok_or_else(|| format!("`{}` must be one of the choices, not `{text}`", field.name))
}

/// Browsers end lines with CR LF, and know points in time without their offset only.
fn written(field: &Field<'_>, text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    if field.text("format") != Some("date-time") || text.len() < 16 {
        return text;
    }
    let has_offset =
        text.ends_with(['Z', 'z']) || text.get(10..).is_some_and(|time| time.contains(['+', '-']));
    match (has_offset, text.len()) {
        (true, _) => text,
        (false, 16) => format!("{text}:00Z"),
        (false, _) => format!("{text}Z"),
    }
}

fn scalar(field: &Field<'_>, kind: Scalar, text: &str) -> Result<Value, String> {
    let name = field.name;
    match kind {
        Scalar::Text => Ok(Value::from(text)),
        Scalar::Integer => {
            number(text).ok_or_else(|| format!("`{name}` must be an integer, and `{text}` is none"))
        }
        Scalar::Number => {
            number(text).ok_or_else(|| format!("`{name}` must be a number, and `{text}` is none"))
        }
    }
}

fn number(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map(Value::Number)
}
