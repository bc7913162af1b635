//! The schemas an author writes must be JSON Schemas. Remote references are never fetched.

use super::{Builder, input_defaults};
use crate::coerce::Coercer;
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
    if check_schema("parameters", &builder.inputs, place, diagnostics) {
        input_defaults::check(builder, diagnostics);
    }
    for (property, schema) in builder.output.schemas() {
        let what = format!("the schema of output property `{}`", property.name);
        check_schema(&what, schema, &property.place, diagnostics);
    }
}

/// Whether values can be checked against a schema.
pub(super) fn check_schema(
    what: &str,
    schema: &Value,
    place: &Place,
    diagnostics: &mut Diagnostics,
) -> bool {
    let invalid = faults(schema);
    diagnostics.extend(
        invalid
            .iter()
            .map(|fault| invalid_schema(what, place, fault)),
    );
    if !invalid.is_empty() {
        return false;
    }
    let coercer = Coercer::new(schema.clone());
    let unusable = coercer.faults().iter();
    diagnostics.extend(unusable.map(|fault| unusable_schema(what, place, fault)));
    coercer.faults().is_empty()
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

fn unusable_schema(what: &str, place: &Place, fault: &str) -> Diagnostic {
    let message = format!("{what} cannot be used to check values: {fault}");
    Diagnostic::error(codes::UNUSABLE_SCHEMA, message)
        .label(place, "nothing would match this schema")
        .help("references must lead to a schema in the same document, and patterns must be regular expressions")
}

fn invalid_schema(what: &str, place: &Place, fault: &str) -> Diagnostic {
    Diagnostic::error(
        codes::INVALID_SCHEMA,
        format!("{what} is no valid JSON Schema: {fault}"),
    )
    .label(place, "invalid schema")
    .help("see json-schema.org for the keywords and what they take")
}
