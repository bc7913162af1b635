//! The names that `serve` lists workflow files under: over HTTP, over stdio, and where `names.prefix` sets them.

use crate::servers::{DEMO, listed};
use crate::support::{Running, onecall, run, serve};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;

const WORKFLOW: &str = "workflow: total\nsteps: { s: { tool: demo.add, with: { a: 1, b: 2 } } }\n";
const SPELLINGS: [&str; 3] = ["workflow:total", "workflow_total", "total"];

/// The paths of a workflow file and of a configuration with these names.
fn files(home: &Path, names: &str) -> [String; 2] {
    let config = format!("backends: {{}}\n{names}");
    let texts = [("total.workflow.yaml", WORKFLOW), ("onecall.yaml", &config)];
    texts.map(|(name, text)| {
        let file = home.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    })
}

/// The names listed over HTTP that end as the workflow's, and how many lines `serve` says about colons.
fn over_http(names: &str) -> (Vec<String>, usize) {
    let home = tempfile::tempdir().unwrap();
    let [workflow, config] = files(home.path(), names);
    let words = [&workflow, &config, "--backend", DEMO, "--ephemeral"];
    let (running, url) = serve(home.path(), &words);
    let lines = std::iter::repeat_with(|| running.line(|_| true));
    let lines = lines.take_while(|line| line != "client configuration:");
    let about_colons = lines.filter(|line| line.contains("colon")).count();
    let mut names = listed(&url).1;
    names.retain(|name| name.ends_with("total"));
    for name in &names {
        let called = run(home.path(), &["call", &url, name]);
        assert_eq!(called.code, Some(0), "{name}: {called:?}");
        assert!(called.out.contains('3'), "{name}: {called:?}");
    }
    (names, about_colons)
}

/// The answer to a request over stdio.
fn ask(running: &mut Running, id: u64, method: &str, params: &Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    writeln!(running.stdin.as_mut().unwrap(), "{request}").unwrap();
    let answer = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
    let line = running.line(|line| answer(line)["id"] == json!(id));
    answer(&line)["result"].clone()
}

/// The names listed over stdio that end as the workflow's.
fn over_stdio(names: &str) -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let [workflow, config] = files(home.path(), names);
    let words = ["serve", &workflow, &config, "--stdio", "--backend", DEMO];
    let words = [&words[..], &["--ephemeral"]].concat();
    let mut running = Running::start(onecall(home.path(), &words));
    let client = json!({ "name": "test", "version": "0" });
    let opening =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    ask(&mut running, 0, "initialize", &opening);
    let opened = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    writeln!(running.stdin.as_mut().unwrap(), "{opened}").unwrap();
    for (id, spelling) in (1..).zip(SPELLINGS) {
        let call = json!({ "name": spelling, "arguments": {} });
        let result = ask(&mut running, id, "tools/call", &call);
        assert!(result.to_string().contains('3'), "{spelling}: {result}");
        assert_ne!(result["isError"], json!(true), "{spelling}: {result}");
    }
    let list = ask(&mut running, 9, "tools/list", &json!({}));
    let tools = list["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.ends_with("total")).collect()
}

#[test]
fn http_lists_a_colon_and_says_so_once() {
    assert_eq!(over_http(""), (vec!["workflow:total".to_owned()], 1));
}

#[test]
fn stdio_lists_no_colon() {
    assert_eq!(over_stdio(""), ["workflow_total"]);
}

#[test]
fn the_configuration_sets_both() {
    let names = "names: { prefix: p_ }\n";
    assert_eq!(over_http(names), (vec!["p_total".to_owned()], 0));
    assert_eq!(over_stdio(names), ["p_total"]);
}
