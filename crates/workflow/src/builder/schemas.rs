//! The schemas an author writes must be JSON Schemas. Remote references are never fetched.

use super::{Builder, input_defaults};
use onecall_source::{Diagnostic, Diagnostics, Place, codes};
use serde_json::Value;

pub(super) fn check(builder: &Builder, diagnostics: &mut Diagnostics) {
    let place = builder
        .rules
        .inputs_place
        .as_ref()
        .unwrap_or(&builder.place);
    if let Some(fault) = fault(&builder.inputs) {
        diagnostics.push(invalid_schema("parameters", place, &fault));
    } else {
        input_defaults::check(builder, diagnostics);
    }
}

/// Why a value is no JSON Schema.
pub(crate) fn fault(schema: &Value) -> Option<String> {
    match jsonschema::meta::validate(schema) {
        Ok(()) => None,
        Err(error) => {
            let path = error.instance_path().to_string();
            let at = if path.is_empty() {
                String::new()
            } else {
                format!("{path}: ")
            };
            Some(format!("{at}{error}"))
        }
    }
}

pub(super) fn invalid_schema(what: &str, place: &Place, fault: &str) -> Diagnostic {
    Diagnostic::error(
        codes::INVALID_SCHEMA,
        format!("{what} is no valid JSON Schema: {fault}"),
    )
    .label(place, "invalid schema")
    .help("see json-schema.org for the keywords and what they take")
}
