//! Where two values differ: for golden values and for the nearest record of a tape.

use crate::limits::{DIFFERENCES_MAX, LINES_SHOWN_MAX, SHOWN_CHARACTERS_MAX};
use crate::matchers::is_equal;
use serde_json::Value;

/// One location at which two values differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    /// Absent if the location exists in the actual value only.
    pub(crate) expected: Option<Value>,
    pub(crate) actual: Option<Value>,
}

/// All differences, with paths that begin with `root`.
pub(crate) fn differences(root: &str, expected: &Value, actual: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    collect(root, Some(expected), Some(actual), &mut found);
    found
}

fn collect(
    path: &str,
    expected: Option<&Value>,
    actual: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (expected, actual) {
        (Some(left), Some(right)) if is_equal(left, right) => {}
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            for (key, own) in left {
                collect(&below(path, key), Some(own), right.get(key), found);
            }
            for (key, own) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                collect(&below(path, key), None, Some(own), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                let path = format!("{path}[{index}]");
                collect(&path, left.get(index), right.get(index), found);
            }
        }
        (expected, actual) => found.push(Difference {
            path: path.to_owned(),
            expected: expected.cloned(),
            actual: actual.cloned(),
        }),
    }
}

/// A path as a target can be written.
fn below(path: &str, key: &str) -> String {
    let is_plain = !key.is_empty() && !key.contains(['.', '[', ']', '"']);
    if is_plain {
        format!("{path}.{key}")
    } else {
        format!("{path}[{}]", Value::from(key))
    }
}

/// The differences in one line.
pub(crate) fn in_one_line(differences: &[Difference]) -> String {
    let shown = differences.iter().take(DIFFERENCES_MAX);
    let mut parts: Vec<String> = shown.map(Difference::sentence).collect();
    let more = differences.len().saturating_sub(DIFFERENCES_MAX);
    if more > 0 {
        parts.push(format!("{more} more differences"));
    }
    parts.join("; ")
}

/// The differences as lines: the location, below it `-` what was expected and `+` what there is.
pub(crate) fn as_lines(differences: &[Difference]) -> Vec<String> {
    let mut lines = Vec::new();
    for difference in differences.iter().take(DIFFERENCES_MAX) {
        lines.push(difference.path.clone());
        lines.extend(difference.sides());
    }
    let more = differences.len().saturating_sub(DIFFERENCES_MAX);
    if more > 0 {
        lines.push(format!("and {more} more differences"));
    }
    lines
}

impl Difference {
    fn sentence(&self) -> String {
        let path = &self.path;
        match (&self.expected, &self.actual) {
            (Some(expected), Some(actual)) => {
                format!(
                    "`{path}` is {}, expected {}",
                    shown(actual),
                    shown(expected)
                )
            }
            (Some(expected), None) => format!("`{path}` is missing, expected {}", shown(expected)),
            (None, Some(actual)) => format!("`{path}` is not expected: {}", shown(actual)),
            (None, None) => path.clone(),
        }
    }

    fn sides(&self) -> Vec<String> {
        if let (Some(Value::String(left)), Some(Value::String(right))) =
            (&self.expected, &self.actual)
            && (left.contains('\n') || right.contains('\n'))
        {
            return line_sides(left, right);
        }
        let side = |sign: char, value: &Option<Value>| {
            value
                .as_ref()
                .map(|value| format!("  {sign} {}", shown(value)))
        };
        let sides = [side('-', &self.expected), side('+', &self.actual)];
        sides.into_iter().flatten().collect()
    }
}

/// The lines between the first and the last that differ.
fn line_sides(left: &str, right: &str) -> Vec<String> {
    let (left, right): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let pairs = left.iter().zip(&right);
    let before = pairs.take_while(|(left, right)| left == right).count();
    let rest = left.len().min(right.len()) - before;
    let backwards = left.iter().rev().zip(right.iter().rev()).take(rest);
    let after = backwards.take_while(|(left, right)| left == right).count();
    let mut lines = Vec::new();
    if before > 0 {
        lines.push(format!("  from line {}", before + 1));
    }
    for (sign, side) in [('-', &left), ('+', &right)] {
        let own = &side[before..side.len() - after];
        let shown = own.iter().take(LINES_SHOWN_MAX);
        lines.extend(shown.map(|line| format!("  {sign} {}", cut(line))));
        let more = own.len().saturating_sub(LINES_SHOWN_MAX);
        if more > 0 {
            lines.push(format!("  {sign} … {more} more lines"));
        }
    }
    lines
}

/// Compact JSON, cut if it is long.
pub(crate) fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

/// The text, cut if it is long.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_location_is_found() {
        let found = differences(
            "output",
            &json!({"hits": [1, 3], "old": 1, "same": [1.0], "a.b": 1}),
            &json!({"hits": [1, 2, 4], "new": true, "same": [1], "a.b": 2}),
        );
        assert_eq!(
            as_lines(&found),
            [
                "output.hits[1]",
                "  - 3",
                "  + 2",
                "output.hits[2]",
                "  + 4",
                "output.old",
                "  - 1",
                "output[\"a.b\"]",
                "  - 1",
                "  + 2",
                "output.new",
                "  + true",
            ]
        );
        assert!(in_one_line(&found).starts_with("`output.hits[1]` is 2, expected 3; "));
    }

    #[test]
    fn long_texts_show_the_lines_that_differ() {
        let found = differences("body", &json!("a\nb\nc\nd"), &json!("a\nx\ny\nd"));
        assert_eq!(
            as_lines(&found),
            ["body", "  from line 2", "  - b", "  - c", "  + x", "  + y"]
        );
    }
}
