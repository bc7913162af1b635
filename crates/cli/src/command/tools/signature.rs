//! One tool as a person reads it: a signature, what each parameter is for, and a call to copy.

use crate::limits::CHOICES_SHOWN_MAX;
use onecall_mcp::Tool;
use serde_json::{Map, Value};

/// `place`: the paths and flags, or the URL, as `onecall call` takes them.
pub(super) fn lines(name: &str, tool: &Tool, place: &str) -> Vec<String> {
    let parameters = tool.input_schema().map(Parameter::all).unwrap_or_default();
    let shown: Vec<String> = parameters.iter().map(Parameter::shown).collect();
    let mut signature = format!("{name}({})", shown.join(", "));
    if let Some(output) = tool.output_schema() {
        signature.push_str(" -> ");
        signature.push_str(&result(output));
    }
    let mut lines = vec![signature];
    let about = tool.description().unwrap_or_default();
    lines.extend(
        about
            .lines()
            .map(|line| format!("  {line}").trim_end().to_owned()),
    );
    let width = parameters.iter().map(|own| own.name.chars().count()).max();
    let width = width.unwrap_or_default();
    if !parameters.is_empty() {
        lines.push(String::new());
    }
    for own in &parameters {
        let line = format!("  {:<width$}  {}", own.name, own.about());
        lines.push(line.trim_end().to_owned());
    }
    lines.push(String::new());
    lines.push(format!("example: {}", example(name, &parameters, place)));
    lines
}

struct Parameter<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
}

impl<'a> Parameter<'a> {
    /// Those that are required come first.
    fn all(schema: &'a Value) -> Vec<Self> {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|own| own.iter().any(|own| own == name));
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut all: Vec<Self> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| Self {
                name,
                schema,
                is_required: is_required(name),
            })
            .collect();
        all.sort_by_key(|own| !own.is_required);
        all
    }

    fn default(&self) -> Option<&'a Value> {
        self.schema.get("default")
    }

    /// `limit?: integer = 10`
    fn shown(&self) -> String {
        let mark = if self.is_required { "" } else { "?" };
        let default = self.default().map(|own| format!(" = {own}"));
        let default = default.unwrap_or_default();
        format!("{}{mark}: {}{default}", self.name, kind(self.schema))
    }

    fn about(&self) -> String {
        let about = self.schema.get("description").and_then(Value::as_str);
        let about = about.unwrap_or_default().replace('\n', " ");
        let need = if self.is_required {
            "required"
        } else {
            "optional"
        };
        format!("{need}  {about}")
    }

    /// A value to begin with, as a word of the command line has it.
    fn sample(&self) -> String {
        let stated = self.default().or_else(|| {
            let examples = self.schema.get("examples")?.as_array()?;
            examples.first()
        });
        let stated = stated.or_else(|| choices(self.schema)?.first());
        match stated {
            Some(Value::String(text)) => return text.clone(),
            Some(other) => return other.to_string(),
            None => {}
        }
        match self.schema.get("type").and_then(Value::as_str) {
            Some("integer" | "number") => "1",
            Some("boolean") => "true",
            Some("array") => "[]",
            Some("object") => "{}",
            _ => "TEXT",
        }
        .to_owned()
    }
}

fn choices(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("enum").and_then(Value::as_array)
}

/// The type of a value: `string[]`, `"a" | "b"`, `integer | null`.
fn kind(schema: &Value) -> String {
    if let Some(choices) = choices(schema) {
        let shown = choices.iter().take(CHOICES_SHOWN_MAX);
        let mut shown: Vec<String> = shown.map(ToString::to_string).collect();
        if choices.len() > shown.len() {
            shown.push("…".to_owned());
        }
        return shown.join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "array" => {
            let items = schema
                .get("items")
                .map_or_else(|| "any".to_owned(), kind_of_item);
            format!("{items}[]")
        }
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" | ")
        }
        _ => "any".to_owned(),
    }
}

fn kind_of_item(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        _ => "any".to_owned(),
    }
}

/// The fields of a result, one level deep.
fn result(schema: &Value) -> String {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields = properties.unwrap_or(&empty).iter();
    let fields = fields.map(|(name, schema)| format!("{name}: {}", kind(schema)));
    let fields: Vec<String> = fields.collect();
    if fields.is_empty() {
        return kind(schema);
    }
    format!("{{{}}}", fields.join(", "))
}

fn example(name: &str, parameters: &[Parameter<'_>], place: &str) -> String {
    let given = parameters.iter().filter(|own| own.is_required);
    let words = given.map(|own| {
        let value = own.sample();
        let quoted = shlex::try_quote(&value).map_or_else(|_| value.clone(), Into::into);
        format!("{}={quoted}", own.name)
    });
    let call = ["onecall", "call", place, name].map(str::to_owned);
    let words: Vec<String> = call
        .into_iter()
        .filter(|word| !word.is_empty())
        .chain(words)
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::lines;
    use onecall_mcp::Tool;
    use serde_json::json;

    #[test]
    fn a_tool_is_shown_as_a_signature_with_a_call() {
        let tool = json!({
            "name": "search", "description": "Finds things.\nIn order.",
            "inputSchema": { "type": "object", "required": ["query", "kind"], "properties": {
                "limit": { "type": "integer", "default": 10 },
                "query": { "type": "string", "description": "What to find" },
                "kind": { "enum": ["a b", "c"] },
                "tags": { "type": "array", "items": { "type": "string" } },
            }},
            "outputSchema": { "type": "object", "properties": { "hits": { "type": "integer" } } },
        });
        let tool = Tool::from_value(tool).unwrap();
        let shown = lines("demo_search", &tool, "onecall.yaml");
        let expected = [
            "demo_search(query: string, kind: \"a b\" | \"c\", limit?: integer = 10, tags?: string[]) -> {hits: integer}",
            "  Finds things.",
            "  In order.",
            "",
            "  query  required  What to find",
            "  kind   required",
            "  limit  optional",
            "  tags   optional",
            "",
            "example: onecall call onecall.yaml demo_search query=TEXT kind='a b'",
        ];
        assert_eq!(shown, expected);
    }
}
