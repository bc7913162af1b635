//! Tests of typed output.

use super::{Absent, Produced, fit, produce, schema};
use crate::evaluate::FaultKind;
use crate::evaluate::tests::{Still, input};
use crate::expression::nowhere;
use crate::workflow::{OutputKind, OutputProperties, OutputProperty, OutputSource, Unset};
use serde_json::{Value, json};

#[track_caller]
fn check_fit(kind: OutputKind, given: &Value, expected: Option<&Value>) {
    let got = fit(kind, given.clone()).ok();
    let texts = |value: Option<&Value>| value.map(Value::to_string);
    assert_eq!(texts(got.as_ref()), texts(expected), "{given} as {kind:?}");
}

#[test]
fn text_is_parsed_into_its_declared_type() {
    use OutputKind::{Array, Boolean, Integer, Number, Object};
    for (kind, text, expected) in [
        (Integer, "42", Some(json!(42))),
        (Integer, "-42\n", Some(json!(-42))),
        (Integer, "18446744073709551615", Some(json!(u64::MAX))),
        (Integer, "4.2", None),
        (Integer, "0x10", None),
        (Integer, "", None),
        (Number, "4.5", Some(json!(4.5))),
        (Number, "4", Some(json!(4))),
        (Number, "four", None),
        (Number, "true", None),
        (Boolean, "true", Some(json!(true))),
        (Boolean, "1", Some(json!(true))),
        (Boolean, "false", Some(json!(false))),
        (Boolean, "0", Some(json!(false))),
        (Boolean, "yes", None),
        (Object, "{\"a\": 1}", Some(json!({"a": 1}))),
        (Object, "[1]", None),
        (Array, "[1]", Some(json!([1]))),
        (Array, "{}", None),
        (Array, "[1", None),
    ] {
        check_fit(kind, &json!(text), expected.as_ref());
    }
}

#[test]
fn other_types_become_text_where_text_is_declared() {
    for (given, expected) in [
        (json!("a"), "a"),
        (json!(1.5), "1.5"),
        (json!(3.0), "3"),
        (json!(true), "true"),
        (json!({"a": [1, null]}), "{\"a\":[1,null]}"),
        (json!([1, "b"]), "[1,\"b\"]"),
    ] {
        check_fit(OutputKind::String, &given, Some(&json!(expected)));
    }
}

#[test]
fn whole_floats_are_integers_and_null_fits_nothing() {
    check_fit(OutputKind::Integer, &json!(3.0), Some(&json!(3)));
    check_fit(OutputKind::Integer, &json!(3.5), None);
    check_fit(OutputKind::Integer, &json!(1e300), None);
    check_fit(OutputKind::Number, &json!(3.0), Some(&json!(3.0)));
    check_fit(OutputKind::Boolean, &json!(1), None);
    check_fit(OutputKind::Object, &json!([]), None);
    for kind in ["string", "integer", "number", "boolean", "object", "array"] {
        check_fit(OutputKind::parse(kind).unwrap(), &json!(null), None);
    }
    check_fit(OutputKind::Any, &json!(null), Some(&json!(null)));
}

#[test]
fn misfits_show_short_values() {
    let fault = fit(OutputKind::Integer, json!("x".repeat(10_000))).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Output);
    assert!(fault.message.len() < 200);
    let fault = fit(OutputKind::Integer, json!("abc")).unwrap_err();
    assert_eq!(fault.message, "\"abc\" does not fit type `integer`");
}

fn property(name: &str, kind: OutputKind, source: OutputSource) -> OutputProperty {
    OutputProperty {
        name: name.to_owned(),
        kind,
        description: None,
        source,
        default: None,
        schema: None,
        place: nowhere(),
    }
}

fn read(name: &str, kind: OutputKind, path: &str) -> OutputProperty {
    property(name, kind, OutputSource::Value(input(path)))
}

fn or(mut property: OutputProperty, default: Value) -> OutputProperty {
    property.default = Some(default);
    property
}

fn block(properties: Vec<OutputProperty>, required: &[&str]) -> OutputProperties {
    let required = required.iter().map(|name| (*name).to_owned()).collect();
    OutputProperties {
        properties,
        required,
        unset: Unset::Fails,
    }
}

fn scope() -> Still {
    Still::with_input(json!({"n": "5", "text": "abc", "null": null}))
}

#[track_caller]
fn produced(block: &OutputProperties, absent: Absent) -> Produced {
    produce(block, &scope(), absent).unwrap()
}

#[test]
fn properties_are_evaluated_and_fitted() {
    let inner = vec![read("count", OutputKind::Integer, "n")];
    let block = block(
        vec![
            read("text", OutputKind::String, "text"),
            property("inner", OutputKind::Object, OutputSource::Properties(inner)),
        ],
        &["text"],
    );
    let got = produced(&block, Absent::Fails);
    assert_eq!(
        Value::Object(got.value),
        json!({"text": "abc", "inner": {"count": 5}})
    );
    assert!(got.defaulted.is_empty() && got.lacking.is_empty());
}

#[test]
fn defaults_stand_in_for_missing_and_misfit_and_are_told() {
    let block = block(
        vec![
            or(read("missing", OutputKind::Integer, "absent"), json!("7")),
            or(read("misfit", OutputKind::Integer, "text"), json!(8)),
            or(read("null", OutputKind::String, "null"), json!("none")),
            or(read("fine", OutputKind::Integer, "n"), json!(9)),
        ],
        &["missing"],
    );
    let got = produced(&block, Absent::Fails);
    assert_eq!(
        Value::Object(got.value),
        json!({"missing": 7, "misfit": 8, "null": "none", "fine": 5})
    );
    let names: Vec<&str> = got
        .defaulted
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["missing", "misfit", "null"]);
    assert_eq!(
        got.defaulted[0].1,
        "`input.absent` has no value; the keys there are `n`, `text`, `null`"
    );
}

#[test]
fn without_default_the_output_fails_and_names_the_property() {
    let inner = vec![read("count", OutputKind::Integer, "text")];
    let block = block(
        vec![property(
            "inner",
            OutputKind::Object,
            OutputSource::Properties(inner),
        )],
        &[],
    );
    let fault = produce(&block, &scope(), Absent::Fails).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Output);
    assert!(
        fault.message.contains("output property `inner.count`"),
        "{fault}"
    );
    assert!(
        !fault.message.contains("output property `inner`"),
        "{fault}"
    );
    let got = produced(&block, Absent::LeftOut);
    assert_eq!(Value::Object(got.value), json!({"inner": {}}));
}

#[test]
fn the_default_of_an_object_replaces_what_is_below_it() {
    let inner = vec![
        or(read("first", OutputKind::Integer, "absent"), json!(1)),
        read("second", OutputKind::Integer, "text"),
    ];
    let inner = property("inner", OutputKind::Object, OutputSource::Properties(inner));
    let got = produced(
        &block(vec![or(inner, json!({"kept": true}))], &[]),
        Absent::Fails,
    );
    assert_eq!(Value::Object(got.value), json!({"inner": {"kept": true}}));
    let names: Vec<&str> = got
        .defaulted
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["inner"]);
}

#[test]
fn required_is_present_and_not_null() {
    let any_null = block(vec![read("v", OutputKind::Any, "null")], &["v"]);
    let fault = produce(&any_null, &scope(), Absent::Fails).unwrap_err();
    assert_eq!(
        fault.message,
        "required output property `v` is missing or null"
    );
    assert_eq!(produced(&any_null, Absent::LeftOut).lacking, ["v"]);

    let absent = block(vec![read("v", OutputKind::String, "absent")], &["v"]);
    let got = produced(&absent, Absent::LeftOut);
    assert_eq!((got.value.len(), got.lacking), (0, vec!["v".to_owned()]));
}

#[test]
fn the_schema_is_that_of_the_properties() {
    let mut inner = read("count", OutputKind::Integer, "n");
    inner.description = Some("how many".to_owned());
    let block = block(
        vec![
            property(
                "inner",
                OutputKind::Object,
                OutputSource::Properties(vec![inner]),
            ),
            read("free", OutputKind::Any, "n"),
        ],
        &["inner"],
    );
    assert_eq!(
        schema(&block),
        json!({
            "type": "object",
            "properties": {
                "inner": {"type": "object", "properties": {"count": {"type": "integer", "description": "how many"}}},
                "free": {},
            },
            "required": ["inner"],
        })
    );
}
