//! What an operator sets and sees of a server: how long calls wait, what is logged, how it leaves.

use crate::http;
use crate::support::{Running, onecall, serving, until};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

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
    open_session(&mut server);
    server.write(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "workflow_slow", "arguments": {} } }));
    let line = server.line(|line| line.contains("\"id\":1"));
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(code_of(&answer["result"]), "pending.running");
}

#[test]
fn a_question_that_nobody_can_answer_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("ask.workflow.yaml");
    std::fs::write(&file, "workflow: ask\nsteps:\n  sure: {ask: 'Sure?'}\n").unwrap();
    let words = ["serve", file.to_str().unwrap(), "--ephemeral", "--stdio"];
    let text = asked_over_stdio(home.path(), &words);
    for way in [
        "without `--ephemeral`",
        "`onecall runs answer`",
        "serve over HTTP",
        "elicitation",
    ] {
        assert!(text.contains(way), "{text}");
    }
}

#[test]
fn hidden_links_hide_the_command_over_stdio_too() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("onecall.yaml");
    let text = "backends: {}\nworkflows: [ask.workflow.yaml]\nquestions: {links: hidden}\n";
    std::fs::write(&file, text).unwrap();
    let workflow = "workflow: ask\nsteps:\n  sure: {ask: 'Sure?'}\n";
    std::fs::write(home.path().join("ask.workflow.yaml"), workflow).unwrap();
    let words = ["serve", file.to_str().unwrap(), "--stdio"];
    let text = asked_over_stdio(home.path(), &words);
    assert!(!text.contains("runs answer"), "{text}");
    assert!(text.contains("onecall runs list --waiting"), "{text}");
}

/// What a client that cannot be asked gets for a call of the workflow `ask`.
fn asked_over_stdio(home: &Path, words: &[&str]) -> String {
    let mut server = Running::start(onecall(home, words));
    open_session(&mut server);
    server.write(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "workflow_ask", "arguments": {} } }));
    let line = server.line(|line| line.contains("\"id\":1"));
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(code_of(&answer["result"]), "pending.input");
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap().to_owned()
}

#[test]
fn one_run_of_ephemeral_may_hold_a_quarter_of_its_memory() {
    let home = tempfile::tempdir().unwrap();
    settle(home.path(), "limits: {run_bytes: 20000000}\n");
    let file = home.path().join("onecall.yaml");
    let words = [
        "serve",
        file.to_str().unwrap(),
        "--ephemeral",
        "--port",
        "0",
    ];
    let refused = crate::support::run(home.path(), &words);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let text = "`limits.run_bytes` is 20000000, and with `--ephemeral` one run may hold at most 16777216 bytes";
    assert!(refused.err.contains(text), "{refused:?}");
    // An invalid workflow is withheld; the limits hold all the same.
    let broken = home.path().join("quick.workflow.yaml");
    std::fs::write(&broken, "workflow: quick\nbogus: 1\n").unwrap();
    let refused = crate::support::run(home.path(), &words);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains(text), "{refused:?}");
    settle(
        home.path(),
        "limits: {run_bytes: 20000000, ephemeral_bytes: 80000000}\n",
    );
    let (_server, _) = serving(onecall(home.path(), &words));
}

fn readiness(url: &str) -> Option<u16> {
    let url = url.replace("/mcp", "/readyz");
    let sent = http::send(&url, "GET", &[], "").ok()?;
    http::read(sent).map(|answer| answer.status)
}

/// A server with a run that lasts longer than it may take to leave.
fn busy(home: &Path) -> (Running, String, std::thread::JoinHandle<()>) {
    settle(home, "");
    let file = home.join("onecall.yaml");
    let words = [
        "serve",
        file.to_str().unwrap(),
        "--ephemeral",
        "--port",
        "0",
    ];
    let (server, url) = serving(onecall(home, &words));
    let called = url.clone();
    let call = std::thread::spawn(move || {
        let call = json!({ "name": "workflow:slow", "arguments": {} });
        if let Ok(sent) = http::send_modern(&called, "tools/call", call) {
            http::read(sent);
        }
    });
    until("the call", || {
        let status = http::send(&url.replace("/mcp", "/status"), "GET", &[], "").unwrap();
        let status = http::read(status)?.message();
        (status["answering"].as_u64()? > 0).then_some(())
    });
    (server, url, call)
}

#[test]
fn a_server_leaves_within_its_grace_time_and_says_so_meanwhile() {
    let home = tempfile::tempdir().unwrap();
    let (mut server, url, call) = busy(home.path());
    assert_eq!(readiness(&url), Some(200));
    let told = Instant::now();
    server.terminate();
    until("the word that it leaves", || {
        (readiness(&url) == Some(503)).then_some(())
    });
    call.join().unwrap();
    // The call was answered with a handle, its run has time left.
    assert_eq!(readiness(&url), Some(503));
    assert_eq!(server.wait(), Some(0));
    let lasted = told.elapsed();
    assert!(lasted < Duration::from_secs(11), "{lasted:?}");
}

#[test]
fn a_server_over_stdio_leaves_within_its_grace_time_once_its_input_ends() {
    let home = tempfile::tempdir().unwrap();
    settle(home.path(), "");
    let steps = "  say: {tool: demo.echo, with: {text: hi}}\n  wait: {needs: [say], tool: demo.slow, with: {ms: 60000}}\n";
    let slow = format!("workflow: slow\nsteps:\n{steps}");
    std::fs::write(home.path().join("slow.workflow.yaml"), slow).unwrap();
    let file = home.path().join("onecall.yaml");
    let words = ["serve", file.to_str().unwrap(), "--stdio", "--ephemeral"];
    let mut server = Running::start(onecall(home.path(), &words));
    open_session(&mut server);
    server.write(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "workflow_slow", "arguments": {}, "_meta": { "progressToken": 1 } } }));
    server.line(|line| line.contains("notifications/progress"));
    let told = Instant::now();
    drop(server.stdin.take());
    // A handle to a run that is not stored is of no use to anybody, so the call is answered without one.
    server.line(|line| line.contains("unknown_outcome.unanswered"));
    assert_eq!(server.wait(), Some(0));
    let lasted = told.elapsed();
    assert!(lasted < Duration::from_secs(11), "{lasted:?}");
}

#[test]
fn a_second_signal_ends_a_server_at_once() {
    let home = tempfile::tempdir().unwrap();
    let (mut server, url, _call) = busy(home.path());
    let told = Instant::now();
    server.terminate();
    until("the word that it leaves", || {
        (readiness(&url) == Some(503)).then_some(())
    });
    server.terminate();
    assert_eq!(server.wait(), Some(130));
    let lasted = told.elapsed();
    assert!(lasted < Duration::from_secs(4), "{lasted:?}");
}

/// What a server logged: every line is JSON.
fn logs(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect()
}

fn logged<'a>(logs: &'a [Value], level: &str, message: &str) -> &'a Value {
    let is_it = |line: &&Value| line["level"] == level && line["fields"]["message"] == message;
    let found = logs.iter().find(is_it);
    let found = found.unwrap_or_else(|| panic!("no {level} `{message}` in {logs:#?}"));
    &found["fields"]
}

#[test]
fn what_happens_is_logged_as_json_without_values() {
    const SECRET: &str = "hush-hush-0123456789";
    let home = tempfile::tempdir().unwrap();
    settle(home.path(), "");
    let (file, log) = (home.path().join("onecall.yaml"), home.path().join("log"));
    let words = [
        "serve",
        file.to_str().unwrap(),
        "--ephemeral",
        "--port",
        "0",
    ];
    let flags = ["--log", "json", "--log-level", "debug"];
    let command = onecall(home.path(), &[&words[..], &flags[..]].concat());
    let written = std::fs::File::create(&log).unwrap();
    let mut server = Running::logging(command, written.into());
    let url = server.url();
    let given = json!({ "secret": SECRET });
    for name in ["workflow:quick", "workflow:wrong", "no_such_tool"] {
        let call = json!({ "name": name, "arguments": given });
        http::modern(&url, "tools/call", call);
    }
    let call = json!({ "name": "demo_echo", "arguments": { "text": SECRET } });
    http::modern(&url, "tools/call", call);
    let elsewhere = [("Origin", "https://evil.example")];
    let refused = http::read(http::send(&url, "POST", &elsewhere, "{}").unwrap()).unwrap();
    assert_eq!(refused.status, 403);
    std::fs::write(&file, "backends: 7\n").unwrap();
    until("the refused reload", || {
        let text = std::fs::read_to_string(&log).unwrap();
        text.contains("the old version stays").then_some(())
    });
    server.terminate();
    assert_eq!(server.wait(), Some(0));

    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains(SECRET), "{text}");
    let logs = logs(&log);
    let ended = logged(&logs, "INFO", "a run ended");
    assert_eq!(ended["workflow"], "quick", "{ended}");
    assert_eq!(ended["outcome"], "completed");
    assert!(ended["run"].is_string() && ended["ms"].is_u64(), "{ended}");
    let failed = logged(&logs, "WARN", "a run failed");
    assert_eq!(failed["workflow"], "wrong", "{failed}");
    assert_eq!(failed["step"], "break");
    assert!(failed["code"].is_string(), "{failed}");
    let refused = logged(&logs, "WARN", "a caller was refused");
    assert_eq!(refused["origin"], "https://evil.example");
    let address = refused["address"].as_str().unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    for message in ["a step ended", "a call was answered"] {
        logged(&logs, "DEBUG", message);
    }
    for message in [
        "a backend is up",
        "the server is ready",
        "the server was told to stop",
        "the server has stopped",
    ] {
        logged(&logs, "INFO", message);
    }
    let answered = logs.iter().map(|line| &line["fields"]);
    let tools: Vec<&Value> = answered.map(|fields| &fields["tool"]).collect();
    for tool in ["demo_echo", "no_such_tool"] {
        assert!(tools.contains(&&json!(tool)), "{tools:?}");
    }
}

/// Says what a handshake client says before anything else.
fn open_session(server: &mut Running) {
    server.write(
        &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        { "protocolVersion": "2025-11-25", "capabilities": {},
          "clientInfo": { "name": "test", "version": "1" } } }),
    );
    server.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
}
