//! Suites as a user runs them: the examples of the mcptest page, live against scripted tools and mocked.

use crate::support::{Ran, root, run};
use serde_json::{Value, json};
use std::path::Path;

/// Answers as the page describes them.
fn answers(home: &Path) -> String {
    let answers = json!({
        "search_packages": {
            "top_hit": { "name": "mcptest" }, "count": 1, "name": "mcptest",
            "hits": [{ "name": "a", "score": 1 }, { "name": "b" }, { "name": "c" }],
        },
        "get_readme": { "body": "# mcptest" },
        "get_stats": { "downloads": 5 },
        "get_stars": { "count": 12 },
        "get_release": { "tag": "v1.3.0" },
        "fetch_metadata": [{ "meta": "first" }, { "meta": "second" }, { "meta": "third" }],
    });
    let path = home.join("answers.json");
    std::fs::write(&path, answers.to_string()).unwrap();
    path.display().to_string()
}

/// Calls a composition of an example, unedited, with one backend beside it.
fn example(name: &str, words: &[&str]) -> Ran {
    let home = tempfile::tempdir().unwrap();
    let backend = format!(
        "--backend=packages=onecall demo --answers {}",
        answers(home.path())
    );
    let suite = format!("tests/cases/seeds/mcptest-{name}.yaml");
    let mut all = vec!["call", suite.as_str()];
    all.extend(words);
    all.extend([backend.as_str(), "--ephemeral"]);
    run(home.path(), &all)
}

fn output(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

#[test]
fn the_examples_of_the_page_run_live() {
    let readme = json!({ "body": "# mcptest" });
    assert_eq!(output(&example("anatomy", &["render-top-readme"])), readme);
    assert_eq!(output(&example("transform", &["transform"])), readme);
    assert_eq!(output(&example("when", &["when"])), readme);
    let metas = json!([{ "meta": "first" }, { "meta": "second" }, { "meta": "third" }]);
    assert_eq!(output(&example("for-each", &["for-each"])), metas);
    let found = output(&example("cases", &["parametric", "query=mcp", "limit:=1"]));
    assert_eq!(found["count"], 1);
    assert_eq!(output(&example("output-node", &["single-node"])), readme);
    let assembled = json!({ "stars": 12, "release": "v1.3.0" });
    assert_eq!(
        output(&example("output-assemble", &["assembly"])),
        assembled
    );
    assert_eq!(
        output(&example("eval", &["judged", "query=mcp"]))["count"],
        1
    );
    assert_eq!(output(&example("budget", &["gated"]))["count"], 1);
    assert_eq!(output(&example("expect", &["spend"]))["count"], 1);
}

#[test]
fn a_mocked_suite_runs_offline_and_tells_its_trace() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("trace.json");
    let trace = format!("--trace={}", file.display());
    let words = [
        "call",
        "tests/cases/seeds/mcptest-mock.yaml",
        "mock",
        &trace,
        "--ephemeral",
    ];
    let ran = run(home.path(), &words);
    assert_eq!(output(&ran), json!({ "body": "# mcptest" }));
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(trace["ran"], true);
    assert_eq!(trace["order"], json!(["search", "readme"]));
    let readme = json!({
        "id": "readme", "status": "ok", "duration_ms": 0,
        "inputs": { "package": "mcptest" }, "output": { "body": "# mcptest" },
    });
    assert_eq!(trace["nodes"]["readme"], readme);
}

#[test]
fn a_failed_node_is_an_error_and_skips_what_needs_it() {
    let home = tempfile::tempdir().unwrap();
    let suite = home.path().join("suite.yaml");
    let text = "servers: {d: {command: [onecall, demo]}}\ncompositions:\n- name: c\n  nodes:\n  - {id: bad, tool: fail}\n  - {id: after, needs: [bad], tool: echo, args: {text: \"${bad}\"}}\n  - {id: other, tool: echo, args: {text: hi}}\n  output: other\n";
    std::fs::write(&suite, text).unwrap();
    let path = suite.display().to_string();
    let ran = run(home.path(), &["call", &path, "c", "--trace", "--ephemeral"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let mut documents = serde_json::Deserializer::from_str(&ran.out).into_iter::<Value>();
    let failure = documents.next().unwrap().unwrap();
    assert_eq!(failure["code"], "tool.error");
    let trace = documents.next().unwrap().unwrap();
    assert_eq!(trace["ran"], false);
    let statuses = ["bad", "after", "other"].map(|id| trace["nodes"][id]["status"].clone());
    assert_eq!(statuses, ["err", "skipped", "ok"]);
    assert_eq!(trace["nodes"]["after"]["inputs"], Value::Null);
}

#[test]
fn suites_are_checked_drawn_and_converted() {
    let home = tempfile::tempdir().unwrap();
    let suite = "tests/cases/seeds/mcptest-for-each.yaml";
    let checked = run(home.path(), &["check", suite]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.out.contains("1 workflow, 1 file: no faults"),
        "{checked:?}"
    );
    let drawn = run(home.path(), &["graph", suite, "for-each"]);
    assert!(drawn.out.contains("enrich"), "{drawn:?}");
    let converted = run(home.path(), &["convert", suite, "--to", "native"]);
    assert!(
        converted
            .out
            .starts_with("# from tests/cases/seeds/mcptest-for-each.yaml:3"),
        "{converted:?}"
    );
    let file = home.path().join("converted.yaml");
    std::fs::write(&file, &converted.out).unwrap();
    let again = run(
        home.path(),
        &["check", "--print", &file.display().to_string()],
    );
    let before = run(home.path(), &["check", "--print", suite]);
    // What is published under which name differs; what it means may not.
    let printed = |out: &str| out.split_once("\nworkflow ").unwrap().1.to_owned();
    assert_eq!(printed(&again.out), printed(&before.out));
    assert!(root().join(suite).exists());
}
