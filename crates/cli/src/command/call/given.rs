//! The arguments of the command line, and how they meet the schema of the tool: text becomes what the schema wants,
//! and a name that the schema does not list is warned of.

use crate::exit::usage;
use crate::input::read_text;
use crate::limits::{ARGUMENTS_SHOWN_MAX, STDIN_BYTES_MAX};
use crate::{print, values};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Debug, Default)]
pub(super) struct Given {
    object: Map<String, Value>,
    /// Keys that were written as `key=text`.
    texts: BTreeSet<String>,
    /// What the schema requires and was not given.
    missing: Vec<String>,
}

impl Given {
    /// `json`: all arguments as one object, or `-` for stdin; the words come on top.
    pub(super) fn read(json: Option<&str>, words: &[String]) -> anyhow::Result<Self> {
        let mut object = match json {
            None => Map::new(),
            Some("-") => parse(&read_text(Path::new("-"), STDIN_BYTES_MAX)?)?,
            Some(text) => parse(text)?,
        };
        let texts = words.iter().filter_map(|word| {
            let (key, _) = word.split_once('=')?;
            (!key.ends_with(':')).then(|| key.to_owned())
        });
        let texts = texts.collect();
        object.extend(values::object(words)?);
        Ok(Self {
            object,
            texts,
            missing: Vec::new(),
        })
    }

    /// Reads texts as the schema wants them, and warns of names it does not have.
    pub(super) fn meet(&mut self, tool: &str, schema: Option<&Value>) {
        let required = schema.and_then(|schema| schema.get("required"));
        let required = required.and_then(Value::as_array).into_iter().flatten();
        let missing = required.filter_map(Value::as_str);
        let missing = missing.filter(|key| !self.object.contains_key(*key));
        self.missing = missing.map(str::to_owned).collect();
        let properties = schema.and_then(|schema| schema.get("properties"));
        let Some(properties) = properties.and_then(Value::as_object) else {
            return;
        };
        for (key, value) in &mut self.object {
            let property = properties.get(key);
            let text = value.as_str().filter(|_| self.texts.contains(key));
            if let Some(read) = text.and_then(|text| read_as(text, property?)) {
                *value = read;
                self.texts.remove(key);
            }
        }
        let more = schema.and_then(|schema| schema.get("additionalProperties"));
        // What is taken explicitly is no slip of the pen.
        if more.is_none_or(|more| *more == Value::Bool(false)) {
            for key in self
                .object
                .keys()
                .filter(|key| !properties.contains_key(*key))
            {
                print::err(unknown(tool, key, properties));
            }
        }
    }

    pub(super) fn to_value(&self) -> Value {
        Value::Object(self.object.clone())
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.object)
    }

    /// After a failure with this message: how to give what is missing, or, if a type does not match, to send what
    /// looks like a number, or other JSON, as that.
    pub(super) fn hint(&self, message: &str) -> Option<String> {
        if !self.missing.is_empty() {
            let words = self.missing.iter().map(|key| format!("{key}=…"));
            let words: Vec<String> = words.take(ARGUMENTS_SHOWN_MAX).collect();
            return Some(format!("add `{}`", words.join(" ")));
        }
        let key = self.texts.iter().find(|key| {
            let text = self.object.get(*key).and_then(Value::as_str);
            let read = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
            read.is_some_and(|read| is_mismatch(message, key, &read))
        })?;
        let text = self.object.get(key)?.as_str()?;
        Some(format!(
            "`{key}={text}` sends a text; `{key}:={text}` sends JSON"
        ))
    }
}

/// Whether a message says that this argument should have been of the type of this value.
fn is_mismatch(message: &str, key: &str, value: &Value) -> bool {
    let names: &[&str] = match value {
        Value::Null | Value::String(_) => &[],
        Value::Bool(_) => &["bool"],
        Value::Number(_) => &["number", "int", "float"],
        Value::Array(_) => &["array", "list"],
        Value::Object(_) => &["object", "dict", "mapping"],
    };
    let is_word = |word: &str| names.iter().any(|name| word.starts_with(name));
    let lower = message.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let names_key = message.split(|c| !is_part(c)).any(|word| word == key);
    names_key && words.any(is_word)
}

/// How all arguments are given at once.
const SHAPE: &str = r#"write '{"key": "value"}', or `-` to read it from stdin"#;

fn parse(text: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(usage(format!("--args-json must be a JSON object; {SHAPE}"))),
        Err(error) => Err(usage(format!("--args-json is not JSON: {error}; {SHAPE}"))),
    }
}

fn unknown(tool: &str, key: &str, properties: &Map<String, Value>) -> String {
    let names = properties.keys().map(String::as_str);
    let near = onecall_source::suggest(key, names)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    format!("warning: `{tool}` has no parameter `{key}`{near}")
}

/// A text as a value of the property's type; `None` where it may stay a text, or is none of that type.
fn read_as(text: &str, property: &Value) -> Option<Value> {
    let kinds: Vec<&str> = match property.get("type")? {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    if kinds.contains(&"string") {
        return None;
    }
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let kind = match &value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = kinds.contains(&kind) || (kind == "integer" && kinds.contains(&"number"));
    fits.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_become_what_the_schema_wants() {
        let words = ["a=1", "b=x", "c=1", "d=true", "e=[1]", "f=1.5", "g:=\"2\""];
        let mut given = Given::read(None, &words.map(str::to_owned)).unwrap();
        let schema = json!({ "properties": {
            "a": { "type": "number" }, "b": { "type": "integer" }, "c": { "type": "string" },
            "d": { "type": ["boolean", "null"] }, "e": { "type": "array" }, "f": { "type": "integer" },
            "g": { "type": "integer" },
        }});
        given.meet("t", Some(&schema));
        let expected =
            json!({ "a": 1, "b": "x", "c": "1", "d": true, "e": [1], "f": "1.5", "g": "2" });
        assert_eq!(given.to_value(), expected);
        let hint = given.hint("`c` must be an integer").unwrap();
        assert_eq!(hint, "`c=1` sends a text; `c:=1` sends JSON");
        assert_eq!(given.hint("`c` is too short"), None);
        assert_eq!(given.hint("`d` must be an integer"), None);
        let other = "`a` must be a number, which has the letter c in it nowhere but here: numeric";
        assert_eq!(given.hint(&other.replace(" c ", " ")), None);
        let schema =
            json!({ "properties": {}, "required": ["c", "x", "y"], "additionalProperties": true });
        given.meet("t", Some(&schema));
        assert_eq!(given.hint("").unwrap(), "add `x=… y=…`");
    }
}
