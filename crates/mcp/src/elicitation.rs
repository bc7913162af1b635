//! Questions to a person: the two modes, the schema subset of forms, and the answer object.
//! Validating an answer against a full JSON Schema is left to the caller.

use indexmap::IndexMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::{RpcError, code};
use crate::exact::Exact;
use crate::limits::{FORM_PROPERTIES_MAX, INPUT_REQUESTS_MAX};
use crate::method;

/// How a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Form,
    Url,
}

/// The parameters of `elicitation/create`, read leniently. The object itself is kept by the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionShape<'a> {
    pub mode: Mode,
    pub message: &'a str,
    /// `requestedSchema` of a form.
    pub schema: Option<&'a Value>,
    pub url: Option<&'a str>,
    /// Only 2025-11-25 has one.
    pub elicitation_id: Option<&'a str>,
}

impl<'a> QuestionShape<'a> {
    pub fn read(params: &'a Value) -> Self {
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        let mode = if text("mode") == Some("url") {
            Mode::Url
        } else {
            Mode::Form
        };
        Self {
            mode,
            message: text("message").unwrap_or_default(),
            schema: params.get("requestedSchema"),
            url: text("url"),
            elicitation_id: text("elicitationId"),
        }
    }
}

/// The pages that a server of 2025-11-25 wants visited before the request is made again, as input requests by key;
/// empty where the error says no such thing.
pub fn wanted_pages(error: &RpcError) -> IndexMap<String, Exact> {
    let data = error.data.as_ref();
    let data = data.filter(|_| error.code == code::URL_ELICITATION);
    let fields = data.map(Exact::fields).unwrap_or_default();
    let wanted = fields.get("elicitations");
    let wanted: Option<Vec<&RawValue>> =
        wanted.and_then(|wanted| serde_json::from_str(wanted.get()).ok());
    let pages = wanted.into_iter().flatten().filter_map(|params| {
        let params = Exact::from_raw(params).ok()?;
        match params.value().as_object()?.get("mode") {
            Some(mode) => (mode == "url").then_some(params),
            None => Some(params.with("mode", &Value::from("url").into())),
        }
    });
    let requests = (1..).zip(pages.take(INPUT_REQUESTS_MAX));
    requests
        .map(|(number, params)| {
            (
                format!("page-{number}"),
                input_request(method::ELICIT, params),
            )
        })
        .collect()
}

/// A question as `input_required` holds it.
pub fn input_request(method: &str, params: Exact) -> Exact {
    Exact::object([("method", Value::from(method).into()), ("params", params)])
}

/// The answer object: `content` only goes with an accepted form.
pub fn answer(action: &str, content: Option<Value>) -> Value {
    match content {
        Some(content) if action == "accept" => json!({ "action": action, "content": content }),
        _ => json!({ "action": action }),
    }
}

/// Why a schema cannot be asked as a form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct FormFault {
    /// A property name, or `schema` for the whole.
    pub place: String,
    pub reason: String,
}

/// All reasons why a schema is outside the protocol's form subset; empty means it can be asked.
pub fn check_form(schema: &Value) -> Vec<FormFault> {
    let mut faults = Vec::new();
    let mut fault = |place: &str, reason: String| {
        faults.push(FormFault {
            place: place.to_owned(),
            reason,
        });
    };
    let Some(object) = schema.as_object() else {
        fault("schema", "must be an object".to_owned());
        return faults;
    };
    if object.get("type").and_then(Value::as_str) != Some("object") {
        fault("schema", "`type` must be `object`".to_owned());
    }
    let allowed = [
        "type",
        "properties",
        "required",
        "$schema",
        "title",
        "description",
    ];
    for key in object.keys().filter(|key| !allowed.contains(&key.as_str())) {
        fault(
            "schema",
            format!("keyword `{key}` is not allowed in a form"),
        );
    }
    let empty = Map::new();
    let properties = match object.get("properties") {
        Some(Value::Object(properties)) => properties,
        Some(_) => {
            fault("schema", "`properties` must be an object".to_owned());
            &empty
        }
        None => &empty,
    };
    if properties.len() > FORM_PROPERTIES_MAX {
        fault(
            "schema",
            format!("more than {FORM_PROPERTIES_MAX} properties"),
        );
    }
    for (name, property) in properties {
        for reason in property_faults(property) {
            fault(name, reason);
        }
    }
    faults
}

const STRING: &[&str] = &[
    "minLength",
    "maxLength",
    "format",
    "enum",
    "enumNames",
    "oneOf",
];
const NUMBER: &[&str] = &["minimum", "maximum"];
const ARRAY: &[&str] = &["items", "minItems", "maxItems"];
const FORMATS: &[&str] = &["email", "uri", "date", "date-time"];

fn property_faults(property: &Value) -> Vec<String> {
    let Some(object) = property.as_object() else {
        return vec!["must be an object schema".to_owned()];
    };
    let mut faults = Vec::new();
    let keywords = match object.get("type").and_then(Value::as_str) {
        Some("string") => STRING,
        Some("number" | "integer") => NUMBER,
        Some("boolean") => &[][..],
        Some("array") => ARRAY,
        Some(other) => return vec![format!("type `{other}` is not allowed in a form")],
        None => {
            return vec!["needs one `type`; nullable and mixed types are not allowed".to_owned()];
        }
    };
    for key in object.keys() {
        let known = matches!(key.as_str(), "type" | "title" | "description" | "default");
        if !known && !keywords.contains(&key.as_str()) {
            faults.push(format!("keyword `{key}` is not allowed here"));
        }
    }
    if let Some(format) = object.get("format").and_then(Value::as_str)
        && !FORMATS.contains(&format)
    {
        faults.push(format!(
            "format `{format}` is not one of {}",
            FORMATS.join(", ")
        ));
    }
    if let Some(choices) = object.get("oneOf")
        && !titled_choices(choices)
    {
        faults.push("`oneOf` must list `const` with `title`".to_owned());
    }
    if keywords == ARRAY {
        let items = object.get("items");
        let listed = items
            .and_then(|items| items.get("enum"))
            .is_some_and(Value::is_array);
        let titled = items
            .and_then(|items| items.get("anyOf"))
            .is_some_and(titled_choices);
        if !listed && !titled {
            faults.push("an array must choose from `items.enum` or `items.anyOf`".to_owned());
        }
    }
    faults
}

fn titled_choices(choices: &Value) -> bool {
    let choice = |choice: &Value| {
        choice.get("const").is_some_and(Value::is_string) && choice.get("title").is_some()
    };
    choices
        .as_array()
        .is_some_and(|choices| choices.iter().all(choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subset_of_the_protocol_is_accepted() {
        let schema = json!({ "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string", "minLength": 1, "title": "Name", "default": "Ada" },
            "mail": { "type": "string", "format": "email" },
            "age": { "type": "integer", "minimum": 0, "maximum": 150 },
            "ok": { "type": "boolean", "default": true },
            "one": { "type": "string", "enum": ["a"], "enumNames": ["A"] },
            "titled": { "type": "string", "oneOf": [{ "const": "a", "title": "A" }] },
            "many": { "type": "array", "items": { "type": "string", "enum": ["a"] }, "minItems": 1 },
            "more": { "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }] } } } });
        assert_eq!(check_form(&schema), Vec::new());
    }

    #[test]
    fn everything_else_is_named() {
        let bad = [
            json!({ "type": "string", "pattern": "^a" }),
            json!({ "type": ["string", "null"] }),
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "string", "format": "ipv4" }),
            json!({ "type": "string", "oneOf": [{ "const": "a" }] }),
            json!(true),
        ];
        for property in bad {
            let schema = json!({ "type": "object", "properties": { "p": property } });
            let faults = check_form(&schema);
            assert_eq!(faults.len(), 1, "{schema}: {faults:?}");
            assert_eq!(faults[0].place, "p");
        }
        assert_eq!(check_form(&json!({ "type": "boolean" })).len(), 1);
    }

    #[test]
    fn wanted_pages_are_asked_for_as_they_were_written() {
        let data = r#"{"elicitations":[{"z":1.10,"mode":"url"},{"url":"u"},{"mode":"form"},7]}"#;
        let data = Exact::from_raw(&RawValue::from_string(data.to_owned()).unwrap()).unwrap();
        let mut error = RpcError::new(code::URL_ELICITATION, "first");
        error.data = Some(data);
        let requests = wanted_pages(&error);
        let texts: Vec<&str> = requests.values().map(Exact::text).collect();
        let asked =
            |params: &str| format!(r#"{{"method":"elicitation/create","params":{params}}}"#);
        assert_eq!(
            texts,
            [
                asked(r#"{"z":1.10,"mode":"url"}"#),
                asked(r#"{"url":"u","mode":"url"}"#)
            ]
        );
        error.code = code::INTERNAL;
        assert!(wanted_pages(&error).is_empty());
    }

    #[test]
    fn a_url_question_of_either_era_is_read() {
        let params = json!({ "mode": "url", "url": "https://example.com", "message": "go" });
        let shape = QuestionShape::read(&params);
        assert_eq!((shape.mode, shape.elicitation_id), (Mode::Url, None));
        assert_eq!(QuestionShape::read(&json!({})).mode, Mode::Form);
    }
}
