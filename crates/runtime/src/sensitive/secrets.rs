//! The sensitive values of one run, and covering them wherever they stand.

use onecall_workflow::coerce::MASK;
use serde_json::Value;
use std::collections::BTreeSet;

/// A value that is shorter than this is covered where it stands alone, and not inside other text.
const INSIDE_BYTES_MIN: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// As they are printed.
    values: BTreeSet<String>,
}

impl Secrets {
    /// Remembers what a mask has covered.
    pub(super) fn learn(&mut self, open: &Value, masked: &Value) {
        match (open, masked) {
            _ if open == masked => {}
            (Value::Object(open), Value::Object(masked)) => {
                for (name, open) in open {
                    self.learn(open, masked.get(name).unwrap_or(&Value::Null));
                }
            }
            (Value::Array(open), Value::Array(masked)) => {
                for (open, masked) in open.iter().zip(masked) {
                    self.learn(open, masked);
                }
            }
            _ => self.add(open),
        }
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) if !text.is_empty() => {
                self.values.insert(text.clone());
            }
            Value::Number(number) => {
                self.values.insert(number.to_string());
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            // One of two or three values tells nothing by itself.
            Value::String(_) | Value::Null | Value::Bool(_) => {}
        }
    }

    pub(super) fn cover(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.cover_text(text),
            Value::Number(number) if self.values.contains(&number.to_string()) => {
                *value = Value::from(MASK);
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.cover(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.cover(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn cover_all<'a>(&self, values: impl Iterator<Item = &'a mut Value>) {
        for value in values {
            self.cover(value);
        }
    }

    /// The longest first, so that no part of one is left because another was found inside it.
    pub(super) fn cover_text(&self, text: &mut String) {
        if self.values.contains(text.as_str()) {
            MASK.clone_into(text);
            return;
        }
        let inside =
            |secret: &&String| secret.len() >= INSIDE_BYTES_MIN && text.contains(secret.as_str());
        let mut found: Vec<&String> = self.values.iter().filter(inside).collect();
        found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for secret in found {
            *text = text.replace(secret.as_str(), MASK);
            // In JSON inside a text the same value may be written with escapes.
            let quoted = Value::from(secret.as_str()).to_string();
            *text = text.replace(quoted.trim_matches('"'), MASK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_covered_is_covered_everywhere() {
        let mut secrets = Secrets::default();
        let open = json!({ "user": "ada", "token": "hunter22", "pin": 4711, "on": true, "who": { "a": "long secret" } });
        let masked = json!({ "user": "ada", "token": MASK, "pin": MASK, "on": MASK, "who": MASK });
        secrets.learn(&open, &masked);
        let mut value = json!({
            "text": "Bearer hunter22, pin 4711, ada",
            "list": ["hunter22", 4711, 4712, true],
            "deep": { "x": "a long secret" },
        });
        secrets.cover(&mut value);
        let expected = json!({
            "text": format!("Bearer {MASK}, pin {MASK}, ada"),
            "list": [MASK, MASK, 4712, true],
            "deep": { "x": format!("a {MASK}") },
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn a_short_value_is_covered_only_where_it_stands_alone() {
        let mut secrets = Secrets::default();
        secrets.learn(&json!("ab"), &json!(MASK));
        let mut value = json!(["ab", "cab"]);
        secrets.cover(&mut value);
        assert_eq!(value, json!([MASK, "cab"]));
    }
}
