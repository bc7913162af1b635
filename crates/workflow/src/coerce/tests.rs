//! Tests of coercion, validation, what is required and what is sensitive.

mod hostile;
mod property;

use super::{Coercer, mask};
use serde_json::{Value, json};

#[track_caller]
fn check(schema: Value, given: Value, expected: &Value) {
    let coercer = Coercer::new(schema);
    assert_eq!(coercer.faults(), [] as [String; 0]);
    let got = coercer.coerce(given);
    assert_eq!(got.to_string(), expected.to_string());
    assert_eq!(coercer.coerce(got).to_string(), expected.to_string());
}

#[track_caller]
fn check_same(schema: Value, given: &Value) {
    check(schema, given.clone(), given);
}

#[test]
fn text_becomes_what_the_schema_wants() {
    check(json!({"type": "integer"}), json!("42"), &json!(42));
    check(json!({"type": "integer"}), json!(" -7\n"), &json!(-7));
    check(
        json!({"type": "integer"}),
        json!("18446744073709551615"),
        &json!(u64::MAX),
    );
    check(json!({"type": "integer"}), json!("3.0"), &json!(3));
    check(json!({"type": "number"}), json!("1.5"), &json!(1.5));
    check(json!({"type": "number"}), json!("3.0"), &json!(3.0));
    check(json!({"type": "number"}), json!("1e3"), &json!(1e3));
    check(json!({"type": "number"}), json!("10"), &json!(10));
    check(json!({"type": "null"}), json!("null"), &json!(null));
    check(
        json!({"type": "object"}),
        json!(r#" {"a": [1]}"#),
        &json!({"a": [1]}),
    );
    check(json!({"type": "array"}), json!("[1, 2]"), &json!([1, 2]));
    check(json!({"enum": [1, 2]}), json!("2"), &json!(2));
    check(json!({"const": true}), json!("TRUE"), &json!(true));
}

#[test]
fn only_six_words_are_booleans() {
    for (word, value) in [
        ("true", true),
        ("True", true),
        ("TRUE", true),
        ("false", false),
        ("False", false),
        ("FALSE", false),
    ] {
        check(json!({"type": "boolean"}), json!(word), &json!(value));
    }
    for other in ["1", "0", "yes", "tRUE", "t", ""] {
        check_same(json!({"type": "boolean"}), &json!(other));
    }
    check_same(json!({"type": "boolean"}), &json!(1));
}

#[test]
fn scalars_become_text() {
    check(json!({"type": "string"}), json!(5), &json!("5"));
    check(json!({"type": "string"}), json!(1.5), &json!("1.5"));
    check(json!({"type": "string"}), json!(3.0), &json!("3"));
    check(json!({"type": "string"}), json!(1e21), &json!("1e+21"));
    check(json!({"type": "string"}), json!(1e-7), &json!("1e-7"));
    check(json!({"type": "string"}), json!(false), &json!("false"));
    check(
        json!({"type": "string"}),
        json!(9_007_199_254_740_993_u64),
        &json!("9007199254740993"),
    );
    check_same(json!({"type": "string"}), &json!(null));
    check_same(json!({"type": "string"}), &json!({"a": 1}));
}

#[test]
fn whole_floats_become_integers_where_only_those_are_wanted() {
    check(json!({"type": "integer"}), json!(3.0), &json!(3));
    check(
        json!({"type": ["integer", "null"]}),
        json!(-3.0),
        &json!(-3),
    );
    check(
        json!({"items": {"type": "integer"}}),
        json!([1.0, 2]),
        &json!([1, 2]),
    );
    let draft4 = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"});
    check(draft4, json!(3.0), &json!(3));
    check_same(json!({"type": "number"}), &json!(3.0));
    check_same(json!({"type": "integer"}), &json!(3.5));
    check_same(json!({"type": "integer"}), &json!(1e300));
    check_same(json!({}), &json!({"a": 3.0}));
}

#[test]
fn what_fits_no_way_stays() {
    check_same(json!({"type": "integer"}), &json!("abc"));
    check_same(json!({"type": "integer"}), &json!("3.5"));
    check_same(json!({"type": "integer", "maximum": 5}), &json!("6"));
    check_same(json!({"type": "object"}), &json!("{broken"));
    check_same(json!({"type": "object", "required": ["a"]}), &json!("{}"));
    check_same(json!({"type": "string", "enum": ["a"]}), &json!("b"));
    // Digits are not given up for a number that cannot hold them.
    check_same(
        json!({"type": "integer"}),
        &json!("99999999999999999999999"),
    );
    check_same(json!(false), &json!("1"));
}

#[test]
fn what_validates_is_left_alone() {
    check_same(json!({"type": ["string", "integer"]}), &json!("5"));
    check_same(
        json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        &json!("5"),
    );
    check_same(json!(true), &json!("5"));
    check_same(json!({"type": "string"}), &json!("null"));
}

#[test]
fn parts_are_fitted_at_every_depth() {
    let schema = json!({
        "type": "object",
        "properties": {
            "page": {"type": "object", "properties": {"limit": {"type": "integer"}}},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "pair": {"prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": {"type": "number"}},
        },
        "patternProperties": {"^n_": {"type": "number"}},
        "additionalProperties": {"type": "string"},
    });
    check(
        schema,
        json!({"page": {"limit": "5", "x": "1"}, "ids": ["1", 2, "c"], "pair": [1, "true", "2.5"], "n_a": "1", "other": 7}),
        &json!({"page": {"limit": 5, "x": "1"}, "ids": [1, 2, "c"], "pair": ["1", true, 2.5], "n_a": 1, "other": "7"}),
    );
    check(
        json!({"properties": {"filter": {"type": "object", "properties": {"n": {"type": "integer"}}}}}),
        json!({"filter": r#"{"n": "5"}"#}),
        &json!({"filter": {"n": 5}}),
    );
}

#[test]
fn one_misfit_does_not_keep_others_from_fitting() {
    check(
        json!({"required": ["name"], "properties": {"limit": {"type": "integer"}, "on": {"type": "boolean"}}}),
        json!({"limit": "5", "on": "perhaps"}),
        &json!({"limit": 5, "on": "perhaps"}),
    );
}

#[test]
fn old_drafts_have_lists_of_items() {
    check(
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "items": [{"type": "integer"}],
            "additionalItems": {"type": "boolean"},
        }),
        json!(["1", "true"]),
        &json!([1, true]),
    );
}

#[test]
fn combinations_are_followed() {
    let optional = |inner: Value| json!({"anyOf": [inner, {"type": "null"}]});
    check(optional(json!({"type": "integer"})), json!("5"), &json!(5));
    check(
        optional(json!({"type": "integer"})),
        json!("null"),
        &json!(null),
    );
    // The only branch for objects applies even where something else is wrong.
    let page =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["m"]});
    check(optional(page), json!({"n": "5"}), &json!({"n": 5}));
    check(
        json!({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"minimum": 3}, "b": {"type": "boolean"}}}]}),
        json!({"a": "5", "b": "true"}),
        &json!({"a": 5, "b": true}),
    );
    // Both must accept what a part becomes.
    check_same(
        json!({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"type": "number", "minimum": 9}}}]}),
        &json!({"a": "5"}),
    );
}

#[test]
fn the_branch_that_fits_is_chosen() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "page"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
        {"type": "object", "properties": {"kind": {"const": "flag"}, "n": {"type": "boolean"}}, "required": ["kind", "n"]},
    ]});
    check(
        schema.clone(),
        json!({"kind": "page", "n": "1"}),
        &json!({"kind": "page", "n": 1}),
    );
    check(
        schema.clone(),
        json!({"kind": "flag", "n": "true"}),
        &json!({"kind": "flag", "n": true}),
    );
    check(
        schema,
        json!({"kind": "page", "n": 1.0}),
        &json!({"kind": "page", "n": 1}),
    );
    let nested = json!({"anyOf": [
        {"type": "object", "required": ["never"]},
        {"anyOf": [
            {"type": "object", "properties": {"n": {"type": "boolean"}}},
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        ]},
    ]});
    check(nested, json!({"n": "4"}), &json!({"n": 4}));
}

#[test]
fn references_are_followed() {
    for reference in [
        "#/$defs/a~1b%20c",
        "#count",
        "https://example.test/s#/$defs/a~1b%20c",
    ] {
        let schema = json!({
            "$id": "https://example.test/s",
            "$defs": {"a/b c": {"$anchor": "count", "type": "integer"}},
            "properties": {"n": {"$ref": reference}},
        });
        check(schema, json!({"n": "5"}), &json!({"n": 5}));
    }
    let tree = json!({
        "$defs": {"tree": {"type": "object", "properties": {
            "value": {"type": "integer"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        }}},
        "$ref": "#/$defs/tree",
    });
    check(
        tree,
        json!({"value": "1", "children": [{"value": "2", "children": "[]"}]}),
        &json!({"value": 1, "children": [{"value": 2, "children": []}]}),
    );
    let whole = json!({"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}});
    check(
        whole,
        json!({"next": {"next": {"n": "1"}}}),
        &json!({"next": {"next": {"n": 1}}}),
    );
}

#[test]
fn unknown_drafts_are_read_as_the_current_one() {
    let schema = json!({"$schema": "https://example.test/draft", "type": "integer"});
    check(schema, json!("5"), &json!(5));
}

#[test]
fn a_coercer_is_stored_as_its_schema() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let coercer = Coercer::new(json!({"type": "integer"}));
    let text = serde_json::to_string(&coercer).unwrap();
    assert_eq!(text, r#"{"type":"integer"}"#);
    let back: Coercer = serde_json::from_str(&text).unwrap();
    assert_eq!(back.coerce(json!("5")), json!(5));
    shared(&back);
}

#[test]
fn required_properties_are_found() {
    let coercer = Coercer::new(json!({
        "$defs": {"named": {"required": ["name"], "properties": {"inner": {"required": ["deep"]}}}},
        "required": ["a"],
        "allOf": [{"required": ["b"]}, {"$ref": "#/$defs/named"}],
        "anyOf": [{"required": ["c", "d"]}, {"required": ["c"]}, {"type": "null"}],
        "properties": {
            "a": {"$ref": "#/$defs/named"},
            "list": {"type": "array", "items": {"required": ["x"], "properties": {"y": {}}}},
            "maybe": {"anyOf": [{"type": "object", "required": ["m"]}, {"type": "null"}]},
        },
        "additionalProperties": {"required": ["extra"]},
    }));
    for path in [
        &["a"][..],
        &["b"],
        &["c"],
        &["name"],
        &["a", "name"],
        &["inner", "deep"],
        &["a", "inner", "deep"],
        &["list", "x"],
        &["maybe", "m"],
        &["unknown", "extra"],
    ] {
        assert!(coercer.requires(path), "{path:?}");
    }
    for path in [
        &[][..],
        &["d"],
        &["list"],
        &["list", "y"],
        &["a", "a"],
        &["a", "extra"],
        &["nothing"],
    ] {
        assert!(!coercer.requires(path), "{path:?}");
    }
}

#[track_caller]
fn check_faults(schema: Value, given: &Value, expected: &[&str]) {
    let coercer = Coercer::new(schema);
    assert_eq!(coercer.faults(), [] as [String; 0]);
    let faults = coercer.validate(given);
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(messages, expected);
}

#[test]
fn faults_say_what_is_wrong() {
    let schema = json!({
        "type": "object",
        "required": ["query"],
        "additionalProperties": false,
        "properties": {
            "query": {"type": "string", "minLength": 2},
            "limit": {"type": "integer", "minimum": 1},
            "level": {"enum": ["low", "high"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "page": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "filter": {"anyOf": [{"type": "object", "required": ["by"]}, {"type": "null"}]},
        },
    });
    check_faults(schema.clone(), &json!({"query": "ab", "limit": 5}), &[]);
    check_faults(schema.clone(), &json!({}), &["`query` is required"]);
    check_faults(
        schema.clone(),
        &json!([1]),
        &["the value must be an object, not an array of 1"],
    );
    check_faults(
        schema.clone(),
        &json!({"query": "a", "limit": "abc"}),
        &[
            "`query` must have at least 2 characters, not the text \"a\"",
            "`limit` must be an integer, not the text \"abc\"",
        ],
    );
    check_faults(
        schema.clone(),
        &json!({"query": "ab", "limit": 0, "level": "mid", "tags": ["a", 5]}),
        &[
            "`limit` must be at least 1, not the number 0",
            "`level` must be one of \"low\", \"high\", not the text \"mid\"",
            "`tags[1]` must be text, not the number 5",
        ],
    );
    check_faults(
        schema,
        &json!({"query": "ab", "page": "x", "filter": {}, "zzz": 1}),
        &[
            "`page` must be an integer or null, not the text \"x\"",
            "`filter.by` is required",
            "`zzz` is not a known property",
        ],
    );
}

#[test]
fn faults_carry_place_and_type() {
    let coercer = Coercer::new(json!({"properties": {"a": {"items": {"type": "integer"}}}}));
    let faults = coercer.validate(&json!({"a": [1, "x"]}));
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].path, "a[1]");
    assert_eq!(faults[0].wanted.as_deref(), Some("an integer"));
    assert_eq!(faults[0].got, "the text \"x\"");
}

#[test]
fn faults_are_bounded_and_short() {
    let coercer = Coercer::new(json!({"items": {"type": "integer"}}));
    let long = "ö".repeat(10_000);
    let faults = coercer.validate(&json!(vec![long; 50]));
    assert_eq!(faults.len(), 10);
    assert!(faults.iter().all(|fault| fault.message.len() < 300));
}

#[test]
fn faults_do_not_quote_secrets() {
    let coercer = Coercer::new(json!({"properties": {
        "token": {"type": "string", "writeOnly": true, "maxLength": 3},
        "login": {"x-sensitive": true, "properties": {"pin": {"type": "integer"}}},
    }}));
    for fault in coercer.validate(&json!({"token": "hunter2", "login": {"pin": "hunter2"}})) {
        assert!(
            !fault.message.contains("hunter2") && !fault.got.contains("hunter2"),
            "{fault:?}"
        );
        assert!(fault.message.contains("•••"), "{fault:?}");
    }
}

#[test]
fn marks_are_found_wherever_they_stand() {
    let items = json!({"type": "array", "items": {"properties": {"pin": {"x-sensitive": true}}}});
    let local = json!({"$defs": {"secret": {"format": "password"}}, "$ref": "#/$defs/secret"});
    for (schema, expected) in [
        (json!({"writeOnly": true}), true),
        (items, true),
        (local, true),
        (
            json!({"properties": {"pin": {"writeOnly": false, "format": "date"}}}),
            false,
        ),
        (json!(true), false),
    ] {
        assert_eq!(super::is_marked(&schema), expected, "{schema}");
    }
}

#[test]
fn sensitive_values_are_listed_and_masked() {
    let schema = json!({
        "$defs": {"secret": {"type": "string", "format": "password"}},
        "properties": {
            "token": {"$ref": "#/$defs/secret"},
            "logins": {"type": "array", "items": {"properties": {"user": {}, "pin": {"x-sensitive": true}}}},
            "maybe": {"anyOf": [{"type": "object", "properties": {"key": {"writeOnly": true}}}, {"type": "null"}]},
            "self": {"$ref": "#"},
        },
        "additionalProperties": {"writeOnly": true},
    });
    let coercer = Coercer::new(schema.clone());
    let paths: Vec<String> = coercer
        .sensitive()
        .iter()
        .map(|path| path.join("."))
        .collect();
    assert_eq!(paths, ["*", "logins.*.pin", "maybe.key", "token"]);
    let mut value = json!({
        "token": "t",
        "logins": [{"user": "u", "pin": 1}, "[{\"pin\": 1}]"],
        "maybe": {"key": {"a": 1}, "open": 1},
        "self": {"token": "t", "logins": null},
        "other": 5,
    });
    mask(&schema, &mut value);
    assert_eq!(
        value,
        json!({
            "token": "•••",
            "logins": [{"user": "u", "pin": "•••"}, "•••"],
            "maybe": {"key": "•••", "open": 1},
            "self": {"token": "•••", "logins": null},
            "other": "•••",
        })
    );
    let mut untouched = json!({"a": "{}"});
    mask(&json!(true), &mut untouched);
    assert_eq!(untouched, json!({"a": "{}"}));
}
