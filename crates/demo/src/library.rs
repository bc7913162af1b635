//! Resources, prompts and completion of the demo: the notes, what `put` keeps, and one prompt about a note.

use onecall_mcp::{RpcError, code};
use serde_json::{Value, json};

use crate::execute::NOTES;
use crate::server::{Demo, lock};

const NOTE: &str = "demo://notes/";
const KEPT: &str = "demo://kept/";

pub(crate) fn resources(demo: &Demo) -> Value {
    let note = |(id, title, body): &(&str, &str, &str)| {
        json!({ "uri": format!("{NOTE}{id}"), "name": id, "title": title,
            "mimeType": "text/plain", "size": body.len() })
    };
    let mut resources: Vec<Value> = NOTES.iter().map(note).collect();
    if demo.shows_extra() {
        resources.push(json!({ "uri": "demo://extra", "name": "extra" }));
    }
    json!({ "resources": resources })
}

pub(crate) fn templates() -> Value {
    json!({ "resourceTemplates": [
        { "uriTemplate": "demo://kept/{key}", "name": "kept", "title": "What `put` keeps",
            "mimeType": "application/json" }
    ] })
}

pub(crate) fn read(demo: &Demo, params: &Value) -> Result<Value, RpcError> {
    let uri = params
        .get("uri")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let note = NOTES
        .iter()
        .find(|(id, ..)| uri.strip_prefix(NOTE) == Some(id));
    if let Some((_, _, body)) = note {
        return Ok(contents(uri, "text/plain", body));
    }
    if uri == "demo://extra" && demo.shows_extra() {
        return Ok(contents(uri, "text/plain", "extra"));
    }
    let kept = lock(&demo.kept);
    let value = uri.strip_prefix(KEPT).and_then(|key| kept.get(key));
    match value {
        Some(value) => Ok(contents(uri, "application/json", &value.to_string())),
        None => Err(RpcError::new(code::INVALID_PARAMS, "resource not found")
            .with_data(json!({ "uri": uri }))),
    }
}

fn contents(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "contents": [{ "uri": uri, "mimeType": mime_type, "text": text }] })
}

/// The URI under which something that was put can be read.
pub(crate) fn kept_uri(key: &str) -> String {
    format!("{KEPT}{key}")
}

pub(crate) fn prompts(demo: &Demo) -> Value {
    let mut prompts = vec![
        json!({ "name": "explain", "title": "Explain a note", "description": "Asks to explain one of the notes",
            "arguments": [{ "name": "note", "description": "Its id", "required": true }] }),
    ];
    if demo.shows_extra() {
        prompts.push(json!({ "name": "extra" }));
    }
    json!({ "prompts": prompts })
}

pub(crate) fn prompt(demo: &Demo, params: &Value) -> Result<Value, RpcError> {
    let name = params.get("name").and_then(Value::as_str);
    if name == Some("extra") && demo.shows_extra() {
        return Ok(said("extra"));
    }
    if name != Some("explain") {
        return Err(RpcError::invalid_params("no prompt has this name"));
    }
    let wanted = params.pointer("/arguments/note").and_then(Value::as_str);
    let note = NOTES.iter().find(|(id, ..)| wanted == Some(id));
    let Some((_, title, body)) = note else {
        return Err(RpcError::invalid_params("`note` must be the id of a note"));
    };
    Ok(said(&format!("Explain this note about {title}: {body}")))
}

fn said(text: &str) -> Value {
    json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] })
}

/// Ids of notes that begin as written, for the argument of `explain`.
pub(crate) fn complete(params: &Value) -> Value {
    let written = params.pointer("/argument/value").and_then(Value::as_str);
    let is_note = params.pointer("/argument/name") == Some(&json!("note"))
        && params.pointer("/ref/name") == Some(&json!("explain"));
    let ids = NOTES.iter().map(|(id, ..)| *id);
    let begins = |id: &&str| is_note && id.starts_with(written.unwrap_or_default());
    let values: Vec<&str> = ids.filter(begins).collect();
    json!({ "completion": { "total": values.len(), "values": values, "hasMore": false } })
}
