//! A form from a question's schema, and its fields back as JSON. What no field can hold is filled in as JSON text.
//! Whether the answer fits is decided by the run that asked.

mod draw;
mod read;
mod shape;
#[cfg(test)]
mod tests;

use draw::Drawing;
use onecall_source::hidden::is_hidden;
use onecall_workflow::coerce::mask;
use serde_json::{Map, Value};

/// Fields of the answer have this before their name, so that none is mistaken for a button.
const PREFIX: &str = "f.";
/// The field that holds the whole answer as JSON.
const WHOLE: &str = "json";

/// What a browser sent: names and values in the order of the form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered<'a>(pub(crate) &'a [(String, String)]);

impl<'a> Entered<'a> {
    pub(crate) fn all(self, name: &str) -> impl Iterator<Item = &'a str> {
        let own = self.0.iter().filter(move |(field, _)| field == name);
        own.map(|(_, value)| value.as_str())
    }

    pub(crate) fn first(self, name: &str) -> Option<&'a str> {
        self.0
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    }
}

pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Line breaks of a form are two characters.
            hidden if is_hidden(hidden) && hidden != '\r' => {}
            other => escaped.push(other),
        }
    }
    escaped
}

/// The fields of the form, with what was entered before where it is shown again.
pub(crate) fn fields(schema: Option<&Value>, entered: Option<Entered<'_>>) -> String {
    let Some(schema) = schema else {
        return String::new();
    };
    let Some(fields) = shape::fields(schema) else {
        let before = entered.and_then(|entered| entered.first(WHOLE));
        let text = escape(before.unwrap_or("{}"));
        return format!(
            "<p><label for=\"{WHOLE}\">Answer as JSON</label></p>\
             <textarea id=\"{WHOLE}\" name=\"{WHOLE}\" rows=\"8\" required>\n{text}</textarea>{}",
            draw::shown_schema(schema)
        );
    };
    let mut drawing = Drawing {
        html: String::new(),
        entered,
        count: 0,
        is_optional: false,
    };
    drawing.fields(&fields, "");
    drawing.html
}

/// The answer that the fields hold, or why they hold none.
pub(crate) fn read(schema: Option<&Value>, entered: Entered<'_>) -> Result<Value, String> {
    let Some(schema) = schema else {
        return Ok(Value::Object(Map::new()));
    };
    let Some(fields) = shape::fields(schema) else {
        let text = entered.first(WHOLE).unwrap_or_default();
        return serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"));
    };
    read::answer(&fields, entered).map(Value::Object)
}

/// An answer as rows for whoever gave it: the titles of its fields, secrets covered.
pub(crate) fn told(schema: Option<&Value>, answer: &Value) -> Vec<(String, String)> {
    let mut answer = answer.clone();
    let mut rows = Vec::new();
    let Some(schema) = schema else {
        return rows;
    };
    mask(schema, &mut answer);
    match (shape::fields(schema), &answer) {
        (Some(fields), Value::Object(answer)) => told_below(&fields, "", answer, &mut rows),
        (_, answer) => rows.push(("Answer".to_owned(), shape::bare(answer))),
    }
    rows
}

fn told_below(
    fields: &[shape::Field<'_>],
    above: &str,
    answer: &Map<String, Value>,
    rows: &mut Vec<(String, String)>,
) {
    for field in fields {
        let Some(value) = answer.get(field.name) else {
            continue;
        };
        let title = format!("{above}{}", field.text("title").unwrap_or(field.name));
        match (&field.kind, value) {
            (shape::Kind::Object(fields), Value::Object(below)) => {
                told_below(fields, &format!("{title}: "), below, rows);
            }
            (_, Value::Bool(flag)) => {
                let shown = if *flag { "yes" } else { "no" };
                rows.push((title, shown.to_owned()));
            }
            (_, value) => rows.push((title, shape::bare(value))),
        }
    }
}

/// The name of a field below another: names are told apart by `/`, as in a JSON pointer.
fn below(prefix: &str, name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    match prefix {
        "" => format!("{PREFIX}{name}"),
        prefix => format!("{prefix}/{name}"),
    }
}
