//! The schemas an author writes must be JSON Schemas. Remote references are never fetched.

use super::{Builder, input_defaults};
use crate::limits::SCHEMA_FAULTS_MAX;
use jsonschema::ValidationError;
use onecall_source::{Diagnostic, Diagnostics, Place, codes};
use serde_json::Value;

pub(super) fn check(builder: &Builder, diagnostics: &mut Diagnostics) {
    let place = builder
        .rules
        .inputs_place
        .as_ref()
        .unwrap_or(&builder.place);
    let faults = faults(&builder.inputs);
    if faults.is_empty() {
        input_defaults::check(builder, diagnostics);
    }
    let faults = faults.iter();
    diagnostics.extend(faults.map(|fault| invalid_schema("parameters", place, fault)));
}

/// Why a value is no JSON Schema: every reason, up to a limit.
pub(crate) fn faults(schema: &Value) -> Vec<String> {
    let validator = match jsonschema::meta::validator_for(schema) {
        Ok(validator) => validator,
        Err(error) => return vec![told(&error)],
    };
    let errors = validator.iter_errors(schema).take(SCHEMA_FAULTS_MAX);
    errors.map(|error| told(&error)).collect()
}

fn told(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    if path.is_empty() {
        return error.to_string();
    }
    format!("{path}: {error}")
}

pub(super) fn invalid_schema(what: &str, place: &Place, fault: &str) -> Diagnostic {
    Diagnostic::error(
        codes::INVALID_SCHEMA,
        format!("{what} is no valid JSON Schema: {fault}"),
    )
    .label(place, "invalid schema")
    .help("see json-schema.org for the keywords and what they take")
}
