//! JSON for people: one value a line, as `serde_json` lays it out, with every number as it was written.

use onecall_mcp::{Exact, read_leniently};

/// What others wrote, laid out. Strings are written anew, so that `\\u00e9` is shown as the character it is.
pub(crate) fn pretty(exact: &Exact) -> String {
    let text = exact.text();
    let mut shown = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        match first {
            '"' => shown.push_str(&written(token)),
            '{' | '[' => {
                shown.push(first);
                let inside = rest.trim_ascii_start();
                if inside.starts_with(['}', ']']) {
                    shown.push_str(&inside[..1]);
                    rest = &inside[1..];
                } else {
                    depth += 1;
                    line(&mut shown, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut shown, depth);
                shown.push(first);
            }
            ',' => {
                shown.push(',');
                line(&mut shown, depth);
            }
            ':' => shown.push_str(": "),
            blank if blank.is_ascii_whitespace() => {}
            other => shown.push(other),
        }
    }
    shown
}

fn line(shown: &mut String, depth: usize) {
    shown.push('\n');
    shown.extend(std::iter::repeat_n("  ", depth));
}

/// How long the string is that the text begins with, both quotes with it.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn written(token: &str) -> String {
    let read: Option<String> = read_leniently(token).ok();
    let written = read.and_then(|text| serde_json::to_string(&text).ok());
    written.unwrap_or_else(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    fn exact(text: &str) -> Exact {
        Exact::from_raw(&RawValue::from_string(text.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn it_is_laid_out_as_any_other_value() {
        for value in [
            json!({}),
            json!([]),
            json!(null),
            json!("a \" } , : \\ é \u{1}\n"),
            json!({ "a": [1, [], {}, [[-1.5e-7, true]]], "b \"c": { "d": "[1, {" } }),
        ] {
            let wanted = serde_json::to_string_pretty(&value).unwrap();
            assert_eq!(pretty(&value.clone().into()), wanted);
            // Blanks of others make no difference.
            assert_eq!(pretty(&exact(&wanted)), wanted);
        }
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        let text = r#"{"n":12345678901234567890123,"f":[1.10,1e400],"s":"\u00e9 12"}"#;
        let wanted = "{\n  \"n\": 12345678901234567890123,\n  \"f\": [\n    1.10,\n    1e400\n  ],\n  \"s\": \"é 12\"\n}";
        assert_eq!(pretty(&exact(text)), wanted);
        assert_eq!(pretty(&Exact::from(Value::from(0.1))), "0.1");
    }
}
