//! Schemas and values made to hang, overflow or mislead: each must come back, quickly and unharmed.

use crate::coerce::{Coercer, Reason};
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
fn invalid_schemas_accept_and_change_nothing() {
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
        let refused = coercer.validate(&json!({"any": "thing"}));
        assert_eq!(refused.len(), 1, "{schema}");
        assert_eq!(refused[0].reason, Reason::Schema, "{schema}");
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

/// Takes a number of steps that doubles with every letter.
const EXPONENTIAL: &str = "^(?:(?!x)a+)+b$";

fn reasons(schema: Value, value: &Value) -> Vec<Reason> {
    let faults = Coercer::new(schema).validate(value);
    faults.iter().map(|fault| fault.reason).collect()
}

#[test]
fn patterns_that_backtrack_share_a_budget_in_one_value() {
    let schema = json!({"type": "array", "items": {"type": "string", "pattern": EXPONENTIAL}});
    let hard = format!("{}c", "a".repeat(26));
    // One test too many steps, or many tests that are too many together.
    for count in [1, 2_000] {
        let value = json!(vec![hard.clone(); count]);
        let (coercer, _) = exercise(schema.clone(), value.clone());
        assert_eq!(reasons(schema.clone(), &value), [Reason::Limit], "{count}");
        let refused = coercer.try_coerce(value).unwrap_err();
        assert_eq!(refused.reason, Reason::Limit);
        // The next value has a budget of its own.
        assert_eq!(reasons(schema.clone(), &json!(["c"])), [Reason::Mismatch]);
    }
}

#[test]
fn a_long_text_is_not_read_again_and_again() {
    let schema = json!({"type": "string", "pattern": "(?=.*b)(?=.*c)d"});
    let text = Value::from("ab".repeat(29_000));
    assert_eq!(reasons(schema, &text), [Reason::Limit]);
}

#[test]
fn names_that_are_tested_against_patterns_that_backtrack_are_charged() {
    let schema = json!({"type": "object", "patternProperties": {EXPONENTIAL: {"type": "integer"}}});
    let few: Map<String, Value> = (0..20).map(|at| (format!("c{at}"), json!(1))).collect();
    assert_eq!(reasons(schema.clone(), &few.into()), []);
    let name = |at| format!("{}{at}", "a".repeat(26));
    let many: Map<String, Value> = (0..2_000).map(|at| (name(at), json!(1))).collect();
    assert_eq!(reasons(schema, &many.into()), [Reason::Limit]);
}

#[test]
fn usual_patterns_with_look_around_are_far_below_the_budget() {
    let password = r"^(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{8,}$";
    let schema = json!({"type": "array", "items": {"type": "string", "pattern": password}});
    let value = json!(vec!["Passw0rdPassw0rd"; 1_000]);
    assert_eq!(reasons(schema.clone(), &value), []);
    assert_eq!(reasons(schema, &json!(["password"])), [Reason::Mismatch]);
    let no_script = json!({"type": "string", "pattern": r"^(?!.*<script>)[\s\S]*$"});
    let text = Value::from("some words ".repeat(2_000));
    assert_eq!(reasons(no_script, &text), []);
}

#[test]
fn patterns_that_do_not_backtrack_cost_nothing() {
    let schema = json!({"type": "array", "items": {"type": "string", "pattern": "^(a+)+$"}});
    let hard = format!("{}c", "a".repeat(2_000));
    let coercer = Coercer::new(schema);
    assert!(!coercer.backtracks());
    assert!(Coercer::new(json!({"pattern": EXPONENTIAL})).backtracks());
    let faults = coercer.validate(&json!(vec![hard; 1_000]));
    assert!(faults.iter().all(|fault| fault.reason == Reason::Mismatch));
    assert!(
        faults[0]
            .message
            .contains("must match the pattern `^(a+)+$`"),
        "{faults:?}"
    );
}
