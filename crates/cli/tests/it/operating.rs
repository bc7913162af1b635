//! What an operator sets and sees of a server: how long calls wait, what is logged, how it leaves.

use crate::http;
use crate::support::{Running, onecall, serving};
use serde_json::{Value, json};
use std::path::Path;

/// Workflows over the demo backend: one that is quick, one that lasts, one that fails.
fn settle(home: &Path, more: &str) {
    let files = [
        (
            "onecall.yaml",
            format!("backends: {{demo: {{command: onecall, args: [demo]}}}}\nworkflows: [quick.workflow.yaml, slow.workflow.yaml, wrong.workflow.yaml]\n{more}"),
        ),
        (
            "quick.workflow.yaml",
            "workflow: quick\ninputs: {secret: string}\nsteps:\n  say: {tool: demo.echo, with: {text: \"${{ .inputs.secret }}\"}}\n".to_owned(),
        ),
        (
            "slow.workflow.yaml",
            "workflow: slow\nsteps:\n  wait: {tool: demo.slow, with: {ms: 60000}}\n".to_owned(),
        ),
        (
            "wrong.workflow.yaml",
            "workflow: wrong\ninputs: {secret: string}\nsteps:\n  break: {tool: demo.fail, with: {message: \"${{ .inputs.secret }}\"}}\n".to_owned(),
        ),
    ];
    for (name, text) in files {
        std::fs::write(home.join(name), text).unwrap();
    }
}

fn code_of(result: &Value) -> &str {
    let code = &result["_meta"]["dev.onecall/error"]["code"];
    code.as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn the_files_say_how_long_a_call_waits_over_http_and_stdio() {
    let home = tempfile::tempdir().unwrap();
    settle(home.path(), "limits: {patience: 100ms}\n");
    let file = home.path().join("onecall.yaml");
    let words = ["serve", file.to_str().unwrap(), "--ephemeral"];
    let (_server, url) = serving(onecall(
        home.path(),
        &[&words[..], &["--port", "0"]].concat(),
    ));
    let call = json!({ "name": "workflow:slow", "arguments": {} });
    let answer = http::modern(&url, "tools/call", call).result();
    assert_eq!(code_of(&answer), "pending.running");

    let command = onecall(home.path(), &[&words[..], &["--stdio"]].concat());
    let mut server = Running::start(command);
    server.write(
        &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        { "protocolVersion": "2025-11-25", "capabilities": {},
          "clientInfo": { "name": "test", "version": "1" } } }),
    );
    server.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    server.write(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "workflow_slow", "arguments": {} } }));
    let line = server.line(|line| line.contains("\"id\":1"));
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(code_of(&answer["result"]), "pending.running");
}
