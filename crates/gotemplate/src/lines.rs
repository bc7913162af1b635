//! One template with its data as one line of JSON, and its answer as another: the form test cases have.
//!
//! A line is an object with `id`, `template`, `data`, and optionally `missingkey` (`default`, `invalid`, `zero`,
//! `error`), `int_paths` (numbers that are native integers) and `nilmap_paths` (values that are Go's nil map).
//! The answer is `{"id", "result"}`, `{"id", "result_b64"}` where the bytes are not UTF-8, or `{"id", "error", "phase"}`.

mod base64;
mod marked;

use serde_json::{Map, Value};

use crate::options::{MissingKey, Mode, ParseOptions, RenderOptions};
use crate::template::parse;
use marked::Marked;

/// Answers one line. A line that is no case is answered with phase `input`.
pub fn answer(line: &str, mode: Mode) -> String {
    let mut reply = Map::new();
    match serde_json::from_str::<Value>(line) {
        Ok(case) => {
            reply.insert(
                "id".to_owned(),
                case.get("id").cloned().unwrap_or(Value::Null),
            );
            match run(case, mode) {
                Ok(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => reply.insert("result".to_owned(), Value::String(text)),
                    Err(error) => reply.insert(
                        "result_b64".to_owned(),
                        Value::String(base64::encode(error.as_bytes())),
                    ),
                },
                Err(fault) => fault.write(&mut reply),
            };
        }
        Err(error) => {
            reply.insert("id".to_owned(), Value::Null);
            Fault {
                phase: "input",
                message: format!("not a JSON object: {error}"),
            }
            .write(&mut reply);
        }
    }
    Value::Object(reply).to_string()
}

/// Why there is no result.
struct Fault {
    phase: &'static str,
    message: String,
}

impl Fault {
    fn input(message: &str) -> Self {
        Self {
            phase: "input",
            message: message.to_owned(),
        }
    }

    fn write(self, reply: &mut Map<String, Value>) -> Option<Value> {
        reply.insert("error".to_owned(), Value::String(self.message));
        reply.insert("phase".to_owned(), Value::String(self.phase.to_owned()))
    }
}

fn run(mut case: Value, mode: Mode) -> Result<Vec<u8>, Fault> {
    if !case.is_object() {
        return Err(Fault::input("not a JSON object"));
    }
    let data = case.get_mut("data").map_or(Value::Null, Value::take);
    let source = case
        .get("template")
        .and_then(Value::as_str)
        .ok_or_else(|| Fault::input("no `template` text"))?;
    let missing_key = match case.get("missingkey").and_then(Value::as_str) {
        None | Some("default" | "invalid") => MissingKey::Default,
        Some("zero") => MissingKey::Zero,
        Some("error") => MissingKey::Error,
        Some(_) => {
            return Err(Fault::input(
                "`missingkey` is none of default, invalid, zero, error",
            ));
        }
    };
    let template = parse(source, &ParseOptions::default()).map_err(|error| Fault {
        phase: "parse",
        message: error.to_string(),
    })?;
    let options = RenderOptions {
        mode,
        missing_key,
        ..RenderOptions::default()
    };
    let mut root = Marked::new(data);
    root.mark(paths(&case, "int_paths"), paths(&case, "nilmap_paths"));
    let rendered = template
        .render(root.node(), &options)
        .map_err(|error| Fault {
            phase: "exec",
            message: error.to_string(),
        })?;
    Ok(rendered.bytes)
}

fn paths<'c>(case: &'c Value, key: &str) -> Vec<&'c str> {
    case.get(key)
        .and_then(Value::as_array)
        .map_or(Vec::new(), |list| {
            list.iter().filter_map(Value::as_str).collect()
        })
}
