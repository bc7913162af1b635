//! Tests of matchers, by table: a matcher, a value, and whether it holds.

use super::{Matcher, Mismatch};
use onecall_source::{Diagnostics, Node, Place};
use serde_json::{Value, json};

fn read(matcher: &Value) -> Result<Matcher, Vec<&'static str>> {
    let node = Node::from_json(matcher, &Place::path("test", ""));
    let mut diagnostics = Diagnostics::new();
    let matcher = Matcher::read(&node, &mut diagnostics);
    let codes: Vec<&'static str> = diagnostics.iter().map(|own| own.code.as_str()).collect();
    matcher.filter(|_| codes.is_empty()).ok_or(codes)
}

/// `true`, `false`, or `error` if the matcher cannot judge the value.
fn verdict(matcher: &Value, value: &Value) -> &'static str {
    match read(matcher).unwrap().matches(value) {
        Ok(()) => "true",
        Err(Mismatch::Differs(_)) => "false",
        Err(Mismatch::Error(_)) => "error",
    }
}

/// A matcher, a value, and the verdict.
const TABLE: &str = r#"
{"exact": {"a": 1, "b": [1.0]}} | {"b": [1], "a": 1} | true
{"exact": {"a": 1}} | {"a": 1, "b": 2} | false
{"exact": [1, 2]} | [2, 1] | false
{"exact": null} | null | true
{"exact": 9007199254740993} | 9007199254740992 | false
{"contains": "ell"} | "hello" | true
{"contains": "ELL"} | "hello" | false
{"contains": {"a": {"b": 1}}} | {"a": {"b": 1, "c": 2}} | true
{"contains": [1, 1]} | [1, 2] | false
{"contains": [1, 1]} | [1, 2, 1] | true
{"contains": [{"a": 1}]} | [{"a": 1, "b": 2}] | false
{"contains": 1} | 1.0 | true
{"subset": {"a": {"b": 1}}} | {"a": {"b": 1, "c": 2}} | true
{"subset": {"a": [1]}} | {"a": [1, 2]} | false
{"regex": "^h.*o$"} | "hello" | true
{"regex": "x"} | 1 | error
{"schema": {"minimum": 3}} | 2 | false
{"schema": {"type": "object", "required": ["a"]}} | {"a": 1} | true
{"contains-all": ["a", "b"]} | "cab" | true
{"contains-all": [1, 2]} | [1] | false
{"contains-all": [1]} | "1" | error
{"contains-all": []} | 7 | error
{"contains-any": []} | "x" | false
{"contains-any": [1, 2]} | [2] | true
{"icontains": "ELL"} | "hello" | true
{"icontains": "x"} | null | error
{"starts-with": "he"} | "hello" | true
{"starts-with": "he"} | ["he"] | error
{"is-json": null} | "{\"a\": 1}" | true
{"is-json": null} | "{" | false
{"is-json": {"schema": {"type": "array"}}} | "{}" | false
{"is-xml": null} | "<a><b/></a>" | true
{"is-xml": null} | "<a><b></a>" | false
{"is-xml": {"root": "b"}} | "<a/>" | false
{"is-sql": null} | "SELECT a FROM b WHERE c = 1" | true
{"is-sql": null} | "SELEKT a" | false
{"is-sql": null} | " " | false
{"is-valid-tools-call": null} | {"name": "x", "arguments": {}} | true
{"is-valid-tools-call": null} | {"name": "x"} | false
{"is-valid-tools-call": {"schema": {"required": ["q"]}}} | {"name": "x", "arguments": {}} | false
{"levenshtein": {"value": "kitten", "max": 3}} | "sitting" | true
{"levenshtein": {"value": "kitten", "max": 2}} | "sitting" | false
{"cel": "value > 3"} | 4 | true
{"cel": "value.hits.size() == 2"} | {"hits": [1, 2]} | true
{"cel": "value.all(x, x < 2)"} | [1, 2] | false
{"cel": "value + 1"} | 4 | error
{"cel": "value.missing > 1"} | {} | error
{"not": {"exact": 1}} | 2 | true
{"not": {"regex": "x"}} | 2 | error
{"oneOf": [{"gt": 1}, {"gt": 2}]} | 2 | true
{"oneOf": [{"gt": 1}, {"gt": 2}]} | 3 | false
{"anyOf": [{"exact": 1}, {"exact": 2}]} | 2 | true
{"anyOf": [{"exact": 1}, {"regex": "x"}]} | 2 | error
{"allOf": [{"gte": 1}, {"lte": 2}]} | 2 | true
{"lt": 2} | 2 | false
{"lte": 0.5} | 0.50 | true
{"gt": 2} | "3" | error
{"gte": 2} | 2 | true
"#;

#[test]
fn every_matcher_judges_by_its_table() {
    let parse = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    for row in TABLE.trim().lines() {
        let [matcher, value, expected] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("the row has three columns: {row}");
        };
        assert_eq!(verdict(&parse(matcher), &parse(value)), expected, "{row}");
    }
}

#[test]
fn mistakes_are_reported_when_the_suite_is_read() {
    let rows = [
        (json!({"exakt": 1}), "WF511"),
        (json!({"snapshot": null}), "WF511"),
        (json!({}), "WF512"),
        (json!({"gt": 1, "lt": 2}), "WF512"),
        (json!({"regex": "("}), "WF512"),
        (json!({"regex": "(?=a)"}), "WF512"),
        (json!({"cel": "value >"}), "WF512"),
        (json!({"anyOf": []}), "WF512"),
        (json!({"schema": {"type": 1}}), "WF037"),
        (json!({"gt": "1"}), "WF022"),
        (json!({"contains-all": "a"}), "WF022"),
        (json!({"levenshtein": {"value": "a"}}), "WF021"),
    ];
    for (matcher, code) in rows {
        assert_eq!(read(&matcher).unwrap_err(), [code], "{matcher}");
    }
    let deep = (0..20).fold(json!({"exact": 1}), |inner, _| json!({ "not": inner }));
    assert_eq!(read(&deep).unwrap_err(), ["WF512"]);
}

#[test]
fn every_mistake_of_a_list_is_reported() {
    let codes = read(&json!({"anyOf": [{"a": 1}, {"b": 1}, {"exact": 1}]})).unwrap_err();
    assert_eq!(codes, ["WF511", "WF511"]);
}
