//! Tests of evaluation, over a scope written down as data. Templates have tests of their own.

use super::{
    Collection, Fault, FaultKind, Found, arguments, as_text, condition, items, text, value,
};
use crate::coerce::Coercer;
use crate::expression::{
    Expression, Facet, Path, Program, Root, RunField, Segment, ValueTemplate, nowhere,
};
use crate::scope::{ItemView, RunView, Scope, StepView};
use crate::step::{Call, Condition, Truth, Unfound};
use onecall_source::Text;
use serde_json::{Map, Value, json};

/// A run that stands still.
pub(crate) struct Still {
    pub(crate) input: Value,
    /// By step name, the result its tool gave.
    pub(crate) results: Value,
    pub(crate) item: Option<Value>,
}

impl Still {
    pub(crate) fn with_input(input: Value) -> Self {
        Self {
            input,
            results: json!({}),
            item: None,
        }
    }
}

impl Scope for Still {
    fn input(&self) -> &Value {
        &self.input
    }

    fn step(&self, name: &str) -> Option<StepView<'_>> {
        let result = self.results.get(name)?;
        Some(StepView {
            status: "completed",
            output: result.get("structuredContent"),
            result: Some(result),
            error: result.get("error").and_then(Value::as_str),
            failure: None,
        })
    }

    fn step_names(&self) -> Vec<&str> {
        let results = self.results.as_object().into_iter().flatten();
        results.map(|(name, _)| name.as_str()).collect()
    }

    fn run(&self) -> RunView<'_> {
        RunView {
            id: "run-1",
            name: "release",
            status: "running",
            started: "2026-01-01T00:00:00Z",
            duration_ms: 1_500,
            step_count: 3,
        }
    }

    fn item(&self) -> Option<ItemView<'_>> {
        self.item.as_ref().map(|value| ItemView {
            name: "file",
            value,
            index: 4,
        })
    }
}

fn path(root: Root, segments: &[&str]) -> Expression {
    let segments = segments.iter().map(|segment| match segment.parse() {
        Ok(index) => Segment::Index(index),
        Err(_) => Segment::Key((*segment).to_owned()),
    });
    let segments = segments.collect();
    Expression::new(Program::Path(Path::new(root, segments)), None)
}

/// `input.a.0.b`
pub(crate) fn input(written: &str) -> Expression {
    let segments: Vec<&str> = written.split('.').filter(|part| !part.is_empty()).collect();
    path(Root::Input, &segments)
}

fn step(facet: Facet, segments: &[&str]) -> Expression {
    let name = "fetch".to_owned();
    path(Root::Step { name, facet }, segments)
}

#[track_caller]
fn found(expression: &Expression, scope: &Still) -> Option<Value> {
    match value(expression, scope).unwrap() {
        Found::Value(value) => Some(value.into_owned()),
        Found::Missing(_) => None,
    }
}

#[test]
fn paths_keep_types_and_tell_missing_from_null() {
    let scope = Still::with_input(
        json!({"n": 9_007_199_254_740_993_u64, "null": null, "list": [{"x": 1.5}]}),
    );
    assert_eq!(
        found(&input("n"), &scope),
        Some(json!(9_007_199_254_740_993_u64))
    );
    assert_eq!(found(&input("null"), &scope), Some(json!(null)));
    assert_eq!(found(&input("list.0.x"), &scope), Some(json!(1.5)));
    assert_eq!(found(&input(""), &scope), Some(scope.input.clone()));
    for absent in ["absent", "absent.below", "list.1", "list.1.x"] {
        assert_eq!(found(&input(absent), &scope), None, "{absent}");
    }
    for wrong in ["null.x", "n.x", "list.x", "n.0"] {
        let fault = value(&input(wrong), &scope).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Failed, "{wrong}");
    }
}

#[test]
fn every_facet_of_a_step_can_be_read() {
    let mut scope = Still::with_input(json!({}));
    scope.results = json!({"fetch": {
        "structuredContent": {"user": "ada"},
        "content": [{"type": "text", "text": "{\"a\": 1}"}],
        "error": "late",
    }});
    assert_eq!(
        found(&step(Facet::Output, &["user"]), &scope),
        Some(json!("ada"))
    );
    assert_eq!(
        found(&step(Facet::Structured, &[]), &scope),
        Some(json!({"user": "ada"}))
    );
    assert_eq!(
        found(&step(Facet::Content, &["text"]), &scope),
        Some(json!("{\"a\": 1}"))
    );
    assert_eq!(found(&step(Facet::Json, &["a"]), &scope), Some(json!(1)));
    assert_eq!(
        found(&step(Facet::Status, &[]), &scope),
        Some(json!("completed"))
    );
    assert_eq!(found(&step(Facet::Error, &[]), &scope), Some(json!("late")));
    assert_eq!(found(&step(Facet::Failure, &[]), &scope), None);
    let blocks = &step(Facet::Result, &["content", "0", "type"]);
    assert_eq!(found(blocks, &scope), Some(json!("text")));
    let run = path(Root::Run(RunField::DurationMs), &[]);
    assert_eq!(found(&run, &scope), Some(json!(1_500)));
}

/// What the output has under a name of the result stands in the way of `Root::Result` alone.
#[test]
fn the_result_is_read_as_it_came() {
    let mut scope = Still::with_input(json!({}));
    let result = json!({
        "content": [{"type": "odd", "v": 1}],
        "structuredContent": {"vend": "inner", "content": "text of file"},
        "vend": 1,
    });
    scope.results = json!({"fetch": result});
    assert_eq!(found(&step(Facet::Result, &[]), &scope), Some(result));
    let vend = step(Facet::Result, &["vend"]);
    assert_eq!(found(&vend, &scope), Some(json!(1)));
    let odd = step(Facet::Result, &["content", "0", "v"]);
    assert_eq!(found(&odd, &scope), Some(json!(1)));
    let either = |segments: &[&str]| {
        let step = "fetch".to_owned();
        path(Root::Result { step }, segments)
    };
    assert_eq!(found(&either(&["vend"]), &scope), Some(json!("inner")));
    let beside = either(&["structuredContent", "vend"]);
    assert_eq!(found(&beside, &scope), Some(json!("inner")));
}

/// Plans that were stored before the result could be read by itself mean what they meant.
#[test]
fn stored_paths_keep_their_meaning() {
    let stored = |root: Value| serde_json::from_value::<Root>(root).unwrap();
    let step = "a".to_owned();
    assert_eq!(
        stored(json!({"result": {"step": "a"}})),
        Root::Result { step }
    );
    let (name, facet) = ("a".to_owned(), Facet::Result);
    assert_eq!(
        stored(json!({"step": {"name": "a", "facet": "result"}})),
        Root::Step { name, facet }
    );
}

#[test]
fn items_are_seen_inside_loops_only() {
    let mut scope = Still::with_input(json!({}));
    let item = |name: &str| {
        path(
            Root::Item {
                name: name.to_owned(),
            },
            &["path"],
        )
    };
    assert_eq!(found(&item("file"), &scope), None);
    scope.item = Some(json!({"path": "a.txt"}));
    assert_eq!(found(&item("file"), &scope), Some(json!("a.txt")));
    assert_eq!(found(&item("other"), &scope), None);
    assert_eq!(found(&path(Root::ItemIndex, &[]), &scope), Some(json!(4)));
}

#[test]
fn text_prints_numbers_as_templates_do() {
    for (given, expected) in [
        (json!("a"), "a"),
        (json!(1_234_567), "1234567"),
        (json!(3.0), "3"),
        (json!(1.5), "1.5"),
        (json!(1e21), "1e+21"),
        (json!(true), "true"),
        (json!(null), "null"),
        (json!([1, "a"]), "[1,\"a\"]"),
        (json!({"b": 1, "a": 2}), "{\"b\":1,\"a\":2}"),
    ] {
        assert_eq!(as_text(&given), expected);
    }
    let scope = Still::with_input(json!({}));
    let fault = text(&input("absent"), &scope).unwrap_err();
    assert_eq!(
        (fault.kind, fault.message.as_str()),
        (FaultKind::Missing, "`input.absent` has no value")
    );
}

fn object(entries: &[(&str, ValueTemplate)]) -> ValueTemplate {
    let entries = entries
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    ValueTemplate::Object(entries.collect())
}

fn read(written: &str) -> ValueTemplate {
    ValueTemplate::Expression(input(written))
}

#[test]
fn arguments_are_expanded_and_fitted_at_every_depth() {
    let schema = Coercer::new(json!({"properties": {
        "n": {"type": "integer"},
        "deep": {"properties": {"list": {"items": {"type": "string"}}}},
    }}));
    let template = object(&[
        ("n", read("n")),
        (
            "deep",
            object(&[(
                "list",
                ValueTemplate::Array(vec![read("n"), ValueTemplate::Literal(json!(2))]),
            )]),
        ),
        (
            "free",
            ValueTemplate::Expression(Expression::text("{{ not a template }}")),
        ),
    ]);
    let scope = Still::with_input(json!({"n": "5"}));
    assert_eq!(
        arguments(&call(&template), Some(&schema), &scope),
        Ok(json!({"n": 5, "deep": {"list": ["5", "2"]}, "free": "{{ not a template }}"}))
    );
}

fn call(arguments: &ValueTemplate) -> Call {
    Call {
        arguments: arguments.clone(),
        ..Call::plain("t")
    }
}

#[test]
fn a_call_may_fail_over_what_a_step_lacks_but_not_over_what_the_caller_leaves_out() {
    let from_step = Path::new(
        Root::Step {
            name: "a".to_owned(),
            facet: Facet::Output,
        },
        vec![Segment::Key("typo".to_owned())],
    );
    let template = object(&[
        ("optional", read("absent")),
        (
            "x",
            ValueTemplate::Expression(Expression::new(Program::Path(from_step), None)),
        ),
    ]);
    let scope = Still {
        results: json!({"a": {"structuredContent": {"n": 1}}}),
        ..Still::with_input(json!({}))
    };
    let lenient = call(&template);
    assert_eq!(arguments(&lenient, None, &scope), Ok(json!({})));
    let strict = Call {
        missing: Unfound::Fails,
        ..lenient
    };
    let fault = arguments(&strict, None, &scope).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Missing);
    assert!(fault.message.starts_with("x: "), "{}", fault.message);
}

#[track_caller]
fn check_missing(schema: Value, template: &ValueTemplate, expected: Result<Value, &str>) {
    let scope = Still::with_input(json!({"there": 1, "null": null}));
    let got = arguments(&call(template), Some(&Coercer::new(schema)), &scope);
    let got = got.map_err(|fault| {
        assert_eq!(fault.kind, FaultKind::Missing);
        fault.message
    });
    assert_eq!(got, expected.map_err(str::to_owned));
}

#[test]
fn missing_arguments_are_left_out_unless_required() {
    let template = object(&[("a", read("absent")), ("b", read("there"))]);
    check_missing(json!({}), &template, Ok(json!({"b": 1})));
    check_missing(
        json!({"required": ["a"]}),
        &template,
        Err("a: `input.absent` has no value; the keys there are `there`, `null`"),
    );

    let nested = object(&[("o", object(&[("a", read("absent"))]))]);
    check_missing(
        json!({"required": ["o", "a"]}),
        &nested,
        Ok(json!({"o": {}})),
    );
    let inner = json!({"properties": {"o": {"required": ["a"]}}});
    check_missing(
        inner,
        &nested,
        Err("o.a: `input.absent` has no value; the keys there are `there`, `null`"),
    );

    let null = object(&[("a", read("null"))]);
    check_missing(json!({"required": ["a"]}), &null, Ok(json!({"a": null})));
    check_missing(json!({}), &read("absent"), Ok(json!({})));
}

#[test]
fn missing_values_in_lists_fail_with_their_place() {
    let list = object(&[(
        "l",
        ValueTemplate::Array(vec![read("there"), read("absent")]),
    )]);
    check_missing(
        json!({}),
        &list,
        Err("l[1]: `input.absent` has no value; the keys there are `there`, `null`"),
    );

    let objects = object(&[(
        "l",
        ValueTemplate::Array(vec![object(&[("a", read("absent"))])]),
    )]);
    check_missing(json!({}), &objects, Ok(json!({"l": [{}]})));
    let schema = json!({"properties": {"l": {"items": {"required": ["a"]}}}});
    check_missing(
        schema,
        &objects,
        Err("l[0].a: `input.absent` has no value; the keys there are `there`, `null`"),
    );
}

#[test]
fn errors_in_arguments_carry_their_place() {
    let scope = Still::with_input(json!({"n": 1}));
    let template = object(&[("a", object(&[("b", read("n.x"))]))]);
    let fault = arguments(&call(&template), None, &scope).unwrap_err();
    assert_eq!(
        fault.message,
        "a.b: cannot read `x` of a number in `input.n.x`"
    );
}

#[track_caller]
fn check_condition(truth: Truth, given: &Value, expected: Option<bool>) {
    let scope = Still::with_input(json!({"c": given}));
    let test = Condition {
        test: input("c"),
        truth,
    };
    match (condition(&test, &scope), expected) {
        (Ok(got), Some(expected)) => assert_eq!(got, expected, "{given}"),
        (Err(fault), None) => assert_eq!(fault.kind, FaultKind::Condition, "{given}"),
        (got, _) => panic!("{given} gave {got:?}"),
    }
}

#[test]
fn conditions_are_booleans_or_six_words() {
    for word in ["true", "True", "TRUE", " true\n"] {
        check_condition(Truth::Words, &json!(word), Some(true));
    }
    for word in ["false", "False", "FALSE", "\tfalse "] {
        check_condition(Truth::Words, &json!(word), Some(false));
    }
    check_condition(Truth::Words, &json!(true), Some(true));
    for other in [
        json!(1),
        json!("1"),
        json!("yes"),
        json!(""),
        json!(null),
        json!([]),
        json!("tRue"),
    ] {
        check_condition(Truth::Words, &other, None);
    }
    for truthy in [json!(0), json!(""), json!("false"), json!([]), json!({})] {
        check_condition(Truth::Jq, &truthy, Some(true));
    }
    check_condition(Truth::Jq, &json!(null), Some(false));
    check_condition(Truth::Jq, &json!(false), Some(false));
}

#[test]
fn missing_conditions_fail_words_and_are_false_in_jq() {
    let scope = Still::with_input(json!({}));
    let ask = |truth| Condition {
        test: input("absent"),
        truth,
    };
    assert_eq!(
        condition(&ask(Truth::Words), &scope).unwrap_err().kind,
        FaultKind::Missing
    );
    assert_eq!(condition(&ask(Truth::Jq), &scope), Ok(false));
}

#[test]
fn condition_faults_show_a_short_value() {
    let scope = Still::with_input(json!({"c": "ö".repeat(1_000)}));
    let test = Condition {
        test: input("c"),
        truth: Truth::Words,
    };
    let message = condition(&test, &scope).unwrap_err().message;
    assert!(message.starts_with("condition must evaluate to 'true' or 'false', got: \"öö"));
    assert!(message.chars().count() < 200);
}

fn collect(given: &Value, iterations_max: u32) -> Result<Vec<Value>, Fault> {
    items(
        &input("c"),
        &Still::with_input(json!({"c": given})),
        lenient(iterations_max),
    )
}

fn lenient(iterations_max: u32) -> Collection {
    Collection {
        iterations_max,
        is_lenient: true,
    }
}

#[test]
fn collections_are_lists_or_json_text_of_one() {
    assert_eq!(collect(&json!([1, 2]), 2), Ok(vec![json!(1), json!(2)]));
    assert_eq!(collect(&json!(" [1, 2] "), 2), Ok(vec![json!(1), json!(2)]));
    assert_eq!(collect(&json!(null), 2), Ok(vec![]));
    assert_eq!(collect(&json!("null"), 2), Ok(vec![]));
    for other in [json!({}), json!(5), json!("{}"), json!("a, b"), json!("")] {
        assert_eq!(
            collect(&other, 2).unwrap_err().kind,
            FaultKind::Collection,
            "{other}"
        );
    }
    assert_eq!(
        collect(&json!([1, 2, 3]), 2).unwrap_err().kind,
        FaultKind::Iterations
    );
    let missing = items(&input("absent"), &Still::with_input(json!({})), lenient(2)).unwrap_err();
    assert_eq!(missing.kind, FaultKind::Missing);
}

#[test]
fn a_strict_collection_is_a_list() {
    let strict = Collection {
        is_lenient: false,
        ..lenient(2)
    };
    let collect =
        |given: Value| items(&input("c"), &Still::with_input(json!({"c": given})), strict);
    assert_eq!(collect(json!([1])), Ok(vec![json!(1)]));
    for other in [json!("[1]"), json!(null)] {
        assert_eq!(collect(other).unwrap_err().kind, FaultKind::Collection);
    }
}

#[test]
fn what_is_missing_is_named_in_the_words_of_the_file() {
    let scope = Still::with_input(json!({ "n": 1 }));
    let words = |written: &str, segments: &[&str]| {
        let mut expression = path(Root::Input, segments);
        expression.written = Some(Text::new(written, nowhere()));
        text(&expression, &scope).unwrap_err().message
    };
    for (written, expected) in [
        ("{{ .params.c }}", "`.params.c` has no value"),
        ("{{- .params.c -}}", "`.params.c` has no value"),
        ("${{ .inputs.c }}", "`.inputs.c` has no value"),
        (".inputs.c", "`.inputs.c` has no value"),
        ("${c}", "`${c}` has no value"),
    ] {
        let expected = format!("{expected}; the keys there are `n`");
        assert_eq!(words(written, &["c"]), expected);
    }
    assert_eq!(
        words("{{ .params.n.x }}", &["n", "x"]),
        "cannot read `x` of a number in `.params.n.x`"
    );
}

#[test]
fn a_path_without_a_value_lists_the_keys_that_exist() {
    let many: Map<String, Value> = (0..12).map(|at| (format!("k{at:02}"), json!(at))).collect();
    let scope = Still::with_input(json!({ "a": { "name": 1 }, "l": [1], "many": many }));
    let message = |segments: &[&str]| {
        text(&path(Root::Input, segments), &scope)
            .unwrap_err()
            .message
    };
    assert_eq!(
        message(&["a", "nam"]),
        "`input.a.nam` has no value; the keys there are `name`"
    );
    assert_eq!(
        message(&["many", "x"]),
        "`input.many.x` has no value; the keys there are `k00`, `k01`, `k02`, `k03`, `k04`, `k05`, `k06`, `k07` and 4 more"
    );
}

#[test]
fn a_read_in_a_template_lists_the_keys_that_exist() {
    let mut scope = Still::with_input(json!({ "who": 1 }));
    scope.results = json!({ "a": { "structuredContent": { "text": "x" } } });
    let keys = |read: &str| super::Missing::in_template(read, &scope).keys;
    assert_eq!(keys(".steps.a.output.txt"), ["text"]);
    assert_eq!(keys(" .params.whom "), ["who"]);
    for other in [".vars.x", "index .steps \"a\"", ".steps.b.output.x", "."] {
        assert_eq!(keys(other), [""; 0], "{other}");
    }
}
