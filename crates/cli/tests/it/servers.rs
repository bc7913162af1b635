//! Files with several servers, and the flags that add backends and pick a server.

use crate::http;
use crate::support::{Running, onecall, run, serve};
use serde_json::json;
use std::path::Path;

/// Two servers on one group, each with its own definition.
const TWO: &str = r"
apiVersion: toolhive.stacklok.dev/v1beta1
kind: VirtualMCPServer
metadata: {name: alpha}
spec: {groupRef: g, compositeToolRefs: [{name: first}]}
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: VirtualMCPServer
metadata: {name: beta}
spec: {groupRef: g, compositeToolRefs: [{name: second}]}
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: VirtualMCPCompositeToolDefinition
metadata: {name: first}
spec: {name: first, description: one, steps: [{id: s, tool: demo.add, arguments: {a: 1, b: 2}}]}
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: VirtualMCPCompositeToolDefinition
metadata: {name: second}
spec: {name: second, description: two, steps: [{id: s, tool: demo.add, arguments: {a: 3, b: 4}}]}
";

pub(crate) const DEMO: &str = "demo=onecall demo";

fn written(home: &Path) -> String {
    let file = home.join("two.yaml");
    std::fs::write(&file, TWO).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The names that a stateless `tools/list` at this URL gives, and the status.
pub(crate) fn listed(url: &str) -> (u16, Vec<String>) {
    let answer = http::modern(url, "tools/list", json!({}));
    if answer.status != 200 {
        return (answer.status, Vec::new());
    }
    let result = answer.result();
    let names = result["tools"].as_array().into_iter().flatten();
    let names = names.map(|tool| tool["name"].as_str().unwrap().to_owned());
    (answer.status, names.collect())
}

#[test]
fn several_servers_stand_under_their_names() {
    let home = tempfile::tempdir().unwrap();
    let file = written(home.path());
    let (running, first) = serve(home.path(), &[&file, "--backend", DEMO, "--ephemeral"]);
    let second = running.line(|line| line.contains(" at http://"));
    let second = second.split(" at ").nth(1).unwrap();
    assert!(
        first.ends_with("/alpha/mcp") && second.ends_with("/beta/mcp"),
        "{first} {second}"
    );
    let (alpha, beta) = (listed(&first).1, listed(second).1);
    let has = |list: &[String], name: &str| list.iter().any(|own| own == name);
    assert!(has(&alpha, "first") && !has(&alpha, "second"), "{alpha:?}");
    assert!(has(&beta, "second") && !has(&beta, "first"), "{beta:?}");
    let root = first.replace("/alpha", "");
    assert_eq!(listed(&root).0, 404, "nothing stands at the root");
}

#[test]
fn each_server_names_the_file_of_its_own_workflow() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let text = format!(
            "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {{name: {name}}}\n\
             spec: {{groupRef: g, config: {{compositeTools: [{{name: hi, description: {name}, \
             steps: [{{id: s, tool: demo.add, arguments: {{a: 1, b: 2}}}}]}}]}}}}\n"
        );
        let path = home.path().join(format!("{name}.yaml"));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (one, two) = (file("one"), file("two"));
    let flags = ["--backend", DEMO, "--ephemeral", "--port", "0"];
    let words = [&["serve", &one, &two][..], &flags].concat();
    let serving = Running::start(onecall(home.path(), &words));
    for (name, file) in [("one", one), ("two", two)] {
        let line = serving.line(|line| line.starts_with("workflow  hi "));
        assert_eq!(line, format!("workflow  hi  (from {file})  {name}"));
    }
}

#[test]
fn the_flag_picks_a_server() {
    let home = tempfile::tempdir().unwrap();
    let file = written(home.path());
    let (running, url) = serve(
        home.path(),
        &[&file, "--backend", DEMO, "--server", "beta", "--ephemeral"],
    );
    assert!(
        url.ends_with("/mcp") && !url.contains("beta"),
        "one server stands at the root: {url}"
    );
    drop(running);
    let none = run(home.path(), &["call", &file, "second", "--backend", DEMO]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.err.contains("`alpha`, `beta`"), "{}", none.err);
    let picked = run(
        home.path(),
        &[
            "call",
            &file,
            "second",
            "--backend",
            DEMO,
            "--server",
            "beta",
            "--ephemeral",
        ],
    );
    assert_eq!(picked.code, Some(0), "{picked:?}");
    assert!(picked.out.contains('7'), "{}", picked.out);
    let unknown = run(home.path(), &["check", &file, "--server", "gamma"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let stdio = run(home.path(), &["serve", &file, "--stdio", "--backend", DEMO]);
    assert_eq!(stdio.code, Some(2), "{stdio:?}");
}

#[test]
fn flags_give_backends() {
    let home = tempfile::tempdir().unwrap();
    let file = written(home.path());
    let without = run(home.path(), &["check", &file, "--deny-warnings"]);
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(
        without.err.contains("--backend demo=URL"),
        "{}",
        without.err
    );
    let with = run(
        home.path(),
        &["check", &file, "--deny-warnings", "--backend", DEMO],
    );
    assert_eq!(with.code, Some(0), "{with:?}");
    let list = home.path().join("mcp.json");
    let servers = json!({ "mcpServers": { "demo": { "command": "onecall", "args": ["demo"] } } });
    std::fs::write(&list, servers.to_string()).unwrap();
    let tools = run(
        home.path(),
        &["tools", "--mcp-config", list.to_str().unwrap()],
    );
    assert_eq!(tools.code, Some(0), "{tools:?}");
    assert!(tools.out.contains("demo_add"), "{}", tools.out);
    for wrong in ["demo", "demo=", "demo='x"] {
        let ran = run(home.path(), &["check", &file, "--backend", wrong]);
        assert_eq!(ran.code, Some(2), "{wrong}: {ran:?}");
    }
    let bad = run(home.path(), &["check", &file, "--backend", "a b=x"]);
    assert_eq!(bad.code, Some(1), "{bad:?}");
    assert!(bad.err.contains("--backend a b:1:"), "{}", bad.err);
}

#[test]
fn limits_of_the_configuration_hold() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("onecall.yaml");
    let text = "backends: {demo: {command: onecall, args: [demo]}}\nlimits: {argument_bytes: 10, body_bytes: 64}\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let long = run(
        home.path(),
        &[
            "call",
            file,
            "demo_add",
            "a:=1000000",
            "b:=2",
            "--ephemeral",
        ],
    );
    assert_eq!(long.code, Some(1), "{long:?}");
    assert!(long.err.contains("10"), "{}", long.err);
    let (_running, url) = serve(home.path(), &[file, "--ephemeral"]);
    assert_eq!(listed(&url).0, 413, "the body is longer than 64 bytes");
}
