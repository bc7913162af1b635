//! `onecall test` as a user runs it: against a live backend, with its reports, selections and exit codes.

use crate::support::{Ran, Running, onecall, run, until};
use serde_json::{Value, json};
use std::path::Path;

const SUITE: &str = r#"
servers:
  packages: {command: [onecall, demo, --answers, ANSWERS]}
compositions:
  - name: render
    tags: [live]
    nodes:
      - {id: search, tool: search_packages, args: {query: "${var.q}"}}
      - {id: text, needs: [search], tool: get_readme, args: {package: "${search.top_hit.name}"}}
    output: text
    expect: [{target: nodes.search.output.count, matcher: {gte: 1}}]
    cases:
      - {name: same, vars: {q: a}, golden: {body: a text}}
      - {name: other, vars: {q: b}, golden: {body: b text}}
  - name: shape
    nodes: [{id: a, tool: t, mock: {result: {x: 1}}}]
    expect: [{target: nodes.a.output.x, matcher: {exact: 1.0}}]
"#;

fn suite(home: &Path) -> String {
    let answers = json!({
        "search_packages": { "top_hit": { "name": "a" }, "count": 1 },
        "get_readme": { "body": "a text" },
    });
    let file = home.join("answers.json");
    std::fs::write(&file, answers.to_string()).unwrap();
    let suite = home.join("suite.yaml");
    let text = SUITE.replace("ANSWERS", &file.display().to_string());
    std::fs::write(&suite, text).unwrap();
    suite.display().to_string()
}

fn test(home: &Path, words: &[&str]) -> Ran {
    let suite = suite(home);
    let mut all = vec!["test", suite.as_str()];
    all.extend(words);
    run(home, &all)
}

#[test]
fn live_rows_pass_and_fail_by_their_assertions() {
    let home = tempfile::tempdir().unwrap();
    let ran = test(home.path(), &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], "composition [PASS] render [same]");
    assert_eq!(lines[1], "composition [FAIL] render [other]");
    let difference = [
        "        output.body",
        "          - \"b text\"",
        "          + \"a text\"",
    ];
    assert_eq!(lines[3..6], difference);
    assert_eq!(lines[6], "composition [PASS] shape");
    assert_eq!(lines[7], "ran 3 composition(s): 2 passed, 1 failed");

    let again = test(home.path(), &["--last-failed", "--reporter", "json"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    let rows = again.json()["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["case"], "other");
    assert_eq!(rows[0]["trace"]["nodes"]["search"]["output"]["count"], 1);

    let passing = test(home.path(), &["--case", "same", "--case", "none"]);
    assert_eq!(passing.code, Some(0), "{passing:?}");
}

#[test]
fn a_report_goes_to_a_file() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("report.xml");
    let path = file.display().to_string();
    let ran = test(home.path(), &["--format", "junit", "--output", &path]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    let xml = std::fs::read_to_string(file).unwrap();
    assert!(
        xml.contains("tests=\"3\" skipped=\"0\" failures=\"1\" errors=\"0\""),
        "{xml}"
    );
}

#[test]
fn rows_are_listed_and_selecting_none_is_an_error_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let ran = test(home.path(), &["--list", "--tag", "live"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let labels: Vec<&str> = ran
        .out
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(_, label)| label)
        .collect();
    assert_eq!(labels, ["render [same]", "render [other]"]);
    let none = test(home.path(), &["--filter", "nothing"]);
    assert_eq!(none.code, Some(4), "{none:?}");
    assert!(none.err.contains("--list"), "{none:?}");
}

#[test]
fn mistakes_in_assertions_are_reported_before_anything_runs() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("suite.yaml");
    let text = "compositions:\n- name: c\n  nodes: [{id: a, tool: t, mock: {result: 1}}]\n  expect:\n  - {target: output, matcher: {exakt: 1}}\n  - {target: \"a..b\", matcher: {regex: \"(\"}}\n";
    std::fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    for command in ["test", "check"] {
        let ran = run(home.path(), &[command, &path]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        for code in ["WF511", "WF512", "WF513"] {
            assert!(ran.err.contains(code), "{command}: {code}: {ran:?}");
        }
        assert!(!ran.out.contains("PASS"), "{ran:?}");
    }
    let call = run(home.path(), &["call", &path, "c", "--ephemeral"]);
    assert_eq!(
        (call.code, call.json()),
        (Some(0), Value::from(1)),
        "assertions do not keep a composition from running"
    );
}

#[test]
fn two_suites_may_declare_a_server_of_the_same_name() {
    let home = tempfile::tempdir().unwrap();
    let first = suite(home.path());
    let second = home.path().join("second.yaml");
    std::fs::write(&second, std::fs::read_to_string(&first).unwrap()).unwrap();
    let second = second.display().to_string();
    let ran = run(home.path(), &["test", &first, &second, "--case", "same"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out.contains("ran 2 composition(s): 2 passed, 0 failed"),
        "{ran:?}"
    );
}

/// A suite whose only server is the program that `word` names.
fn taped(home: &Path, word: &str) -> String {
    suite(home);
    let answers = home.join("answers.json");
    let text = format!(
        "servers:\n  packages: {{command: [{word:?}, demo, --answers, {:?}]}}\n  down: {{command: [/nowhere/at-all]}}\ncompositions:\n- name: c\n  nodes:\n  - {{id: a, server: packages, tool: get_readme, args: {{package: x}}}}\n  - {{id: b, server: down, tool: t, freeze: golden}}\n  output: a\n  expect: [{{target: output.body, matcher: {{exact: a text}}}}, {{target: nodes.b.status, matcher: {{exact: err}}}}]\n",
        answers.display()
    );
    let file = home.join("taped.yaml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn a_recorded_suite_is_replayed_without_its_server() {
    let home = tempfile::tempdir().unwrap();
    let file = taped(home.path(), "${PROGRAM_OF_THE_TEST:-onecall}");
    let recorded = run(home.path(), &["test", &file, "--record"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    assert!(home.path().join("taped.cassettes/packages.json").is_file());
    let file = taped(home.path(), "/nowhere/at-all");
    let replayed = run(home.path(), &["test", &file, "--replay"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    let live = run(home.path(), &["test", &file, "--format", "json"]);
    assert_eq!(live.code, Some(1), "{live:?}");
    let row = &live.json()["rows"][0];
    assert_eq!(row["verdict"], "fail");
    assert_eq!(row["trace"]["nodes"]["a"]["status"], "err");
    let text = "\"version\": \"9\"";
    std::fs::write(
        home.path().join("taped.cassettes/packages.json"),
        format!("{{{text}}}"),
    )
    .unwrap();
    let broken = run(home.path(), &["test", &file, "--replay"]);
    assert_eq!(broken.code, Some(1), "{broken:?}");
    assert!(
        broken.err.contains("packages.json` cannot be used"),
        "{broken:?}"
    );
}

#[test]
fn suites_workflows_and_tests_are_listed_with_their_descriptions() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("flows");
    std::fs::create_dir(&directory).unwrap();
    let suite = "compositions:\n- name: render\n  description: Renders a readme\n  tags: [live]\n  nodes: [{id: a, tool: t, mock: {result: 1}}]\n  cases: [{name: one}, {name: two}]\n";
    std::fs::write(directory.join("suite.yaml"), suite).unwrap();
    let workflow = "workflow: release\ndescription: Releases it\nsteps: {s: {tool: b.t}}\n";
    std::fs::write(directory.join("release.workflow.yaml"), workflow).unwrap();
    let path = directory.display().to_string();
    let ran = run(home.path(), &["list", &path]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    let expected = [
        format!("{path}/release.workflow.yaml"),
        "  workflow release: Releases it".to_owned(),
        format!("suite {path}/suite.yaml"),
        "  test render: Renders a readme".to_owned(),
        "    case one".to_owned(),
        "    case two".to_owned(),
    ];
    assert_eq!(lines, expected);
    let told = run(home.path(), &["list", &path, "--json"]).json();
    assert_eq!(told["files"][0]["workflows"][0]["name"], "release");
    let test = &told["files"][1]["tests"][0];
    assert_eq!(
        test,
        &json!({"name": "render", "description": "Renders a readme", "tags": ["live"], "cases": ["one", "two"]})
    );
    std::fs::write(directory.join("suite.yaml"), "compositions: 1\n").unwrap();
    let broken = run(home.path(), &["list", &path]);
    assert_eq!(broken.code, Some(1), "{broken:?}");
    assert!(broken.out.contains("release"), "{broken:?}");
}

#[test]
fn a_watched_suite_runs_again_when_its_file_changes() {
    let home = tempfile::tempdir().unwrap();
    let suites = home.path().join("suites");
    std::fs::create_dir(&suites).unwrap();
    let file = suites.join("suite.yaml");
    let log = home.path().join("log");
    let suite = |expected: u32| {
        let text = format!(
            "compositions:\n- name: c\n  nodes: [{{id: a, tool: t, mock: {{result: 1}}}}]\n  expect: [{{target: output, matcher: {{exact: {expected}}}}}]\n"
        );
        std::fs::write(&file, text).unwrap();
    };
    suite(10);
    let directory = suites.display().to_string();
    let report = suites.join("report.json").display().to_string();
    let words = ["test", &directory, "--watch", "--output", &report];
    let log_file = std::fs::File::create(&log).unwrap();
    let mut watching = Running::logging(onecall(home.path(), &words), log_file.into());
    let reports = |line: &str| {
        until(line, || {
            let text = std::fs::read_to_string(&report).ok()?;
            text.contains(line).then_some(())
        });
    };
    reports("ran 1 composition(s): 0 passed, 1 failed");
    suite(1);
    reports("ran 1 composition(s): 1 passed, 0 failed");
    watching.interrupt();
    assert_eq!(watching.wait(), Some(130));
    let log = std::fs::read_to_string(log).unwrap();
    let changed = log.lines().filter(|line| line.starts_with("changed: "));
    let changed: Vec<&str> = changed.collect();
    assert_eq!(changed, [format!("changed: {}", file.display())], "{log}");
}

#[test]
fn rows_that_ended_are_reported_when_a_test_is_interrupted() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("suite.yaml");
    let text = "servers: {b: {command: [onecall, demo, --ledger, LEDGER]}}\ncompositions:\n- name: quick\n  nodes: [{id: a, tool: t, mock: {result: 1}}]\n  expect: [{target: output, matcher: {exact: 2}}]\n- name: slow\n  nodes: [{id: a, tool: echo, args: {text: begun}}, {id: b, needs: [a], tool: slow, args: {ms: 25000}}]\n- name: later\n  nodes: [{id: a, tool: t, mock: {result: 1}}]\n";
    let ledger = home.path().join("ledger");
    let text = text.replace("LEDGER", &ledger.display().to_string());
    std::fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    let mut running = Running::start(onecall(home.path(), &["test", &path]));
    running.line(|line| line == "composition [FAIL] quick");
    running.interrupt();
    running.line(|line| line == "ran 1 composition(s): 0 passed, 1 failed");
    assert_eq!(running.wait(), Some(130));

    let _ = std::fs::remove_file(&ledger);
    let report = home.path().join("report.xml");
    let words = ["test", &path, "--format", "junit", "--output"];
    let mut words = words.to_vec();
    let shown = report.display().to_string();
    words.push(&shown);
    let mut running = Running::start(onecall(home.path(), &words));
    until("the slow call", || {
        let text = std::fs::read_to_string(&ledger).ok()?;
        text.contains("echo").then_some(())
    });
    running.interrupt();
    assert_eq!(running.wait(), Some(130));
    let xml = std::fs::read_to_string(report).unwrap();
    assert!(xml.contains("tests=\"1\""), "{xml}");
    let last = run(home.path(), &["test", &path, "--last-failed", "--list"]);
    assert_eq!(last.out.trim(), format!("{path}: quick"), "{last:?}");
}

#[test]
fn the_report_can_have_the_form_of_the_program() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("suite.yaml");
    let text = r#"compositions:
- name: judged
  nodes: [{id: a, tool: t, mock: {result: 1}}]
  eval: {mcp_use: {}}
- name: broken
  nodes:
  - {id: z, tool: t, mock: {result: 1}, transform: {jq: error("no")}}
  - {id: b, needs: [z], tool: t, mock: {result: 1}}
  expect:
  - {target: nodes.z.status, matcher: {exact: err}}
  - {target: nodes.b.output, matcher: {exact: 1}}
- name: lonely
  nodes: [{id: z, tool: t, mock: {result: 1}, transform: {jq: error("no")}}]
- name: quiet
  nodes:
  - {id: a, tool: t, when: "false", mock: {result: 1}}
  - {id: b, needs: [a], tool: t, mock: {result: 1}}
  expect: [{target: composition.ran, matcher: {exact: false}}]
"#;
    std::fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    let ran = run(home.path(), &["test", &path, "--compat", "mcptest-1.3"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    let expected = [
        "composition `judged` eval: deferred (judged metrics need a model provider)",
        "composition [PASS] judged",
        "composition [PASS] broken",
        "    node `z` failed: transform: the jq program failed: no",
        "    node `b` skipped: an upstream node did not complete",
        "composition [FAIL] lonely",
        "    node `z` failed: transform: the jq program failed: no",
        "composition [FAIL] quiet",
        "    expect #0: `composition.ran` expected exact false, got true",
        "ran 4 composition(s): 2 passed, 2 failed",
    ];
    assert_eq!(lines, expected, "{}", ran.out);
}
