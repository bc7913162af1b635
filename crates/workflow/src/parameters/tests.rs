//! Tests of parameters: coerced, completed, validated.

use super::Parameters;
use serde_json::{Value, json};

#[track_caller]
fn check(schema: Value, given: Value, expected: &Value) {
    let accepted = Parameters::new(schema).accept(given);
    assert_eq!(accepted.as_ref(), Ok(expected));
}

#[track_caller]
fn check_refused(schema: Value, given: Value, expected: &str) {
    let faults = Parameters::new(schema).accept(given).unwrap_err();
    assert_eq!(faults[0].message, expected);
}

#[test]
fn input_that_is_no_object_is_refused() {
    check_refused(
        json!({}),
        json!([1]),
        "the arguments must be an object, not an array of 1",
    );
    check_refused(
        json!(true),
        json!(null),
        "the arguments must be an object, not null",
    );
    // Text of an object is no object here: nobody sends arguments so.
    check_refused(
        json!({"type": "object"}),
        json!("{}"),
        "the arguments must be an object, not the text \"{}\"",
    );
}

#[test]
fn parameters_are_coerced_before_they_are_validated() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    check(schema.clone(), json!({"n": "5"}), &json!({"n": 5}));
    check_refused(
        schema.clone(),
        json!({"n": "abc"}),
        "`n` must be an integer, not the text \"abc\"",
    );
    check_refused(schema, json!({}), "`n` is required");
}

#[test]
fn defaults_fill_objects_that_are_there() {
    let schema = json!({"type": "object", "properties": {
        "limit": {"type": "integer", "default": 10},
        "page": {"type": "object", "properties": {"size": {"default": 5}}},
        "made": {"type": "object", "default": {}, "properties": {"size": {"default": 5}, "deep": {"type": "object", "properties": {"x": {"default": 1}}}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"on": {"default": true}}}},
    }, "required": ["limit"]});
    check(
        schema.clone(),
        json!({}),
        &json!({"limit": 10, "made": {"size": 5}}),
    );
    check(
        schema,
        json!({"limit": 1, "page": {}, "made": {"size": 1, "deep": {}}, "list": [{}, {"on": false}]}),
        &json!({"limit": 1, "page": {"size": 5}, "made": {"size": 1, "deep": {"x": 1}}, "list": [{"on": true}, {"on": false}]}),
    );
}

#[test]
fn defaults_are_found_through_references_and_optional_objects() {
    let schema = json!({
        "$defs": {"size": {"type": "integer", "default": 5}},
        "allOf": [{"properties": {"a": {"$ref": "#/$defs/size"}}}],
        "properties": {
            "own": {"$ref": "#/$defs/size", "default": 7},
            "maybe": {"anyOf": [{"type": "object", "properties": {"x": {"default": 1}}}, {"type": "null"}]},
        },
    });
    check(
        schema,
        json!({"maybe": {}}),
        &json!({"maybe": {"x": 1}, "own": 7, "a": 5}),
    );
}

#[test]
fn defaults_are_fitted_and_validated_too() {
    let schema =
        |default: Value| json!({"properties": {"n": {"type": "integer", "default": default}}});
    check(schema(json!("5")), json!({}), &json!({"n": 5}));
    check_refused(
        schema(json!("abc")),
        json!({}),
        "`n` must be an integer, not the text \"abc\"",
    );
}

#[test]
fn an_explicit_null_stays_and_is_validated() {
    let schema = |kind: Value| json!({"properties": {"n": {"type": kind, "default": 5}}});
    check(
        schema(json!(["integer", "null"])),
        json!({"n": null}),
        &json!({"n": null}),
    );
    check_refused(
        schema(json!("integer")),
        json!({"n": null}),
        "`n` must be an integer, not null",
    );
}

#[test]
fn unknown_parameters_are_kept_unless_forbidden() {
    check(
        json!({"properties": {}}),
        json!({"x": "1"}),
        &json!({"x": "1"}),
    );
    check_refused(
        json!({"properties": {}, "additionalProperties": false}),
        json!({"x": 1}),
        "`x` is not a known property",
    );
}

#[test]
fn every_fault_is_told_at_once() {
    let schema = json!({"properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "required": ["c"]});
    let faults = Parameters::new(schema)
        .accept(json!({"a": "x", "b": "y"}))
        .unwrap_err();
    let mut paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a", "b", "c"]);
}

#[test]
fn schema_and_secrets_are_published() {
    let schema = json!({"properties": {"token": {"format": "password"}}});
    let parameters = Parameters::new(schema.clone());
    assert_eq!(parameters.schema(), &schema);
    assert_eq!(parameters.sensitive(), [["token"]]);
    let mut value = json!({"token": "t", "x": 1});
    parameters.mask(&mut value);
    assert_eq!(value, json!({"token": "•••", "x": 1}));
}
