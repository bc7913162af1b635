//! Laws that hold for every schema and value.

use crate::coerce::Coercer;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-3_i32..4).prop_map(|whole| json!(f64::from(whole))),
        Just(json!(1.5)),
        proptest::sample::select(vec![
            "",
            "a",
            "1",
            "-2",
            "3.0",
            "2.5",
            "1e2",
            "true",
            "False",
            "null",
            "[]",
            "[\"1\"]",
            "{}",
            "{\"a\": \"1\"}",
            "007",
            " 5 ",
            "1e999",
            "{\"a\": {\"b\": \"true\"}}",
        ])
        .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-c]", inner, 0..4).prop_map(|entries| json!(entries)),
        ]
    })
}

fn simple() -> impl Strategy<Value = Value> {
    let types = [
        "null", "boolean", "integer", "number", "string", "array", "object",
    ];
    prop_oneof![
        proptest::sample::select(types.to_vec()).prop_map(|kind| json!({"type": kind})),
        proptest::sample::subsequence(types.to_vec(), 1..4)
            .prop_map(|kinds| json!({"type": kinds})),
        vec(leaf(), 1..4).prop_map(|options| json!({"enum": options})),
        (-2_i64..3).prop_map(|minimum| json!({"type": "integer", "minimum": minimum})),
        Just(json!({"$ref": "#/$defs/shared"})),
        Just(json!({"type": "object", "properties": {"a": {"$ref": "#"}}})),
        any::<bool>().prop_map(Value::from),
    ]
}

fn part() -> impl Strategy<Value = Value> {
    simple().prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (btree_map("[a-c]", inner.clone(), 0..3), vec("[a-c]", 0..2)).prop_map(
                |(properties, mut required)| {
                    required.sort();
                    required.dedup();
                    json!({"type": "object", "properties": properties, "required": required})
                }
            ),
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            inner
                .clone()
                .prop_map(|rest| json!({"additionalProperties": rest})),
            vec(inner.clone(), 1..3).prop_map(|all| json!({"allOf": all})),
            vec(inner.clone(), 1..4).prop_map(|any| json!({"anyOf": any})),
            vec(inner.clone(), 1..4).prop_map(|one| json!({"oneOf": one})),
            inner.prop_map(|not| json!({"not": not})),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    (part(), part()).prop_map(|(shared, root)| {
        let mut root = match root {
            Value::Object(root) => root,
            other => serde_json::Map::from_iter([("allOf".to_owned(), json!([other]))]),
        };
        root.insert("$defs".to_owned(), json!({"shared": shared}));
        Value::Object(root)
    })
}

/// Whole floats in their integer form: the same number by the rules of JSON Schema.
fn integers(value: &Value) -> Value {
    match value {
        Value::Number(_) => super::super::convert::whole(value).unwrap_or_else(|| value.clone()),
        Value::Array(items) => items.iter().map(integers).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), integers(value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn what_validates_is_never_changed(schema in schema(), value in value()) {
        let coercer = Coercer::new(schema);
        let coerced = coercer.coerce(value.clone());
        if coercer.validate(&value).is_empty() {
            prop_assert_eq!(integers(&coerced), integers(&value));
            prop_assert!(coercer.validate(&coerced).is_empty());
        }
    }

    #[test]
    fn coercing_twice_changes_nothing_more(schema in schema(), value in value()) {
        let coercer = Coercer::new(schema);
        let once = coercer.coerce(value);
        let twice = coercer.coerce(once.clone());
        prop_assert_eq!(once.to_string(), twice.to_string());
    }

    #[test]
    fn a_part_fits_or_is_the_original(kinds in vec(simple(), 1..4), leaves in vec(leaf(), 3)) {
        let names = ["a", "b", "c"];
        let properties: Value = names.iter().zip(&kinds).map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect();
        let shared = json!({"type": "integer"});
        let schema = json!({"$defs": {"shared": shared}, "properties": properties, "required": ["never"]});
        let coercer = Coercer::new(schema);
        let value: Value = names.iter().zip(&leaves).map(|(name, leaf)| ((*name).to_owned(), leaf.clone())).collect();
        let coerced = coercer.coerce(value.clone());
        for (name, kind) in names.iter().zip(&kinds) {
            let fits = Coercer::new(json!({"$defs": {"shared": {"type": "integer"}}, "allOf": [kind]}));
            let recursive = kind.pointer("/properties/a").is_some();
            if !recursive {
                prop_assert!(fits.validate(&coerced[name]).is_empty() || coerced[name] == value[name]);
            }
        }
    }

    #[test]
    fn faults_are_told_exactly_when_there_are_any(schema in schema(), value in value()) {
        let coercer = Coercer::new(schema.clone());
        if coercer.faults().is_empty() {
            let expected = jsonschema::draft202012::is_valid(&schema, &value);
            prop_assert_eq!(coercer.validate(&value).is_empty(), expected);
        }
    }
}
