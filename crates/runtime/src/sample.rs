//! What a person writes to answer a question on the command line, as an example.

use serde_json::Value;

/// The fields of an answer as they would be written behind a command: ` ok:=true name=…`. Those that may be left out
/// are, unless there are no others.
pub fn sample(schema: Option<&Value>) -> String {
    let properties = schema.and_then(|own| own.get("properties")?.as_object());
    let required = schema.and_then(|own| own.get("required")?.as_array());
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|own| own == name));
    let all: Vec<(&String, &Value)> = properties.into_iter().flatten().collect();
    let needed: Vec<_> = all.iter().filter(|(name, _)| is_required(name)).collect();
    let shown = if needed.is_empty() {
        all.iter().collect()
    } else {
        needed
    };
    let fields = shown.into_iter().map(|(name, property)| {
        let choice = property.get("enum").and_then(|own| own.get(0));
        match (choice, property.get("type").and_then(Value::as_str)) {
            (Some(Value::String(choice)), _) => format!(" {name}={choice}"),
            (Some(choice), _) => format!(" {name}:={choice}"),
            (None, Some("boolean")) => format!(" {name}:=true"),
            (None, Some("integer" | "number")) => format!(" {name}:=1"),
            (None, Some("array")) => format!(" {name}:='[…]'"),
            (None, Some("object")) => format!(" {name}:='{{…}}'"),
            (None, _) => format!(" {name}=…"),
        }
    });
    fields.collect()
}

#[cfg(test)]
mod tests {
    use super::sample;
    use serde_json::json;

    #[test]
    fn an_answer_is_shown_with_the_fields_it_needs() {
        let schema = json!({ "properties": {
            "ok": { "type": "boolean" }, "n": { "type": "integer" }, "where": { "enum": ["here", "there"] },
            "name": { "type": "string" }, "tags": { "type": "array" }, "note": { "type": "string" },
        }, "required": ["ok", "n", "where", "name", "tags"] });
        let shown = sample(Some(&schema));
        assert_eq!(shown, " ok:=true n:=1 where=here name=… tags:='[…]'");
        let optional = json!({ "properties": { "note": { "type": "string" } } });
        assert_eq!(sample(Some(&optional)), " note=…");
        assert_eq!(sample(None), "");
    }
}
