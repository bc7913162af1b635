//! The road from file to client: check, call, serve, a client that is not ours, runs that outlive a process.

use crate::http;
use crate::support::{Running, composite, onecall, program, root, run, serve, until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn greeting() -> Value {
    json!({ "greeting": "Hello, Ada!", "letters": 11 })
}

#[test]
fn check_accepts_the_example() {
    let home = home();
    let ran = run(home.path(), &["check", "examples/hello"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn check_reports_every_fault_with_place_reason_and_fix() {
    let home = home();
    let text = std::fs::read_to_string(root().join("examples/hello/hello.yaml")).unwrap();
    let faulty = text
        .replace(
            ".steps.hello.output.text }}\", b",
            ".steps.helo.output.text }}\", b",
        )
        .replace("type: integer", "type: intger")
        .replace(
            "arguments: { ms: 300, text: left }",
            "argument: { ms: 300, text: left }",
        );
    let path = home.path().join("faulty.yaml");
    std::fs::write(&path, faulty).unwrap();
    let ran = run(home.path(), &["check", path.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.err.matches("error[WF").count(), 3, "{}", ran.err);
    assert_eq!(ran.err.matches("faulty.yaml:").count(), 3, "{}", ran.err);
    assert!(ran.err.matches("help: ").count() >= 3, "{}", ran.err);
}

#[test]
fn call_prints_the_result_and_its_progress_apart() {
    let home = home();
    let ran = run(home.path(), &["call", "examples/hello", "greet", "who=Ada"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json(), greeting());
    assert!(
        ran.err.contains("✓ hello") && ran.err.contains("✓ letters"),
        "{}",
        ran.err
    );
}

#[test]
fn call_names_a_tool_that_is_near() {
    let home = home();
    let ran = run(home.path(), &["call", "examples/hello", "gret", "who=Ada"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.err.contains("a tool named `greet` exists"),
        "{}",
        ran.err
    );
}

fn python_client(era: &str, server: &str) -> Value {
    let Some(python) = std::env::var_os("ONECALL_TEST_PYTHON") else {
        panic!("run `cargo xtask test skeleton`, which obtains the client");
    };
    let script = root().join("tests/clients/call.py");
    let output = Command::new(python)
        .arg(script)
        .args([era, server, "greet", r#"{"who":"Ada"}"#])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{errors}"))
}

fn assert_greets(answer: &Value, protocol: &str) {
    assert_eq!(answer["protocol"], protocol, "{answer}");
    assert_eq!(answer["structured"], greeting(), "{answer}");
    assert_eq!(answer["is_error"], false, "{answer}");
    let tools = answer["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("greet")), "{answer}");
}

#[test]
fn python_client_calls_over_http_in_both_eras() {
    let home = home();
    let (_server, url) = serve(home.path(), &["examples/hello"]);
    assert_greets(&python_client("auto", &url), "2026-07-28");
    assert_greets(&python_client("legacy", &url), "2025-11-25");
}

#[test]
fn python_client_calls_over_stdio_in_both_eras() {
    let home = home();
    let hello = root().join("examples/hello");
    let store = home.path().join("stdio.db");
    let (hello, store) = (hello.to_str().unwrap(), store.to_str().unwrap());
    let command = json!([program(), "serve", hello, "--stdio", "--store", store]).to_string();
    assert_greets(&python_client("auto", &command), "2026-07-28");
    assert_greets(&python_client("legacy", &command), "2025-11-25");
}

#[test]
fn two_slow_steps_run_side_by_side() {
    let home = home();
    let ran = run(home.path(), &["call", "examples/hello", "side_by_side"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = run(home.path(), &["runs", "show", "last", "--json"]).json();
    let millis = |value: &Value| value.as_u64().unwrap();
    let took = millis(&shown["summary"]["ended_ms"]) - millis(&shown["summary"]["created_ms"]);
    // The steps take 300 ms each; one after the other would be twice that.
    assert!(took < 450, "the run took {took} ms");
    let text = run(home.path(), &["runs", "show", "last"]).out;
    for part in [
        "left",
        "right",
        "arguments {\"ms\":300",
        "1 attempt",
        "took",
        "returned",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}

/// A workflow of three slow writes, each of which leaves a line in the ledger.
fn durable_files(folder: &Path, tool: &str) -> (PathBuf, PathBuf) {
    let arguments = |name: &str| match tool {
        "put" => format!("{{ key: {name}, value: {name}, before_ms: 400, after_ms: 400 }}"),
        _ => format!("{{ text: {name}, before_ms: 0, after_ms: 800 }}"),
    };
    let step = |name: &str, needs: &str| {
        let arguments = arguments(name);
        format!(
            "      - id: {name}\n        tool: demo_{tool}\n        arguments: {arguments}\n{needs}"
        )
    };
    let tools = format!(
        "  - name: chain\n    description: Three writes\n    steps:\n{}{}{}",
        step("one", ""),
        step("two", "        dependsOn: [one]\n"),
        step("three", "        dependsOn: [two]\n"),
    );
    let file = PathBuf::from(composite(folder, &tools));
    (file, folder.join("ledger.txt"))
}

fn ledger_keys(ledger: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(ledger).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split(' ').nth(1))
        .map(str::to_owned)
        .collect()
}

fn runs(home: &Path, store: &Path) -> Vec<Value> {
    let ran = run(
        home,
        &["runs", "list", "--json", "--store", store.to_str().unwrap()],
    );
    ran.json().as_array().cloned().unwrap_or_default()
}

fn phase(home: &Path, store: &Path) -> String {
    let runs = runs(home, store);
    runs.first()
        .and_then(|run| run["phase"].as_str())
        .unwrap_or("none")
        .to_owned()
}

/// Calls `chain` through a server that is killed while its second step is under way.
fn kill_in_second_step(home: &Path, file: &Path, ledger: &Path, store: &Path) {
    let words = [file.to_str().unwrap(), "--store", store.to_str().unwrap()];
    let (mut server, url) = serve(home, &words);
    let call = json!({ "name": "chain", "arguments": {} });
    let caller = http::send_modern(&url, "tools/call", call).unwrap();
    until("the first write", || {
        (ledger_keys(ledger).len() == 1).then_some(())
    });
    until("the second step", || {
        let shown = run(
            home,
            &["runs", "show", "last", "--json", "--store", words[2]],
        );
        let shown: Value = serde_json::from_str(&shown.out).ok()?;
        (shown["steps"][1]["status"] == "running").then_some(())
    });
    if store.with_extension("after-effect").exists() {
        until("the second write", || {
            (ledger_keys(ledger).len() == 2).then_some(())
        });
    }
    server.kill();
    drop(caller);
}

fn assert_each_key_once(ledger: &Path, count: usize) {
    let mut keys = ledger_keys(ledger);
    assert_eq!(keys.len(), count, "{keys:?}");
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count, "a key stands twice");
}

#[test]
fn a_killed_run_goes_on_where_its_tools_may_be_repeated() {
    let home = home();
    let (file, ledger) = durable_files(home.path(), "put");
    let store = home.path().join("runs.db");
    // Killed before the effect of step two: the repeated call is the first that acts.
    kill_in_second_step(home.path(), &file, &ledger, &store);
    assert_eq!(ledger_keys(&ledger).len(), 1);
    let words = [file.to_str().unwrap(), "--store", store.to_str().unwrap()];
    let (_server, _) = serve(home.path(), &words);
    until("the end of the run", || {
        (phase(home.path(), &store) == "completed").then_some(())
    });
    assert_each_key_once(&ledger, 3);
}

#[test]
fn a_killed_run_is_held_where_its_tool_may_not_be_repeated() {
    let home = home();
    let (file, ledger) = durable_files(home.path(), "append");
    let store = home.path().join("runs.db");
    std::fs::write(store.with_extension("after-effect"), "").unwrap();
    kill_in_second_step(home.path(), &file, &ledger, &store);
    let words = [file.to_str().unwrap(), "--store", store.to_str().unwrap()];
    let (_server, _) = serve(home.path(), &words);
    until("the run to be held", || {
        (phase(home.path(), &store) == "held").then_some(())
    });
    let answer = [
        "runs",
        "answer",
        "last",
        "two",
        "--result",
        r#"{"seen":true}"#,
        "--store",
        words[2],
    ];
    let told = run(home.path(), &answer);
    assert_eq!(told.code, Some(0), "{told:?}");
    until("the end of the run", || {
        (phase(home.path(), &store) == "completed").then_some(())
    });
    assert_each_key_once(&ledger, 3);
}

#[test]
fn two_processes_on_one_store_finish_a_run_exactly_once() {
    let home = home();
    let (file, ledger) = durable_files(home.path(), "put");
    let store = home.path().join("runs.db");
    let (file, store_text) = (file.to_str().unwrap(), store.to_str().unwrap());
    let words = ["serve", file, "--stdio", "--store", store_text];
    let mut first = Running::start(onecall(home.path(), &words));
    let _second = Running::start(onecall(home.path(), &words));
    let client = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" } });
    first.write(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client }));
    first.line(|line| line.contains("\"id\":0"));
    first.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let call = json!({ "name": "chain", "arguments": {} });
    first.write(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }));
    // Step two has begun, and waits before its effect: what is repeated acts for the first time.
    until("the second step", || {
        let shown = run(
            home.path(),
            &["runs", "show", "last", "--json", "--store", store_text],
        );
        let shown: Value = serde_json::from_str(&shown.out).ok()?;
        (shown["steps"][1]["status"] == "running").then_some(())
    });
    first.kill();
    until("the end of the run", || {
        (phase(home.path(), &store) == "completed").then_some(())
    });
    assert_eq!(runs(home.path(), &store).len(), 1);
    assert_each_key_once(&ledger, 3);
}

#[test]
fn a_run_goes_on_only_against_the_backends_it_was_bound_to() {
    let home = home();
    let (file, ledger) = durable_files(home.path(), "put");
    let store = home.path().join("runs.db");
    kill_in_second_step(home.path(), &file, &ledger, &store);
    let other = home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    // The same names, but another backend behind them.
    let (other_file, other_ledger) = durable_files(&other, "put");
    let store_text = store.to_str().unwrap();
    let (_other, _) = serve(
        home.path(),
        &[other_file.to_str().unwrap(), "--store", store_text],
    );
    // A one-shot call takes up nothing either, and by its end the server has looked around.
    let greeted = ["call", "examples/hello", "greet", "--store", store_text];
    for _ in 0..3 {
        assert_eq!(run(home.path(), &greeted).code, Some(0));
    }
    assert_eq!(ledger_keys(&other_ledger).len(), 0);
    let (_server, _) = serve(
        home.path(),
        &[file.to_str().unwrap(), "--store", store_text],
    );
    until("the end of the run", || {
        let chains: Vec<Value> = runs(home.path(), &store)
            .into_iter()
            .filter(|run| run["workflow"] == "chain")
            .collect();
        (chains.len() == 1 && chains[0]["phase"] == "completed").then_some(())
    });
    assert_each_key_once(&ledger, 3);
    assert_eq!(ledger_keys(&other_ledger).len(), 0);
}
