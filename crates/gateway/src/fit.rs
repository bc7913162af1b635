//! Fitting JSON of ours to the era of a client: what the modern era wants in every result, and what the
//! handshake revisions do not know. Nothing else of a result is touched.

use onecall_mcp::{Era, Exact, Fields, meta};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The name under which a handshake client sees structured content that is no object.
pub(crate) const WRAPPED: &str = "result";

/// A result as this era expects it.
pub(crate) fn result(mut value: Value, era: Era, server: &Value) -> Value {
    let Some(object) = value.as_object_mut() else {
        return value;
    };
    match era {
        Era::Modern => {
            object
                .entry("resultType")
                .or_insert_with(|| Value::from("complete"));
            let meta = object.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert(meta::SERVER_INFO.to_owned(), server.clone());
            }
        }
        Era::Legacy => {
            object.remove("resultType");
            if let Some(structured) = object.get_mut("structuredContent")
                && !structured.is_object()
            {
                *structured = json!({ WRAPPED: structured.take() });
            }
        }
    }
    value
}

/// A tool of a list as this era expects it: handshake revisions know output schemas of objects only.
pub(crate) fn tool(tool: &Exact, era: Era) -> Exact {
    match era {
        Era::Modern => tool.clone(),
        Era::Legacy => legacy_output(tool),
    }
}

fn legacy_output(tool: &Exact) -> Exact {
    const KEY: &str = "outputSchema";
    let Some(schema) = tool.value().get(KEY) else {
        return tool.clone();
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => tool.clone(),
        Some(_) => match wrapped(tool.fields().get(KEY)) {
            Some(wrapped) => tool.with(KEY, &wrapped),
            None => tool.without(KEY),
        },
        // It cannot be told whether a result will be wrapped, so nothing is promised.
        None => tool.without(KEY),
    }
}

/// The schema of the wrapped value. Local definitions stay at the root, where references look for them.
fn wrapped(schema: Option<&RawValue>) -> Option<Exact> {
    let mut inner = Fields::read(schema?.get(), "a schema").ok()?;
    let mut outer = Fields::default();
    outer.set("type", "object");
    for key in ["$schema", "$defs", "definitions"] {
        if let Some(value) = inner.get(key) {
            outer.set(key, value);
            inner.remove(key);
        }
    }
    let mut properties = Fields::default();
    properties.set(WRAPPED, &inner.to_raw());
    outer.set("properties", &properties.to_raw());
    outer.set("required", &[WRAPPED]);
    Exact::from_raw(&outer.to_raw()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modern_result_says_its_type_and_its_server_and_keeps_the_rest() {
        let given = json!({ "content": [], "vendor": { "b": 1, "a": 2 }, "_meta": { "x": 1 } });
        let server = json!({ "name": "n", "version": "v" });
        let fitted = result(given, Era::Modern, &server);
        assert_eq!(
            fitted.to_string(),
            r#"{"content":[],"vendor":{"b":1,"a":2},"_meta":{"x":1,"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}},"resultType":"complete"}"#
        );
    }

    #[test]
    fn a_legacy_client_gets_objects_only() {
        let given =
            json!({ "content": [], "structuredContent": [1, null], "resultType": "complete" });
        let fitted = result(given, Era::Legacy, &Value::Null);
        assert_eq!(
            fitted,
            json!({ "content": [], "structuredContent": { "result": [1, null] } })
        );
        let null = result(
            json!({ "structuredContent": null }),
            Era::Legacy,
            &Value::Null,
        );
        assert_eq!(null, json!({ "structuredContent": { "result": null } }));
    }

    #[test]
    fn an_output_schema_is_wrapped_as_the_result_is() {
        let given = json!({ "name": "t", "outputSchema": {
            "type": "array", "items": { "$ref": "#/$defs/x" }, "$defs": { "x": {} } } });
        let given = Exact::from(given);
        let wrapped = tool(&given, Era::Legacy);
        assert_eq!(
            wrapped.value()["outputSchema"],
            json!({ "type": "object", "$defs": { "x": {} }, "required": ["result"],
                "properties": { "result": { "type": "array", "items": { "$ref": "#/$defs/x" } } } })
        );
        assert_eq!(tool(&given, Era::Modern), given);
    }
}
