//! Fields as HTML: labelled, described, and filled in with what was entered or with their defaults.

use super::shape::{Choice, Field, Kind, Scalar, bare};
use super::{Entered, below, escape};
use crate::limits::FORM_LINE_MAX;
use serde_json::Value;
use std::fmt::Write as _;

/// Writes fields one after the other; each has an id of its own.
pub(super) struct Drawing<'a> {
    pub(super) html: String,
    pub(super) entered: Option<Entered<'a>>,
    pub(super) count: usize,
    /// The fields stand in an object that may be left out, and with it all that it requires.
    pub(super) is_optional: bool,
}

impl Drawing<'_> {
    pub(super) fn fields(&mut self, fields: &[Field<'_>], prefix: &str) {
        for field in fields {
            self.field(field, &below(prefix, field.name));
        }
    }

    fn field(&mut self, field: &Field<'_>, name: &str) {
        self.count += 1;
        let id = format!("field-{}", self.count);
        let label = label(field);
        let note = note(field, &id);
        let described = if note.is_empty() {
            String::new()
        } else {
            format!(" aria-describedby=\"{id}-note\"")
        };
        match &field.kind {
            Kind::Object(fields) => {
                let _ = write!(
                    self.html,
                    "<fieldset{described}><legend>{label}</legend>{note}"
                );
                let was_optional = self.is_optional;
                self.is_optional |= !field.is_required;
                self.fields(fields, name);
                self.is_optional = was_optional;
                self.html.push_str("</fieldset>");
            }
            Kind::Choices(choices) => {
                let _ = write!(
                    self.html,
                    "<fieldset{described}><legend>{label}</legend>{note}"
                );
                self.boxes(field, choices, name);
                self.html.push_str("</fieldset>");
            }
            Kind::Flag => {
                let is_checked = match self.entered {
                    Some(entered) => entered.first(name).is_some(),
                    None => field.schema.get("default") == Some(&Value::Bool(true)),
                };
                let (name, checked) = (escape(name), checked(is_checked));
                let _ = write!(
                    self.html,
                    "<p><label class=\"box\"><input type=\"checkbox\" name=\"{name}\" value=\"true\"{described}{checked}> {label}</label></p>{note}"
                );
            }
            Kind::YesNo => {
                let _ = write!(
                    self.html,
                    "<fieldset{described}><legend>{label}</legend>{note}"
                );
                self.yes_or_no(field, name);
                self.html.push_str("</fieldset>");
            }
            Kind::Choice(_) | Kind::Lines(_) | Kind::One(_) | Kind::Json => {
                let _ = write!(
                    self.html,
                    "<p><label for=\"{id}\">{label}</label></p>{note}"
                );
                let needed = self.needed(field);
                let name_is = escape(name);
                let attributes = format!("id=\"{id}\" name=\"{name_is}\"{described}{needed}");
                self.control(field, &attributes, name);
            }
        }
    }

    fn control(&mut self, field: &Field<'_>, attributes: &str, name: &str) {
        let value = self.value(field, name);
        match &field.kind {
            Kind::Choice(choices) => {
                let _ = write!(
                    self.html,
                    "<select {attributes}><option value=\"\"></option>"
                );
                for choice in choices {
                    let own = bare(choice.value);
                    let selected = if value.as_ref() == Some(&own) {
                        " selected"
                    } else {
                        ""
                    };
                    let (own, shown) = (escape(&own), escape(&choice.shown));
                    let _ = write!(
                        self.html,
                        "<option value=\"{own}\"{selected}>{shown}</option>"
                    );
                }
                self.html.push_str("</select>");
            }
            Kind::One(scalar) => {
                input(&mut self.html, field, *scalar, attributes, value.as_deref());
            }
            Kind::Lines(_)
            | Kind::Json
            | Kind::Object(_)
            | Kind::Choices(_)
            | Kind::Flag
            | Kind::YesNo => {
                let text = escape(&value.unwrap_or_default());
                let _ = write!(
                    self.html,
                    "<textarea {attributes} rows=\"4\">\n{text}</textarea>"
                );
            }
        }
        if matches!(field.kind, Kind::Json) {
            self.html.push_str(&shown_schema(field.schema));
        }
    }

    fn boxes(&mut self, field: &Field<'_>, choices: &[Choice<'_>], name: &str) {
        let default = field.schema.get("default").and_then(Value::as_array);
        for choice in choices {
            let own = bare(choice.value);
            let is_checked = match self.entered {
                Some(entered) => entered.all(name).any(|value| value == own),
                None => default.is_some_and(|default| default.contains(choice.value)),
            };
            let (name, own, shown) = (escape(name), escape(&own), escape(&choice.shown));
            let checked = checked(is_checked);
            let _ = write!(
                self.html,
                "<label class=\"box\"><input type=\"checkbox\" name=\"{name}\" value=\"{own}\"{checked}> {shown}</label>"
            );
        }
    }

    /// Neither is chosen before somebody chooses: a form that is sent at once must not decide.
    fn yes_or_no(&mut self, field: &Field<'_>, name: &str) {
        let needed = self.needed(field);
        let before = self.entered.and_then(|entered| entered.first(name));
        for (value, shown) in [("true", "Yes"), ("false", "No")] {
            let checked = checked(before == Some(value));
            let name = escape(name);
            let _ = write!(
                self.html,
                "<label class=\"box\"><input type=\"radio\" name=\"{name}\" value=\"{value}\"{needed}{checked}> {shown}</label>"
            );
        }
    }

    fn needed(&self, field: &Field<'_>) -> &'static str {
        if field.is_required && !self.is_optional {
            " required"
        } else {
            ""
        }
    }

    /// What stands in the field. A secret is entered anew each time.
    fn value(&self, field: &Field<'_>, name: &str) -> Option<String> {
        if field.is_secret() {
            return None;
        }
        if let Some(entered) = self.entered {
            return entered.first(name).map(str::to_owned);
        }
        let default = field.schema.get("default")?;
        match (&field.kind, default) {
            (Kind::Lines(_), Value::Array(items)) => {
                let lines: Vec<String> = items.iter().map(bare).collect();
                Some(lines.join("\n"))
            }
            (Kind::Json, default) => serde_json::to_string_pretty(default).ok(),
            (_, default) => Some(bare(default)),
        }
    }
}

fn label(field: &Field<'_>) -> String {
    let title = escape(field.text("title").unwrap_or(field.name));
    match (&field.kind, field.is_required) {
        (Kind::Flag, _) | (_, true) => title,
        (_, false) => format!("{title} <span class=\"note\">(optional)</span>"),
    }
}

fn note(field: &Field<'_>, id: &str) -> String {
    let hint = match &field.kind {
        Kind::Lines(_) => Some("one a line"),
        Kind::Json => Some("as JSON"),
        Kind::One(Scalar::Text) if field.text("format") == Some("date-time") => Some("in UTC"),
        Kind::One(_)
        | Kind::Object(_)
        | Kind::Choice(_)
        | Kind::Choices(_)
        | Kind::Flag
        | Kind::YesNo => None,
    };
    let text = match (field.text("description").map(escape), hint) {
        (Some(about), Some(hint)) => format!("{about} ({hint})"),
        (Some(about), None) => about,
        (None, Some(hint)) => format!("({hint})"),
        (None, None) => return String::new(),
    };
    format!("<p class=\"note\" id=\"{id}-note\">{text}</p>")
}

fn checked(is_checked: bool) -> &'static str {
    if is_checked { " checked" } else { "" }
}

/// The schema of what is written as JSON, for whoever writes it.
pub(super) fn shown_schema(schema: &Value) -> String {
    let text = serde_json::to_string_pretty(schema).unwrap_or_default();
    format!(
        "<details><summary>What must fit</summary><pre>{}</pre></details>",
        escape(&text)
    )
}

fn input(
    html: &mut String,
    field: &Field<'_>,
    scalar: Scalar,
    attributes: &str,
    value: Option<&str>,
) {
    let length = |key: &str| field.schema.get(key).and_then(Value::as_u64);
    let is_long = length("maxLength").is_some_and(|most| most > FORM_LINE_MAX);
    if scalar == Scalar::Text && is_long && field.text("format").is_none() && !field.is_secret() {
        let text = escape(value.unwrap_or_default());
        let _ = write!(
            html,
            "<textarea {attributes} rows=\"6\"{}>\n{text}</textarea>",
            lengths(field)
        );
        return;
    }
    let kind = match (scalar, field.text("format")) {
        _ if field.is_secret() => "type=\"password\" autocomplete=\"off\"",
        (Scalar::Number, _) => "type=\"number\" step=\"any\"",
        (Scalar::Integer, _) => "type=\"number\" step=\"1\"",
        (Scalar::Text, Some("email")) => "type=\"email\"",
        (Scalar::Text, Some("uri")) => "type=\"url\"",
        (Scalar::Text, Some("date")) => "type=\"date\"",
        (Scalar::Text, Some("date-time")) if value.is_none_or(is_local) => {
            "type=\"datetime-local\" step=\"1\""
        }
        (Scalar::Text, _) => "type=\"text\"",
    };
    let bounds = match scalar {
        Scalar::Text => lengths(field),
        Scalar::Integer | Scalar::Number => range(field, scalar),
    };
    let _ = write!(html, "<input {attributes} {kind}{bounds}");
    if let Some(value) = value {
        let is_local = kind.starts_with("type=\"datetime-local\"");
        let value = value
            .strip_suffix('Z')
            .filter(|_| is_local)
            .unwrap_or(value);
        let _ = write!(html, " value=\"{}\"", escape(value));
    }
    html.push('>');
}

/// Whether a browser's field for a point in time can hold it: it knows no offsets.
fn is_local(text: &str) -> bool {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let is_part = |character: char| character.is_ascii_digit() || "-:T.".contains(character);
    matches!(text.len(), 16..=23)
        && text.chars().all(is_part)
        && text[10..].starts_with('T')
        && !text[10..].contains('-')
}

fn lengths(field: &Field<'_>) -> String {
    attributes(
        field,
        &[("minLength", "minlength"), ("maxLength", "maxlength")],
        Value::is_u64,
    )
}

/// Steps are counted from the least value, so a broken one would refuse every integer.
fn range(field: &Field<'_>, scalar: Scalar) -> String {
    let keys = [("minimum", "min"), ("maximum", "max")];
    attributes(field, &keys, |bound| match scalar {
        Scalar::Integer => bound.is_i64() || bound.is_u64(),
        Scalar::Text | Scalar::Number => bound.is_number(),
    })
}

fn attributes(field: &Field<'_>, keys: &[(&str, &str)], can_be: impl Fn(&Value) -> bool) -> String {
    let mut text = String::new();
    for (key, attribute) in keys {
        if let Some(bound) = field.schema.get(key).filter(|bound| can_be(bound)) {
            let _ = write!(text, " {attribute}=\"{bound}\"");
        }
    }
    text
}
