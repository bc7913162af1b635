//! How much room a value takes: enough to bound the data of a run and to tell large evaluations from small
//! ones, cheap enough to be counted for every value.

use serde_json::Value;

/// Bytes of a value and of what it holds, about as many as it has when written down.
pub fn weight(value: &Value) -> u64 {
    let mut total = 0;
    add(value, u64::MAX, &mut total);
    total
}

/// Whether a value weighs more than this. Stops counting as soon as that is known.
pub fn is_heavier(value: &Value, than: u64) -> bool {
    let mut total = 0;
    add(value, than, &mut total);
    total > than
}

fn add(value: &Value, enough: u64, total: &mut u64) {
    // A bracket, a comma, a short number.
    *total += 2;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => *total += 3,
        Value::String(text) => *total += text.len() as u64,
        Value::Array(items) => {
            for item in items {
                if *total > enough {
                    return;
                }
                add(item, enough, total);
            }
        }
        Value::Object(entries) => {
            for (key, below) in entries {
                if *total > enough {
                    return;
                }
                *total += 3 + key.len() as u64;
                add(below, enough, total);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_weighs_about_what_it_is_long() {
        let value =
            json!({ "name": "somebody", "list": [1, 2.5, null, true], "deep": { "er": {} } });
        let long = value.to_string().len() as u64;
        assert!(weight(&value).abs_diff(long) < long / 4, "{long}");
        assert!(is_heavier(&value, long / 2));
        assert!(!is_heavier(&value, 2 * long));
        assert!(is_heavier(&json!(["x".repeat(10), [[[]]]]), 10));
    }
}
