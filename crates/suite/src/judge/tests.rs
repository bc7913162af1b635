//! Tests of verdicts: what the checks of a row come to, from a trace.

use super::judge;
use crate::case::Composition;
use crate::row::{Checked, Verdict};
use onecall_dialects::mcptest::{TestVariable, Tests};
use onecall_runtime::nodes::Trace;
use onecall_source::{Diagnostics, Node, Place};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

fn composition(expect: &Value, cases: &Value) -> Composition {
    let node = |value: &Value| {
        (!value.is_null()).then(|| Node::from_json(value, &Place::path("test", "")))
    };
    let tests = Tests {
        name: "look".to_owned(),
        place: Place::path("test", ""),
        description: None,
        tags: None,
        expect: node(expect),
        cases: node(cases),
        eval: None,
        freeze: BTreeMap::new(),
        cassettes: BTreeMap::new(),
        providers: None,
        judge: None,
        variables: Vec::new(),
    };
    let mut diagnostics = Diagnostics::new();
    let composition = Composition::read(&tests, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    composition
}

fn trace(nodes: Value, output: Value) -> Trace {
    let Value::Object(nodes) = nodes else {
        panic!("nodes are an object");
    };
    Trace {
        name: "look".to_owned(),
        ran: nodes.values().all(|node| node["status"] != "err"),
        order: Vec::new(),
        nodes,
        output,
        cost_total: 0.0,
        tokens_total: 0,
        calls: 0,
        budget_tripped: None,
        failure: None,
    }
}

fn verdicts(expect: &Value, trace: &Trace) -> (Verdict, Vec<Checked>) {
    let composition = composition(expect, &Value::Null);
    let found = judge(&composition, None, trace, Duration::ZERO);
    let checked = found.assertions.iter().map(|own| own.verdict).collect();
    (found.verdict, checked)
}

#[test]
fn a_target_that_names_nothing_fails_and_says_what_exists() {
    let trace = trace(
        json!({"a": {"status": "ok", "output": {"x": 1}}}),
        json!({"x": 1}),
    );
    let composition = composition(
        &json!([{"target": "nodes.a.output.y", "matcher": {"exact": null}}]),
        &Value::Null,
    );
    let found = judge(&composition, None, &trace, Duration::ZERO);
    assert_eq!(found.verdict, Verdict::Fail);
    let note = found.assertions[0].note.as_deref();
    assert_eq!(note, Some("there is no `y`; `nodes.a.output` has `x`"));
}

#[test]
fn checks_with_nothing_to_examine_do_not_pass() {
    let trace = trace(
        json!({"a": {"status": "ok", "output": []}, "b": {"status": "skipped", "output": null}}),
        json!(null),
    );
    let expect = json!([
        {"target": "nodes.a.output", "matcher": {"contains": [1]}},
        {"target": "nodes.b.output", "matcher": {"exact": null}},
    ]);
    let (verdict, checked) = verdicts(&expect, &trace);
    assert_eq!(
        (verdict, checked),
        (Verdict::Skipped, vec![Checked::Empty; 2])
    );
    let expect = json!([
        {"target": "nodes.a.output", "matcher": {"exact": []}},
        {"target": "nodes.b.status", "matcher": {"exact": "skipped"}},
    ]);
    let (verdict, checked) = verdicts(&expect, &trace);
    assert_eq!((verdict, checked), (Verdict::Pass, vec![Checked::Pass; 2]));
}

#[test]
fn a_failed_node_is_an_error_unless_an_assertion_is_about_it() {
    let trace = trace(json!({"a": {"status": "err", "output": null}}), json!(null));
    let about = json!([{"target": "nodes.a.status", "matcher": {"exact": "err"}}]);
    assert_eq!(verdicts(&about, &trace).0, Verdict::Pass);
    let other = json!([{"target": "output", "matcher": {"exact": null}}]);
    assert_eq!(verdicts(&other, &trace).0, Verdict::Error);
    assert_eq!(verdicts(&json!([]), &trace).0, Verdict::Error);
}

#[test]
fn a_budget_that_is_used_up_fails_the_row() {
    let mut trace = trace(json!({"a": {"status": "ok", "output": 1}}), json!(1));
    trace.budget_tripped = Some("max_tokens");
    assert_eq!(verdicts(&json!([]), &trace).0, Verdict::Fail);
}

#[test]
fn a_run_without_output_is_an_error() {
    let mut trace = trace(json!({"a": {"status": "ok", "output": 1}}), json!(null));
    trace.failure = Some("the output has no value".to_owned());
    assert_eq!(verdicts(&json!([]), &trace).0, Verdict::Error);
}

#[test]
fn a_golden_value_is_compared_with_the_output() {
    let trace = trace(json!({}), json!({"hits": [1, 2], "new": true}));
    let cases = json!([
        {"name": "same", "golden": {"new": true, "hits": [1.0, 2]}},
        {"name": "other", "golden": {"hits": [1, 3], "old": 1}},
    ]);
    let composition = composition(&Value::Null, &cases);
    let judged = |index: usize| {
        let case = composition.cases.get(index);
        judge(&composition, case, &trace, Duration::ZERO)
    };
    assert_eq!(judged(0).verdict, Verdict::Pass);
    let other = judged(1);
    assert_eq!(other.verdict, Verdict::Fail);
    let note = other.assertions[0].note.as_deref().unwrap();
    assert_eq!(
        note,
        "`output.hits[1]` is 2, expected 3; `output.old` is missing, expected 1; `output.new` is not expected: true"
    );
    let shown = &other.assertions[0].details;
    assert_eq!(shown[..3], ["output.hits[1]", "  - 3", "  + 2"]);
}

#[test]
fn the_document_has_times_and_totals() {
    let trace = trace(json!({"a": {"status": "ok", "output": 1}}), json!(1));
    let expect = json!([
        {"target": "cost.total", "matcher": {"lte": 0.5}},
        {"target": "tokens.total", "matcher": {"exact": 0}},
        {"target": "composition.duration_ms", "matcher": {"lt": 5}},
        {"target": "composition.budget_tripped", "matcher": {"exact": null}},
        {"target": "composition.ran", "matcher": {"exact": true}},
    ]);
    assert_eq!(verdicts(&expect, &trace).0, Verdict::Pass);
}

#[test]
fn cases_need_every_variable_and_use_every_value() {
    let place = Place::path("test", "");
    let cases = json!([{"name": "a", "vars": {"q": 1, "unused": 2}}, {"name": "a", "vars": {}}]);
    let tests = Tests {
        name: "look".to_owned(),
        place: place.clone(),
        description: None,
        tags: None,
        expect: None,
        cases: Some(Node::from_json(&cases, &place)),
        eval: None,
        freeze: BTreeMap::new(),
        cassettes: BTreeMap::new(),
        providers: None,
        judge: None,
        variables: vec![TestVariable {
            name: "q".to_owned(),
            has_default: false,
        }],
    };
    let mut diagnostics = Diagnostics::new();
    Composition::read(&tests, &mut diagnostics);
    let codes: Vec<&str> = diagnostics.iter().map(|own| own.code.as_str()).collect();
    assert_eq!(codes, ["WF515", "WF514", "WF514"]);
}

#[test]
fn an_assertion_of_a_case_replaces_the_same_target() {
    let trace = trace(
        json!({"a": {"status": "ok", "output": {"x": 1, "y": 2}}}),
        json!(1),
    );
    let expect = json!([
        {"target": "nodes.a.output.x", "matcher": {"exact": 7}},
        {"target": "nodes.a.output.y", "matcher": {"exact": 2}},
    ]);
    let cases = json!([
        {"name": "own", "expect": [{"target": "nodes.a.output[\"x\"]", "matcher": {"exact": 1}}]},
    ]);
    let composition = composition(&expect, &cases);
    let found = judge(
        &composition,
        composition.cases.first(),
        &trace,
        Duration::ZERO,
    );
    assert_eq!(found.verdict, Verdict::Pass);
    let targets: Vec<&str> = found.assertions.iter().map(|own| &*own.target).collect();
    assert_eq!(targets, ["nodes.a.output.y", "nodes.a.output[\"x\"]"]);
    let without = judge(&composition, None, &trace, Duration::ZERO);
    assert_eq!(without.verdict, Verdict::Fail);
}
