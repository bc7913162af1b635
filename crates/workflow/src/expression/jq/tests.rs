//! Tests of jq programs: results, faults, limits, and what they read. `tests/it/hostile.rs` runs what is made to hurt.

use super::{JqProgram, View};
use crate::evaluate::FaultKind;
use crate::evaluate::tests::Still;
use crate::expression::{Expression, Part, Program, Target};
use crate::limits::Bounds;
use serde_json::{Value, json};

fn scope() -> Still {
    let mut scope =
        Still::with_input(json!({"n": 9_007_199_254_740_993_u64, "list": [3, 1, 2], "half": 0.5}));
    scope.results = json!({
        "fetch": { "structuredContent": { "items": [{"x": 1}, {"x": 2}, {"y": null}], "name": "a" } },
        "other": { "structuredContent": { "ok": false } },
    });
    scope
}

#[track_caller]
fn run(code: &str) -> Value {
    let program = JqProgram::compile(code, View::Run).unwrap_or_else(|error| panic!("{error}"));
    program
        .evaluate(&scope())
        .unwrap_or_else(|fault| panic!("{code}: {fault}"))
}

#[track_caller]
fn fault(code: &str) -> (FaultKind, String) {
    let program = JqProgram::compile(code, View::Run).unwrap_or_else(|error| panic!("{error}"));
    match program.evaluate(&scope()) {
        Ok(value) => panic!("{code} gave {value}"),
        Err(fault) => (fault.kind, fault.message),
    }
}

#[test]
fn results() {
    let cases = [
        (".inputs.n", json!(9_007_199_254_740_993_u64)),
        (".inputs.n + 1", json!(9_007_199_254_740_994_u64)),
        ("18446744073709551615", json!(u64::MAX)),
        (
            "18446744073709551615 + 1",
            json!(18_446_744_073_709_551_616.0),
        ),
        (".inputs.list | add / length", json!(2)),
        (".inputs.half * 3", json!(1.5)),
        (".inputs.list | sort", json!([1, 2, 3])),
        ("[.steps.fetch.items[] | .x // 0]", json!([1, 2, 0])),
        (".results.fetch.result | keys", json!(["structuredContent"])),
        (
            ".results[\"fet\" + \"ch\"].result.structuredContent.name",
            json!("a"),
        ),
        (
            ".steps.fetch | {name, n: (.items | length)}",
            json!({"name": "a", "n": 3}),
        ),
        (".steps.fetch.items | map(.x) | join(\"-\")", json!("1-2-")),
        (".steps.fetch.items[-1]", json!({"y": null})),
        (".steps.fetch.items[1:] | length", json!(2)),
        (
            "\"\\(.inputs.list) and \\(.steps.fetch.name)\"",
            json!("[3,1,2] and a"),
        ),
        (".results.fetch.status", json!("completed")),
        (".results.other.output.ok", json!(false)),
        (".run.name", json!("release")),
        ("[.inputs.list[] | select(. > 1)] | tojson", json!("[3,2]")),
        (".steps.fetch | .name |= ascii_upcase | .name", json!("A")),
        (".steps.fetch | .new.deep = 1 | .new", json!({"deep": 1})),
        (".steps.fetch | del(.items) | keys", json!(["name"])),
        ("[1,[2]] | contains([2])", json!(false)),
        ("[1,[2]] | contains([[2]])", json!(true)),
        ("{} | has(\"a\")", json!(false)),
        ("\"a,b\" | split(\",\")", json!(["a", "b"])),
        ("\"aXbX\" | indices(\"X\")", json!([1, 3])),
        ("\"x1y22\" | [scan(\"[0-9]+\")]", json!(["1", "22"])),
        (
            "[{\"a\":2},{\"a\":1}] | sort_by(.a) | map(.a)",
            json!([1, 2]),
        ),
        (
            "[{\"a\":2,\"b\":1},{\"a\":2}] | group_by(.a) | length",
            json!(1),
        ),
        (
            "{\"a\":{\"b\":1}} * {\"a\":{\"c\":2}}",
            json!({"a": {"b": 1, "c": 2}}),
        ),
        ("\"{\\\"a\\\":[1]}\" | fromjson | .a[0]", json!(1)),
        ("try error(\"no\") catch .", json!("no")),
        ("[limit(3; range(10))]", json!([0, 1, 2])),
        ("\"12\" | tonumber", json!(12)),
        ("[1,\"a\\\"b\",null] | @csv", json!("1,\"a\"\"b\",")),
        ("1760000000 | todate", json!("2025-10-09T08:53:20Z")),
        ("reduce .inputs.list[] as $x (0; . + $x)", json!(6)),
        ("[.inputs.list[] as $x | $x * 2]", json!([6, 2, 4])),
        ("[[1,2],[3]] | transpose", json!([[1, 3], [2, null]])),
        ("5.5 % 2", json!(1)),
        ("[nan] | sort | length", json!(1)),
        ("null", json!(null)),
    ];
    for (code, expected) in cases {
        assert_eq!(run(code), expected, "{code}");
    }
}

#[test]
fn exactly_one_result_is_needed() {
    assert!(fault("empty").1.contains("gave no result"));
    assert!(fault("1, 2").1.contains("more than one result"));
    assert!(fault(".inputs.list[]").1.contains("more than one result"));
}

#[test]
fn faults_are_told_in_words() {
    let (kind, message) = fault(".inputs.list.x");
    assert_eq!(kind, FaultKind::Failed);
    assert!(
        message.contains("cannot index [3,1,2] with \"x\""),
        "{message}"
    );
    assert!(fault("1 / 0").1.contains("divide by zero"));
    assert!(fault("nan").1.contains("JSON cannot hold"));
    assert!(fault("error({\"code\": 1})").1.contains("{\"code\":1}"));
}

#[test]
fn what_grows_without_end_ends_as_a_limit() {
    for code in [
        "\"a\" * 10000000000",
        "reduce range(60) as $i (\"aa\"; . + .)",
        "reduce range(60) as $i ([0]; . + .)",
        "[range(1000000000000)]",
        "last(range(1000000000000))",
        "def f: f; f",
        "def f: 1 + f; f",
        "[repeat(1)]",
        "reduce range(100000) as $i (null; [.])",
        "reduce range(40) as $i ([]; [., .]) | tojson",
        "reduce range(40) as $i ([]; [., .])",
        "reduce range(40) as $i ([]; [., .]) | . == .",
    ] {
        assert_eq!(fault(code).0, FaultKind::Limit, "{code}");
    }
    // Squaring leaves the integers instead of growing them.
    assert!(
        fault("reduce range(30) as $i (3; . * .)")
            .1
            .contains("JSON cannot hold")
    );
}

#[test]
fn what_reaches_outside_does_not_exist() {
    for code in [
        "env",
        "$ENV",
        "now",
        "input",
        "inputs",
        "halt",
        "halt_error",
        "debug",
        "stderr",
        "localtime",
        "input_filename",
        "$__loc__",
        "import \"a\" as a; 1",
        "include \"a\"; 1",
    ] {
        assert!(JqProgram::compile(code, View::Run).is_err(), "{code}");
    }
}

#[test]
fn syntax_faults_have_their_place() {
    let error = JqProgram::compile(".a | lenght", View::Run).unwrap_err();
    assert_eq!(error.faults[0].range, 5..11);
    assert_eq!(error.faults[0].undefined.as_deref(), Some("lenght"));
    let error = JqProgram::compile(".a | (", View::Run).unwrap_err();
    assert_eq!(error.faults[0].range.start, 6);
    assert!(JqProgram::compile(&"[".repeat(8_000), View::Run).is_err());
    assert!(JqProgram::compile(&" ".repeat(40_000), View::Run).is_err());
}

#[track_caller]
fn reads(code: &str) -> Vec<String> {
    let program = JqProgram::compile(code, View::Run).unwrap_or_else(|error| panic!("{error}"));
    let expression = Expression::new(Program::Jq(program), None);
    let shown = expression
        .references()
        .into_iter()
        .map(|read| match read.target {
            Target::Input { segments } => format!("inputs.{}", segments.join(".")),
            Target::Step {
                name,
                part,
                segments,
            } => {
                let part = match part {
                    None => String::new(),
                    Some(Part::Known(facet)) => facet.as_str().to_owned(),
                    Some(Part::Unknown { name, .. }) => format!("no {name}"),
                };
                format!("{name}:{part}:{}", segments.join("."))
            }
            Target::AllSteps => "all".to_owned(),
            Target::Item { name } => format!("item {name}"),
            Target::Named { name } => format!("named {name}"),
            Target::Unknown { name } => format!("unknown {name}"),
            Target::UnknownField { root, name } => format!("no {name} in {root}"),
            Target::Ambient => "ambient".to_owned(),
        });
    shown.collect()
}

#[test]
fn reads_are_found_without_running() {
    let cases: [(&str, &[&str]); 20] = [
        (".steps.a.b + .inputs.c", &["a:output:b", "inputs.c"]),
        (".steps.a.items[0].x", &["a:output:items"]),
        (".steps.a.items | map(.x)", &["a:output:items"]),
        ("[.steps.a[].t] | join(\"\\n\")", &["a:output:"]),
        (".steps | .a.b", &["a:output:b"]),
        (". as $r | $r.steps.a", &["a:output:"]),
        (".steps[\"a b\"].c", &["a b:output:c"]),
        (".steps[.inputs.name]", &["inputs.name", "all"]),
        (".steps | keys", &["all"]),
        (".", &["all"]),
        ("..", &["all"]),
        (".results.a.status", &["a:status:"]),
        (".results.a.result | keys", &["a:result:"]),
        (".results.a.rest | keys", &["a:no rest:"]),
        (".pull.number", &["named pull"]),
        (".index + 1", &["item index"]),
        ("any(.steps.a[]; .ok)", &["a:output:"]),
        (
            "if .steps.a.ok then .steps.b else null end",
            &["a:output:ok", "b:output:"],
        ),
        ("{a: .steps.a, inputs}", &["a:output:", "inputs."]),
        ("reduce .steps.a[] as $x (0; . + $x.n)", &["a:output:"]),
    ];
    for (code, expected) in cases {
        assert_eq!(reads(code), expected, "{code}");
    }
}

#[test]
fn the_views_of_compositions() {
    let when = JqProgram::compile(
        "(.parents.fetch.items | length) > 0 and (.parents.other == null)",
        View::Parents(vec!["fetch".to_owned()]),
    );
    assert_eq!(when.unwrap().evaluate(&scope()).unwrap(), json!(true));
    let assemble = JqProgram::compile("{n: .nodes.fetch.name, o: .nodes.other.ok}", View::Nodes);
    assert_eq!(
        assemble.unwrap().evaluate(&scope()).unwrap(),
        json!({"n": "a", "o": false})
    );
    let program = JqProgram::compile(
        ".result.hits[0], .structuredContent.hits[1] | tostring",
        View::Result,
    );
    let result = json!({"structuredContent": {"hits": [1, 2]}, "content": []});
    let fault =
        program
            .unwrap()
            .transform(&result, &result["structuredContent"], Bounds::default());
    assert!(fault.unwrap_err().message.contains("more than one"));
    let program = JqProgram::compile(
        "[.result.hits[0], .structuredContent.hits[1]]",
        View::Result,
    );
    let reshaped =
        program
            .unwrap()
            .transform(&result, &result["structuredContent"], Bounds::default());
    assert_eq!(reshaped.unwrap(), json!([1, 2]));
}

#[test]
fn a_program_survives_its_stored_form() {
    let program = JqProgram::compile(".nodes.a | length", View::Nodes).unwrap();
    let text = serde_json::to_string(&program).unwrap();
    assert_eq!(text, "{\"code\":\".nodes.a | length\",\"view\":\"nodes\"}");
    let back: JqProgram = serde_json::from_str(&text).unwrap();
    assert_eq!(back.view(), &View::Nodes);
    assert!(serde_json::from_str::<JqProgram>("{\"code\":\"((\"}").is_err());
}

#[test]
fn a_text_is_bounded_like_that_of_any_other_expression() {
    let bounds = Bounds {
        text_bytes: 10,
        ..Bounds::default()
    };
    let made = |code: &str| {
        let program = JqProgram::compile(code, View::Result).unwrap();
        program.transform(&json!({}), &json!({}), bounds)
    };
    assert_eq!(made("\"12345\" * 2"), Ok(json!("1234512345")));
    let fault = made("\"12345\" * 2 + \"6\"").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Limit);
    assert_eq!(fault.message, "the text is longer than 10 bytes");
}
