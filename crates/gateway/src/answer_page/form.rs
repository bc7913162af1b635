//! A form from a question's schema, and its fields back as JSON. Schemas that no form can hold are filled in as
//! JSON text. Whether the answer fits is decided by the run that asked.

use onecall_mcp::check_form;
use serde_json::{Map, Number, Value};
use std::fmt::Write as _;

/// Fields of the answer have this before their name, so that none is mistaken for a button.
const PREFIX: &str = "f.";
/// The field that holds the whole answer as JSON.
const WHOLE: &str = "json";

pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The fields of the form.
pub(crate) fn fields(schema: Option<&Value>) -> String {
    let Some(schema) = schema else {
        return String::new();
    };
    if !check_form(schema).is_empty() {
        return format!(
            "<p><label for=\"{WHOLE}\">Answer as JSON</label>\
             <textarea id=\"{WHOLE}\" name=\"{WHOLE}\" rows=\"8\" required>{{}}</textarea></p>"
        );
    }
    let mut text = String::new();
    for (name, property) in properties(schema) {
        field(&mut text, name, property, is_required(schema, name));
    }
    text
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|one| one == name))
}

fn field(to: &mut String, name: &str, property: &Value, required: bool) {
    let text = |key: &str| property.get(key).and_then(Value::as_str);
    let label = escape(text("title").unwrap_or(name));
    let id = escape(&format!("{PREFIX}{name}"));
    let needed = if required { " required" } else { "" };
    let default = property.get("default");
    let note = text("description").map(escape).unwrap_or_default();
    let note = format!("<p class=\"note\">{note}</p>");
    match text("type") {
        Some("boolean") => {
            let checked = checked(default == Some(&Value::Bool(true)));
            let _ = write!(
                to,
                "<p><label><input type=\"checkbox\" name=\"{id}\" value=\"true\"{checked}> {label}</label></p>{note}"
            );
        }
        Some("array") => {
            let _ = write!(to, "<fieldset><legend>{label}</legend>{note}");
            let chosen = default.and_then(Value::as_array);
            for (value, shown) in choices(property.get("items").unwrap_or(&Value::Null)) {
                let checked =
                    checked(chosen.is_some_and(|chosen| chosen.iter().any(|one| *one == value)));
                let (value, shown) = (escape(&value), escape(&shown));
                let _ = write!(
                    to,
                    "<label><input type=\"checkbox\" name=\"{id}\" value=\"{value}\"{checked}> {shown}</label> "
                );
            }
            to.push_str("</fieldset>");
        }
        Some(_) | None => {
            let _ = write!(to, "<p><label for=\"{id}\">{label}</label>{note}");
            let choices = choices(property);
            if choices.is_empty() {
                input(to, &id, property, needed);
            } else {
                let _ = write!(
                    to,
                    "<select id=\"{id}\" name=\"{id}\"{needed}><option></option>"
                );
                for (value, shown) in choices {
                    let selected = default.is_some_and(|default| *default == value);
                    let selected = if selected { " selected" } else { "" };
                    let (value, shown) = (escape(&value), escape(&shown));
                    let _ = write!(to, "<option value=\"{value}\"{selected}>{shown}</option>");
                }
                to.push_str("</select>");
            }
            to.push_str("</p>");
        }
    }
}

fn checked(is_checked: bool) -> &'static str {
    if is_checked { " checked" } else { "" }
}

fn input(to: &mut String, id: &str, property: &Value, needed: &str) {
    let text = |key: &str| property.get(key).and_then(Value::as_str);
    let kind = match (text("type"), text("format")) {
        (Some("number"), _) => "type=\"number\" step=\"any\"",
        (Some("integer"), _) => "type=\"number\" step=\"1\"",
        (_, Some("email")) => "type=\"email\"",
        (_, Some("uri")) => "type=\"url\"",
        (_, Some("date")) => "type=\"date\"",
        (_, _) => "type=\"text\"",
    };
    let _ = write!(to, "<input id=\"{id}\" name=\"{id}\" {kind}{needed}");
    let bounds = [
        ("minLength", "minlength"),
        ("maxLength", "maxlength"),
        ("minimum", "min"),
        ("maximum", "max"),
    ];
    for (key, attribute) in bounds {
        if let Some(bound) = property.get(key).filter(|bound| bound.is_number()) {
            let _ = write!(to, " {attribute}=\"{bound}\"");
        }
    }
    let default = property.get("default").map(|default| match default {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    if let Some(default) = default {
        let _ = write!(to, " value=\"{}\"", escape(&default));
    }
    to.push('>');
}

/// Values to choose from, with what is shown for each.
fn choices(schema: &Value) -> Vec<(String, String)> {
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    if let Some(titled) = titled.and_then(Value::as_array) {
        let pair = |choice: &Value| {
            let value = choice.get("const")?.as_str()?.to_owned();
            let shown = choice.get("title").and_then(Value::as_str);
            Some((value.clone(), shown.unwrap_or(&value).to_owned()))
        };
        return titled.iter().filter_map(pair).collect();
    }
    let values = schema.get("enum").and_then(Value::as_array);
    let names = schema.get("enumNames").and_then(Value::as_array);
    let values = values.into_iter().flatten().filter_map(Value::as_str);
    values
        .enumerate()
        .map(|(index, value)| {
            let name = names.and_then(|names| names.get(index)?.as_str());
            (value.to_owned(), name.unwrap_or(value).to_owned())
        })
        .collect()
}

/// The answer that the fields hold, or why they hold none.
pub(crate) fn read(schema: Option<&Value>, fields: &[(String, String)]) -> Result<Value, String> {
    let Some(schema) = schema else {
        return Ok(Value::Object(Map::new()));
    };
    if !check_form(schema).is_empty() {
        let text = fields.iter().find(|(name, _)| name == WHOLE);
        let text = text.map_or("", |(_, text)| text.as_str());
        return serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"));
    }
    let mut answer = Map::new();
    for (name, property) in properties(schema) {
        let id = format!("{PREFIX}{name}");
        let given = fields.iter().filter(|(field, _)| *field == id);
        let mut given = given.map(|(_, value)| value.as_str());
        let value =
            match property.get("type").and_then(Value::as_str) {
                Some("boolean") => Some(Value::Bool(given.next().is_some())),
                Some("array") => Some(given.map(Value::from).collect()),
                Some(kind @ ("number" | "integer")) => match given.next().map(str::trim) {
                    None | Some("") => None,
                    Some(text) => Some(number(text).ok_or_else(|| {
                        format!("`{name}` must be a {kind}, and `{text}` is none")
                    })?),
                },
                Some(_) | None => match given.next() {
                    // An empty field that may be left out was left out.
                    None => None,
                    Some("") if !is_required(schema, name) => None,
                    Some(text) => Some(Value::from(text)),
                },
            };
        if let Some(value) = value {
            answer.insert(name.clone(), value);
        }
    }
    Ok(Value::Object(answer))
}

fn number(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    text.parse()
        .ok()
        .and_then(Number::from_f64)
        .map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({ "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string", "title": "<Name>", "default": "\"x\"", "minLength": 1 },
            "age": { "type": "integer", "minimum": 0 },
            "score": { "type": "number" },
            "ok": { "type": "boolean", "default": true },
            "one": { "type": "string", "oneOf": [{ "const": "a", "title": "A&B" }] },
            "many": { "type": "array", "items": { "type": "string", "enum": ["p", "q"] } } } })
    }

    #[test]
    fn nothing_of_a_schema_becomes_markup() {
        let text = fields(Some(&schema()));
        assert!(text.contains("&lt;Name&gt;") && !text.contains("<Name>"));
        assert!(text.contains("value=\"&quot;x&quot;\""));
        assert!(text.contains("<option value=\"a\">A&amp;B</option>"));
        assert!(text.contains("minlength=\"1\" value=") && text.contains("min=\"0\""));
    }

    #[test]
    fn fields_come_back_with_their_types() {
        let field = |name: &str, value: &str| (format!("f.{name}"), value.to_owned());
        let filled = [
            field("name", "Ada"),
            field("age", "7"),
            field("score", "1.5"),
            field("many", "p"),
            field("many", "q"),
            field("one", ""),
            ("action".to_owned(), "accept".to_owned()),
        ];
        assert_eq!(
            read(Some(&schema()), &filled).unwrap(),
            json!({ "name": "Ada", "age": 7, "score": 1.5, "ok": false, "many": ["p", "q"] })
        );
        let wrong = [field("age", "old")];
        assert!(read(Some(&schema()), &wrong).unwrap_err().contains("`age`"));
    }

    #[test]
    fn what_no_form_can_hold_is_written_as_json() {
        let schema = json!({ "type": "object", "properties": { "deep": { "type": "object" } } });
        assert!(fields(Some(&schema)).contains("textarea"));
        let text = ("json".to_owned(), r#"{"deep":{"a":1}}"#.to_owned());
        assert_eq!(
            read(Some(&schema), &[text]).unwrap(),
            json!({ "deep": { "a": 1 } })
        );
    }
}
