//! Matchers of text.

use super::{Matched, Mismatch, error, holds, type_name};
use crate::limits::DISTANCE_CHARACTERS_MAX;
use regex::Regex;
use serde_json::Value;

fn text_of(value: &Value) -> Result<&str, Mismatch> {
    match value {
        Value::String(text) => Ok(text),
        other => error(format!("a text is needed, not {}", type_name(other))),
    }
}

pub(super) fn contains_ignoring_case(value: &Value, wanted: &Value) -> Matched {
    let text = text_of(value)?.to_lowercase();
    holds(text.contains(&text_of(wanted)?.to_lowercase()))
}

pub(super) fn starts_with(value: &Value, wanted: &Value) -> Matched {
    holds(text_of(value)?.starts_with(text_of(wanted)?))
}

pub(super) fn matches(value: &Value, pattern: &Regex) -> Matched {
    holds(pattern.is_match(text_of(value)?))
}

/// Edit distance, of compact JSON if the value is not text.
pub(super) fn is_near(value: &Value, wanted: &str, max: usize) -> Matched {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let length = text.chars().count().max(wanted.chars().count());
    if length > DISTANCE_CHARACTERS_MAX {
        return error(format!(
            "the edit distance of texts over {DISTANCE_CHARACTERS_MAX} characters is not computed"
        ));
    }
    let distance = strsim::levenshtein(&text, wanted);
    if distance <= max {
        return Ok(());
    }
    let note = format!("the edit distance is {distance}, more than {max}");
    Err(Mismatch::Differs(Some(note)))
}
