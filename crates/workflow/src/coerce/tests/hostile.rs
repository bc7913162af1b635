//! Schemas and values made to hang, overflow or mislead: each must come back, quickly and unharmed.

use crate::coerce::Coercer;
use serde_json::{Map, Value, json};

/// Runs everything that reads a schema, on the small stack of a worker thread.
fn exercise(schema: Value, value: Value) -> (Coercer, Value) {
    let work = move || {
        let coercer = Coercer::new(schema);
        let coerced = coercer.coerce(value);
        coercer.validate(&coerced);
        coercer.requires(&["a", "a", "a"]);
        coercer.sensitive();
        coercer.mask(&mut coerced.clone());
        let mut filled = coerced.clone();
        coercer.fill(&mut filled);
        (coercer, coerced)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

/// `n0` leads to `n1` leads to … through `link`.
fn chain(length: usize, last: Value, link: impl Fn(Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for index in 0..length {
        let next = json!({"$ref": format!("#/$defs/n{}", index + 1)});
        definitions.insert(format!("n{index}"), link(next));
    }
    definitions.insert(format!("n{length}"), last);
    json!({"$defs": definitions, "$ref": "#/$defs/n0"})
}

fn nested(depth: usize, end: Value) -> Value {
    (0..depth).fold(end, |value, _| json!({"a": value}))
}

#[test]
fn invalid_schemas_accept_everything() {
    for schema in [
        json!({"type": "nonsense"}),
        json!({"properties": 5}),
        json!({"required": "a"}),
        json!({"pattern": "("}),
        json!({"type": "integer", "$ref": "https://example.test/never-fetched"}),
        json!({"type": "integer", "$ref": "other.json"}),
        json!({"type": "integer", "$ref": "file:///etc/passwd"}),
        json!({"$ref": "#/$defs/absent"}),
        json!({"$ref": "#absent"}),
        json!({"$defs": {"a": {"$id": "inner"}}, "$ref": "#/$defs/a"}),
        json!(5),
        json!(null),
        json!("text"),
        json!([]),
    ] {
        let (coercer, value) = exercise(schema.clone(), json!("5"));
        assert_eq!(value, json!("5"), "{schema}");
        assert!(!coercer.faults().is_empty(), "{schema}");
        assert_eq!(coercer.validate(&json!({"any": "thing"})), [], "{schema}");
    }
}

#[test]
fn schemas_that_lead_back_to_themselves_are_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"anyOf": [{"type": "integer"}, {"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
    ] {
        let (coercer, _) = exercise(schema.clone(), nested(20, json!("5")));
        assert!(coercer.faults()[0].contains("back to itself"), "{schema}");
    }
}

#[test]
fn long_chains_are_refused_and_short_ones_followed() {
    let integer = json!({"type": "integer"});
    let (_, value) = exercise(chain(60, integer.clone(), |next| next), json!("5"));
    assert_eq!(value, json!(5));
    for length in [100, 5_000] {
        let (coercer, value) = exercise(chain(length, integer.clone(), |next| next), json!("5"));
        assert_eq!(value, json!("5"));
        assert_eq!(coercer.faults().len(), 1);
    }
}

#[test]
fn schemas_that_multiply_are_refused() {
    let integer = json!({"type": "integer"});
    let all = chain(40, integer.clone(), |next| json!({"allOf": [next, next]}));
    let (coercer, _) = exercise(all, json!("5"));
    assert_eq!(coercer.faults().len(), 1);
    let unevaluated = chain(
        40,
        integer,
        |next| json!({"allOf": [next, next], "unevaluatedProperties": false}),
    );
    let (coercer, _) = exercise(unevaluated, json!({"a": 1}));
    assert_eq!(coercer.faults().len(), 1);
}

#[test]
fn unevaluated_properties_near_the_limit_are_built_in_time() {
    let schema = chain(
        7,
        json!({"properties": {"a": {"type": "integer"}}}),
        |next| json!({"allOf": [next, next], "unevaluatedProperties": false}),
    );
    let (coercer, value) = exercise(schema, json!({"a": "1"}));
    assert_eq!(coercer.faults(), [] as [String; 0]);
    assert_eq!(value, json!({"a": 1}));
}

#[test]
fn branches_at_every_level_are_bounded() {
    let branch =
        |next: &Value| json!({"type": "object", "properties": {"a": next}, "required": ["a"]});
    let graph = chain(
        40,
        json!({"type": "integer"}),
        |next| json!({"anyOf": [branch(&next), branch(&next), branch(&next)]}),
    );
    exercise(graph, nested(40, json!("x")));
    let own = json!({"$ref": "#"});
    let recursive = json!({"anyOf": [branch(&own), branch(&own), {"type": "integer"}]});
    exercise(recursive.clone(), nested(100, json!("x")));
    exercise(recursive.clone(), nested(100, json!("5")));
    let (_, value) = exercise(recursive, nested(6, json!("5")));
    assert_eq!(value, nested(6, json!(5)));
}

#[test]
fn recursion_in_schema_and_value_keeps_the_stack() {
    let schema = chain(
        60,
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/n0"}}}),
        |next| next,
    );
    exercise(schema, nested(120, json!("x")));
    let list = json!({"items": {"$ref": "#"}, "type": ["array", "integer"]});
    let value = (0..120).fold(json!("1"), |value, _| json!([value]));
    exercise(list, value);
}

#[test]
fn large_schemas_and_values_take_bounded_time() {
    let property = |index: usize| (format!("p{index}"), json!({"$ref": "#/$defs/n"}));
    let properties: Map<String, Value> = (0..3_000).map(property).collect();
    let schema = json!({"$defs": {"n": {"type": "integer"}}, "properties": properties});
    let value: Map<String, Value> = (0..3_000).map(|n| (format!("p{n}"), json!("1"))).collect();
    let (coercer, value) = exercise(schema, Value::Object(value));
    assert_eq!(coercer.faults(), [] as [String; 0]);
    assert_eq!(value["p2999"], json!(1));

    let huge: Vec<Value> = (0..30_000).map(Value::from).collect();
    let (coercer, _) = exercise(json!({"enum": huge}), json!("5"));
    assert!(coercer.faults()[0].contains("too large"));

    let many = Value::from(vec!["1"; 50_000]);
    let (_, value) = exercise(json!({"items": {"type": "integer"}}), many);
    assert_eq!(value[49_999], json!(1));
}

#[test]
fn what_cannot_be_read_is_masked_whole() {
    let huge: Vec<Value> = (0..30_000).map(Value::from).collect();
    let coercer = Coercer::new(json!({"enum": huge, "writeOnly": true}));
    let mut value = json!({"a": 1});
    coercer.mask(&mut value);
    assert_eq!(value, json!("•••"));
}

#[test]
fn deep_schemas_are_refused_without_recursion() {
    let deep = (0..100).fold(json!({}), |schema, _| json!({"properties": {"a": schema}}));
    let coercer = Coercer::new(deep);
    assert!(coercer.faults()[0].contains("too large"));
}

#[test]
fn patterns_that_backtrack_are_stopped() {
    let schema = json!({"type": "string", "pattern": r"^(?=(a+)+$)(a|aa)+\1$"});
    exercise(schema, json!("a".repeat(40) + "b"));
    let schema = json!({"pattern": "(a{1000}){1000}"});
    exercise(schema, json!("aaa"));
}

#[test]
fn a_default_that_holds_itself_is_made_once() {
    let coercer = Coercer::new(json!({"properties": {
        "left": {"$ref": "#", "default": {}},
        "right": {"$ref": "#", "default": {}},
    }}));
    let mut value = json!({});
    coercer.fill(&mut value);
    assert_eq!(value, json!({"left": {"right": {}}, "right": {"left": {}}}));
}
