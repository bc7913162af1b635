//! Rows whose nodes call a scripted world: budgets, failed servers, optional parents, tapes, parallel rows.

use crate::reading::{Read, read};
use futures::future::BoxFuture;
use onecall_dialects::mcptest::Freeze;
use onecall_engine::event::{Lost, Outcome};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::Timestamp;
use onecall_engine::world::{ToolCall, World};
use onecall_suite::report::Silent;
use onecall_suite::row::{Row, Verdict};
use onecall_suite::{
    Baseline, Composition, Options, Recording, Scrub, Selection, Source, Spending, Stage, Tape,
    Tapes, run,
};
use onecall_workflow::catalog::Catalog;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Answers by the name of the tool.
#[derive(Default)]
struct Scripted {
    calls: AtomicUsize,
}

impl World for Scripted {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let arguments = Value::clone(&call.arguments);
        let payload = |value: Value| {
            Outcome::Returned(Arc::new(json!({"content": [], "structuredContent": value})))
        };
        let failed = |code, text: &str| Outcome::Failed {
            failure: Failure::new(code, text),
            result: None,
        };
        let outcome = match call.tool.original.as_str() {
            "echo" => payload(arguments),
            "list" => payload(json!([1, 2, 3, 4])),
            "cost" => Outcome::Returned(Arc::new(json!({
                "content": [], "structuredContent": {"x": 1},
                "_meta": {"dev.onecall/usage": {"cost_usd": 0.2, "tokens": 100, "model": "m"}},
            }))),
            "is_error" => Outcome::Returned(Arc::new(
                json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
            )),
            "lost" => Outcome::Unknown(Lost::Connection {
                reason: "reset".to_owned(),
            }),
            "down" => failed(Code::TransportUnavailable, "cannot be reached"),
            "hang" => return Box::pin(std::future::pending()),
            _ => failed(Code::ToolUnknown, "no such tool"),
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            outcome
        })
    }

    fn now(&self) -> Timestamp {
        onecall_runtime::now()
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(at.since(onecall_runtime::now())))
    }
}

struct Suite {
    world: Arc<Scripted>,
    compositions: Vec<Composition>,
    stage: Stage,
}

fn suite(compositions: &str) -> Suite {
    with_tapes(compositions, Tapes::default())
}

fn with_tapes(compositions: &str, tapes: Tapes) -> Suite {
    let text = format!("servers: {{s: {{command: [x]}}}}\ncompositions:\n{compositions}");
    let Read {
        settings,
        compositions,
        ..
    } = read(&text);
    let world = Arc::new(Scripted::default());
    let live = Some(Arc::<Scripted>::clone(&world) as Arc<dyn World>);
    let stage = Stage::new(settings.workflows(), Catalog::default(), live, tapes);
    Suite {
        world,
        compositions,
        stage,
    }
}

impl Suite {
    async fn rows(&self, jobs: usize) -> Vec<Row> {
        let rows = Selection::default().rows(&self.compositions);
        let options = Options {
            jobs,
            ..Options::default()
        };
        run(&self.stage, "suite.yaml", &rows, &options, &mut Silent).await
    }

    async fn row(&self) -> Row {
        let mut rows = self.rows(1).await;
        assert_eq!(rows.len(), 1);
        rows.remove(0)
    }
}

fn node<'a>(row: &'a Row, id: &str) -> &'a Value {
    let trace = row.trace.as_ref().expect("the row ran");
    &trace.nodes[id]
}

#[tokio::test]
async fn a_cap_ends_the_run_and_is_named() {
    let budget = |budget: &str| {
        suite(&format!(
            "- name: c\n  budget: {{{budget}}}\n  nodes:\n  - {{id: a, tool: cost}}\n  - {{id: b, needs: [a], tool: echo, args: {{v: \"${{a.x}}\"}}}}\n"
        ))
    };
    for (cap, stated) in [
        ("max_cost_usd", "max_cost_usd: 0.1"),
        ("max_tokens", "max_tokens: 99"),
    ] {
        let suite = budget(stated);
        let row = suite.row().await;
        assert_eq!(
            (row.verdict, row.budget_tripped),
            (Verdict::Fail, Some(cap))
        );
        assert_eq!(
            suite.world.calls.load(Ordering::SeqCst),
            1,
            "later nodes are not called"
        );
        let skipped = node(&row, "b");
        assert_eq!(skipped["status"], "skipped");
        assert!(
            skipped["inputs"].is_null()
                && skipped["output"].is_null()
                && skipped["duration_ms"].is_null(),
            "{skipped}"
        );
        assert_eq!(row.trace.as_ref().unwrap().order, ["a"]);
        assert!(
            row.reasons().contains(&format!("budget exceeded: `{cap}`")),
            "{:?}",
            row.reasons()
        );
    }
    // At the cap nothing trips.
    let row = budget("max_cost_usd: 0.2, max_tokens: 100").row().await;
    assert_eq!(row.verdict, Verdict::Pass, "{:?}", row.reasons());
    let own = node(&row, "a");
    assert_eq!(
        (&own["cost_usd"], &own["tokens"], &own["model"]),
        (&json!(0.2), &json!(100), &json!("m"))
    );
}

#[tokio::test]
async fn time_is_a_cap_too() {
    let suite = suite(
        "- name: c\n  budget: {max_duration_ms: 60}\n  nodes: [{id: a, tool: hang}, {id: b, tool: echo}]\n",
    );
    let row = suite.row().await;
    assert_eq!(
        (row.verdict, row.budget_tripped),
        (Verdict::Fail, Some("max_duration_ms"))
    );
    assert!(!row.trace.unwrap().ran);
}

#[tokio::test]
async fn a_call_over_its_own_cap_fails_its_node() {
    for (cap, stated) in [
        ("max_cost_per_call_usd", "max_cost_per_call_usd: 0.1"),
        ("max_tokens_per_call", "max_tokens_per_call: 50"),
    ] {
        let suite = suite(&format!(
            "- name: c\n  nodes: [{{id: a, tool: cost, {stated}}}, {{id: b, tool: echo}}]\n"
        ));
        let row = suite.row().await;
        assert_eq!(
            (row.verdict, row.budget_tripped),
            (Verdict::Fail, Some(cap))
        );
        assert_eq!(node(&row, "a")["status"], "err");
        assert_eq!(node(&row, "b")["status"], "ok", "the run goes on");
        assert!(!row.trace.unwrap().ran);
    }
    let within = suite(
        "- name: c\n  nodes: [{id: a, tool: cost, max_cost_per_call_usd: 0.2, max_tokens_per_call: 100}]\n",
    );
    assert_eq!(within.row().await.verdict, Verdict::Pass);
}

#[tokio::test]
async fn an_optional_parent_that_failed_or_was_skipped_gives_its_default() {
    let suite = suite(
        r#"- name: c
  nodes:
  - {id: gone, tool: down}
  - {id: skipped, tool: echo, when: "false"}
  - id: all
    needs: [{id: gone, optional: true, default: {x: 5}}, {id: skipped, optional: true}]
    when: ".parents.gone.x == 5 and .parents.skipped == null"
    tool: echo
    args: {a: "${gone.x}", b: "${skipped}", c: "${skipped.y ?? 7}"}
  - {id: strict, needs: [gone], tool: echo}
  expect:
  - {target: nodes.gone.status, matcher: {exact: err}}
  - {target: nodes.all.output, matcher: {exact: {a: 5, b: null, c: 7}}}
  - {target: nodes.strict.status, matcher: {exact: skipped}}
"#,
    );
    let row = suite.row().await;
    assert_eq!(row.verdict, Verdict::Pass, "{:?}", row.reasons());
}

#[tokio::test]
async fn every_failure_of_a_call_is_an_error_of_its_node_alone() {
    let tools = ["is_error", "lost", "down", "unknown"];
    let nodes: Vec<String> = tools
        .iter()
        .map(|tool| format!("{{id: {tool}, tool: {tool}}}"))
        .collect();
    let suite = suite(&format!(
        "- name: c\n  nodes: [{}, {{id: fine, tool: echo, args: {{x: 1}}}}]\n  output: fine\n",
        nodes.join(", ")
    ));
    let row = suite.row().await;
    assert_eq!(row.verdict, Verdict::Error);
    for tool in tools {
        assert_eq!(node(&row, tool)["status"], "err", "{tool}");
    }
    assert_eq!(node(&row, "fine")["status"], "ok");
    assert_eq!(row.trace.unwrap().output, json!({"x": 1}));
}

#[tokio::test]
async fn a_node_without_an_answer_fails_after_its_time() {
    let suite = suite("- name: c\n  nodes: [{id: a, tool: hang, policy: {timeout: 50ms}}]\n");
    let row = tokio::time::timeout(Duration::from_secs(10), suite.row())
        .await
        .unwrap();
    assert_eq!(row.verdict, Verdict::Error);
    assert_eq!(node(&row, "a")["status"], "err");
}

#[tokio::test]
async fn the_order_of_a_trace_is_topological() {
    let suite = suite(
        "- name: c\n  nodes:\n  - {id: last, needs: [mid], tool: t, args: {v: \"${mid}\"}, mock: {result: 1}}\n  - {id: mid, needs: [first], tool: t, args: {v: \"${first}\"}, mock: {result: 1}}\n  - {id: first, tool: t, mock: {result: 1}}\n",
    );
    let row = suite.row().await;
    assert_eq!(row.trace.unwrap().order, ["first", "mid", "last"]);
    assert_eq!(suite.world.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn rows_run_side_by_side_and_are_reported_in_order() {
    let compositions: Vec<String> = (0..6)
        .map(|index| format!("- name: c{index}\n  nodes: [{{id: a, tool: echo}}]\n"))
        .collect();
    let compositions = compositions.concat();
    let suite = suite(&compositions);
    let rows = suite.rows(4).await;
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["c0", "c1", "c2", "c3", "c4", "c5"]);
}

const TAPED: &str = "- name: c\n  nodes:\n  - {id: a, tool: echo, args: {q: 1}}\n  - {id: b, tool: echo, args: {q: 1}}\n";

#[tokio::test]
async fn what_was_recorded_is_replayed_without_a_call() {
    let mut tapes = Tapes::new(
        Recording::Record,
        std::collections::BTreeSet::default(),
        Scrub::default(),
    );
    tapes.insert("s", "s.json".to_owned(), None);
    let recording = with_tapes(TAPED, tapes);
    // The second row finds what the first recorded.
    for _ in 0..2 {
        assert_eq!(recording.row().await.verdict, Verdict::Pass);
    }
    assert_eq!(recording.world.calls.load(Ordering::SeqCst), 2);
    let changed = recording.stage.tapes().changed();
    assert_eq!(changed.len(), 1);
    let tape = Tape::parse(&changed[0].1, &Scrub::default()).unwrap();

    let mut tapes = Tapes::new(
        Recording::Replay,
        std::collections::BTreeSet::default(),
        Scrub::default(),
    );
    tapes.insert("s", "s.json".to_owned(), Some(tape));
    let three = format!("{TAPED}  - {{id: c, needs: [a, b], tool: echo, args: {{q: 1}}}}\n");
    let replaying = with_tapes(&three, tapes);
    let row = replaying.row().await;
    assert_eq!(replaying.world.calls.load(Ordering::SeqCst), 0);
    assert_eq!(
        (&node(&row, "a")["status"], &node(&row, "b")["status"]),
        (&json!("ok"), &json!("ok"))
    );
    let reason = node(&row, "c")["reason"].as_str().unwrap();
    assert!(
        reason.contains("the 2 records of this call of `echo` were used before"),
        "{reason}"
    );
    assert!(replaying.stage.tapes().changed().is_empty());
}

#[tokio::test]
async fn frozen_nodes_use_tapes_and_others_do_not() {
    let tapes = || {
        let mut tapes = Tapes::default();
        tapes.insert("s", "s.json".to_owned(), None);
        tapes
    };
    let suite = with_tapes(
        "- name: c\n  nodes:\n  - {id: live, tool: echo}\n  - {id: kept, tool: echo, args: {x: 1}, freeze: record}\n  - {id: golden, tool: echo, args: {x: 2}, freeze: golden}\n  expect: [{target: nodes.golden.status, matcher: {exact: err}}]\n",
        tapes(),
    );
    let row = suite.row().await;
    assert_eq!(row.verdict, Verdict::Pass, "{:?}", row.reasons());
    let reason = node(&row, "golden")["reason"].as_str().unwrap();
    assert!(reason.contains("no record of `echo` with {\"x\":2}; the nearest record differs: `arguments.x` is 2, expected 1") || reason.contains("there is no tape"), "{reason}");
    let changed = suite.stage.tapes().changed();
    assert!(changed[0].1.contains("\"x\": 1") && !changed[0].1.contains("\"x\": 2"));
    assert_eq!(tapes().source(Some(Freeze::Golden), "s"), Source::Tape);
    assert_eq!(tapes().source(None, "s"), Source::Live);
}

#[tokio::test]
async fn a_row_above_its_baseline_fails() {
    let suite = suite("- name: c\n  nodes: [{id: a, tool: cost}]\n");
    let rows = suite.rows(1).await;
    let mut baseline = Baseline::default();
    baseline.update(&rows);
    let used = baseline.rows["suite.yaml: c"];
    assert_eq!((used.cost_usd, used.tokens, used.calls), (0.2, 100, 1));
    let with = async |baseline: &Baseline| {
        let rows = Selection::default().rows(&suite.compositions);
        let options = Options {
            baseline: Some(baseline.clone()),
            ..Options::default()
        };
        run(&suite.stage, "dir/suite.yaml", &rows, &options, &mut Silent).await
    };
    assert_eq!(with(&baseline).await[0].verdict, Verdict::Pass);
    for own in baseline.rows.values_mut() {
        own.tokens = 80;
    }
    let above = &with(&baseline).await[0];
    assert_eq!(above.verdict, Verdict::Fail);
    let reason = above.reason.as_deref().expect("it says why");
    assert_eq!(reason, "above the baseline: tokens 100, was 80");
    let spending = Spending::of(&rows);
    assert_eq!(
        spending.lines(),
        [
            "spent by node c/a: $0.2, 100 tokens",
            "spent by model m: $0.2, 100 tokens"
        ]
    );
}

#[tokio::test]
async fn a_page_holds_graph_and_trace_of_failures_and_escapes_all_text() {
    let suite = suite(
        "- name: \"a <b>\"\n  nodes: [{id: a, tool: is_error}, {id: b, needs: [a], tool: echo}]\n- name: fine\n  nodes: [{id: n, tool: echo}]\n",
    );
    let page = onecall_suite::report::html::page(&suite.rows(1).await);
    assert!(page.contains("a &lt;b&gt;") && !page.contains("a <b>"));
    assert_eq!(
        page.matches("<svg").count(),
        1,
        "only failures have a graph"
    );
    assert_eq!(page.matches("<rect").count(), 2);
    assert_eq!(page.matches("<line").count(), 1);
    assert!(
        !page.contains("<script") && !page.contains("http"),
        "{page}"
    );
    let body = page.split_once('\n').expect("a doctype").1;
    let body = body
        .replace("<meta charset=\"utf-8\">", "")
        .replace("<link rel=\"icon\" href=\"data:,\">", "");
    roxmltree::Document::parse(&body).expect("every element is closed");
}

#[tokio::test]
async fn an_argument_that_finds_nothing_is_an_error() {
    let suite = suite(
        "- name: c\n  nodes:\n  - {id: a, tool: t, mock: {result: {n: 1}}}\n  - {id: live, needs: [a], tool: echo, args: {v: {w: [\"${a.typo}\"]}}}\n  - {id: mocked, needs: [a], tool: echo, args: {v: \"${a.typo}\"}, mock: {result: 1}}\n  - {id: given, needs: [a], tool: echo, args: {v: \"${a.typo ?? 2}\", w: \"${var.x}\"}}\n  expect:\n  - {target: nodes.live.status, matcher: {exact: err}}\n  - {target: nodes.mocked.status, matcher: {exact: err}}\n  - {target: nodes.given.output, matcher: {exact: {v: 2, w: \"${var.x}\"}}}\n",
    );
    let row = suite.row().await;
    assert_eq!(row.verdict, Verdict::Pass, "{:?}", row.reasons());
}
