//! Rows of mocked compositions, from the text of a suite to the verdicts and reports.

use crate::reading::{Read, read};
use onecall_source::SourceMap;
use onecall_suite::report::{github, json, junit, terminal};
use onecall_suite::row::{Row, Summary};
use onecall_suite::{Composition, Options, Selected, Selection, Stage, Tapes, run};
use onecall_workflow::catalog::Catalog;
use serde_json::{Map, json};

const SUITE: &str = r#"
compositions:
  - name: render
    description: Search for a package and fetch its text
    tags: [fast]
    nodes:
      - {id: search, tool: search, args: {q: "${var.q}"}, mock: {result: {hits: [{name: a}]}}}
      - {id: text, needs: [search], tool: get, args: {name: "${search.hits[0].name}"}, mock: {result: {body: "a text"}}}
      - {id: never, needs: [search], when: ".parents.search.hits == []", tool: get, mock: {result: 1}}
    output: text
    expect:
      - {target: composition.ran, matcher: {exact: true}}
      - {target: nodes.never.status, matcher: {exact: skipped}}
    eval: {mcp_use: {threshold: 0.5}}
    cases:
      - {name: same, vars: {q: x}, golden: {body: a text}}
      - {name: other, vars: {q: y}, golden: {body: b}}
  - name: failing
    nodes:
      - {id: a, tool: t, mock: {result: {x: 1}}, transform: {jq: "error(\"no\")"}}
  - name: empty
    nodes: [{id: a, tool: t, mock: {result: []}}]
    expect: [{target: nodes.a.output, matcher: {contains: [1]}}]
"#;

struct World {
    sources: SourceMap,
    compositions: Vec<Composition>,
    stage: Stage,
}

fn world() -> World {
    world_of(SUITE)
}

fn world_of(text: &str) -> World {
    let Read {
        sources,
        settings,
        compositions,
    } = read(text);
    let workflows = &settings.compositions;
    World {
        stage: Stage::new(workflows, Catalog::default(), None, Tapes::default()),
        sources,
        compositions,
    }
}

impl World {
    async fn rows(&self, selection: &Selection, options: &Options) -> (Vec<Row>, Vec<String>) {
        let mut lines = Vec::new();
        let mut reporter = terminal::Terminal {
            write: |line| lines.push(line),
            color: false,
            traces: false,
        };
        let selected = selection.rows(&self.compositions);
        let rows = run(&self.stage, "suite.yaml", &selected, options, &mut reporter);
        let rows = rows.await;
        (rows, lines)
    }
}

#[tokio::test]
async fn rows_are_run_judged_and_reported() {
    let world = world();
    let (rows, mut lines) = world.rows(&Selection::default(), &Options::default()).await;
    lines.push(terminal::summary(Summary::of(&rows)));
    let reason = lines
        .iter()
        .position(|line| line.contains("node `a` failed"));
    lines[reason.unwrap()] = "    node `a` failed: …".to_owned();
    assert_eq!(
        lines,
        [
            "composition [PASS] render [same]",
            "    eval mcp_use: deferred (no model provider: the suite has no `judge`)",
            "composition [FAIL] render [other]",
            "    expect #2: `output` differs from the golden value:",
            "        output.body",
            "          - \"b\"",
            "          + \"a text\"",
            "    node `never` skipped: its condition is false",
            "    eval mcp_use: deferred (no model provider: the suite has no `judge`)",
            "composition [ERROR] failing",
            "    node `a` failed: …",
            "    no assertion is about node `a`, so its failure makes the row an error",
            "composition [SKIP] empty",
            "    expect #0: `nodes.a.output` is empty: the list has no elements",
            "ran 4 composition(s): 1 passed, 2 failed (1 with errors), 1 skipped, 2 evals deferred",
        ]
    );
}

#[tokio::test]
async fn reports_for_programs_have_every_row() {
    let world = world();
    let (rows, _) = world.rows(&Selection::default(), &Options::default()).await;
    let document = json::document(&rows);
    let summary = json!({"passed": 1, "failed": 1, "errors": 1, "skipped": 1, "evals_deferred": 2});
    assert_eq!(document["summary"], summary);
    let row = &document["rows"][1];
    assert_eq!(
        (&row["suite"], &row["name"], &row["case"], &row["verdict"]),
        (
            &json!("suite.yaml"),
            &json!("render"),
            &json!("other"),
            &json!("fail")
        )
    );
    assert!(row["duration_ms"].is_u64());
    assert_eq!(row["assertions"][2]["matcher"], "golden");
    assert_eq!(
        row["evals"],
        json!([{"metric": "mcp_use", "verdict": "deferred", "threshold": 0.5, "reason": "no model provider: the suite has no `judge`"}])
    );
    assert_eq!(row["trace"]["nodes"]["search"]["inputs"], json!({"q": "y"}));

    let xml = junit::xml(&rows).unwrap();
    let root =
        "<testsuites name=\"onecall\" tests=\"4\" skipped=\"1\" failures=\"1\" errors=\"1\">";
    assert!(xml.contains(root), "{xml}");
    assert!(
        xml.contains("<testcase name=\"render [same]\" classname=\"composition\""),
        "{xml}"
    );

    let annotations = github::annotations(&rows, &world.sources);
    assert_eq!(annotations.len(), 2);
    let first = "::error file=suite.yaml,line=3,col=11::render [other]: expect #2: ";
    assert!(annotations[0].starts_with(first), "{annotations:?}");
}

#[tokio::test]
async fn rows_are_selected_by_name_tag_and_case() {
    let world = world();
    let labels = |selection: Selection| {
        let rows = selection.rows(&world.compositions);
        rows.iter().map(Selected::label).collect::<Vec<_>>()
    };
    let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let filters = Selection {
        filters: texts(&["fail", "empt"]),
        ..Selection::default()
    };
    assert_eq!(labels(filters), ["failing", "empty"]);
    let tags = Selection {
        tags: texts(&["fast"]),
        cases: texts(&["other"]),
        ..Selection::default()
    };
    assert_eq!(labels(tags), ["render [other]"]);
    let last_failed = Selection {
        labels: Some(texts(&["render [other]", "gone"])),
        ..Selection::default()
    };
    assert_eq!(labels(last_failed), ["render [other]"]);
}

#[tokio::test]
async fn stricter_options_fail_empty_rows_and_deferred_metrics() {
    let world = world();
    let options = Options {
        denies_empty: true,
        requires_evals: true,
        retries: 1,
        variables: Map::new(),
        jobs: 3,
        ..Options::default()
    };
    let (rows, _) = world.rows(&Selection::default(), &options).await;
    let summary = Summary::of(&rows);
    assert_eq!((summary.passed, summary.failed, summary.errors), (0, 3, 1));
    assert!(!summary.is_ok());
    assert!(rows.iter().all(|row| !row.flaky));
}

/// What the Jenkins schema of `JUnit` XML allows: elements, their attributes and their children.
const JUNIT: [(&str, &[&str], &[&str]); 7] = [
    (
        "testsuites",
        &[
            "name",
            "tests",
            "failures",
            "errors",
            "skipped",
            "time",
            "uuid",
            "timestamp",
        ],
        &["testsuite"],
    ),
    (
        "testsuite",
        &[
            "name",
            "tests",
            "failures",
            "errors",
            "skipped",
            "disabled",
            "time",
            "timestamp",
            "hostname",
        ],
        &["properties", "testcase", "system-out", "system-err"],
    ),
    (
        "testcase",
        &[
            "name",
            "classname",
            "time",
            "timestamp",
            "assertions",
            "status",
        ],
        &[
            "skipped",
            "failure",
            "error",
            "flakyFailure",
            "flakyError",
            "rerunFailure",
            "rerunError",
            "system-out",
            "system-err",
        ],
    ),
    ("failure", &["message", "type"], &[]),
    ("error", &["message", "type"], &[]),
    ("skipped", &["message", "type"], &[]),
    (
        "flakyFailure",
        &["message", "type", "time", "timestamp"],
        &["stackTrace", "system-out", "system-err"],
    ),
];

#[tokio::test]
async fn the_junit_report_fits_its_schema() {
    let world = world();
    let (mut rows, _) = world.rows(&Selection::default(), &Options::default()).await;
    rows[0].flaky = true;
    rows[1].reason = Some("control \u{1} and <tag> & \u{1f600}".to_owned());
    let xml = junit::xml(&rows).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    let mut seen = std::collections::BTreeSet::new();
    for element in root.descendants().filter(roxmltree::Node::is_element) {
        let name = element.tag_name().name();
        let (_, attributes, children) = JUNIT.iter().find(|(own, _, _)| *own == name).unwrap();
        for attribute in element.attributes() {
            assert!(
                attributes.contains(&attribute.name()),
                "{name} {}",
                attribute.name()
            );
        }
        for child in element.children().filter(roxmltree::Node::is_element) {
            assert!(
                children.contains(&child.tag_name().name()),
                "{name}: {child:?}"
            );
        }
        seen.insert(name);
    }
    assert_eq!(seen.len(), JUNIT.len(), "{seen:?}");
    let count = |name: &str| {
        root.descendants()
            .filter(|own| own.has_tag_name(name))
            .count()
    };
    let stated = |name: &str| root.attribute(name).unwrap().parse::<usize>().unwrap();
    assert_eq!(count("testcase"), stated("tests"));
    assert_eq!(
        (count("failure"), count("error")),
        (stated("failures"), stated("errors"))
    );
}
