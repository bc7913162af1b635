//! `onecall call URL`: a server elsewhere is asked, followed and answered as a run of this machine is.

use crate::support::{Running, asking, composite, onecall, program, root, run, serve};
use rexpect::session::{PtySession, spawn_command};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// A server whose workflow `ship` asks for a number.
fn asker(home: &Path) -> (Running, String) {
    let go = "        tool: demo_add
        arguments: { a: \"{{ .steps.approve.output.content.count }}\", b: 1 }
";
    let file = composite(home, &asking(("count", "integer"), go));
    serve(home, &[&file])
}

pub(crate) fn at_a_terminal(home: &Path, words: &[&str]) -> PtySession {
    let mut command = Command::new(program());
    command
        .args(words)
        .current_dir(root())
        .env("XDG_STATE_HOME", home)
        .env("TERM", "xterm");
    spawn_command(command, Some(30_000)).unwrap()
}

#[test]
fn questions_of_a_server_elsewhere_are_asked_in_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let (_running, url) = asker(home.path());
    let mut session = at_a_terminal(home.path(), &["call", &url, "ship"]);
    session.exp_string("Ship it?").unwrap();
    session.exp_string("ccept, [d]ecline or [c]ancel?").unwrap();
    session.send_line("a").unwrap();
    session.exp_string("count (integer): ").unwrap();
    session.send_line("41").unwrap();
    session.exp_string("\"sum\": 42").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn without_a_terminal_a_run_elsewhere_is_left_waiting() {
    let home = tempfile::tempdir().unwrap();
    let (_running, url) = asker(home.path());
    let ran = run(home.path(), &["call", &url, "ship"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    for part in ["waits for a person", "/answer/", "`onecall runs answer r"] {
        assert!(ran.err.contains(part), "{part} is not in {}", ran.err);
    }
    assert!(!ran.err.contains("error:"), "{}", ran.err);
    let listed = run(home.path(), &["runs", "list", "--state", "waiting"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
}

#[test]
fn a_tool_that_asks_is_answered_in_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let words = [
        "call",
        "examples/hello",
        "demo_ask",
        "question=why",
        "--ephemeral",
    ];
    let mut session = at_a_terminal(home.path(), &words);
    session.exp_string("why").unwrap();
    session.exp_string("ccept, [d]ecline or [c]ancel?").unwrap();
    session.send_line("d").unwrap();
    session.exp_string("\"decline\"").unwrap();
    session.exp_eof().unwrap();
    let alone = run(home.path(), &words);
    assert_eq!(alone.code, Some(5), "{alone:?}");
    assert!(
        alone.err.contains("`demo_ask` asks a person: why"),
        "{alone:?}"
    );
}

#[test]
fn the_steps_of_a_run_elsewhere_are_shown_and_its_labels_kept() {
    let home = tempfile::tempdir().unwrap();
    let (_running, url) = serve(home.path(), &["examples/hello"]);
    let ran = run(
        home.path(),
        &["call", &url, "greet", "who=Ada", "--label", "team=blue"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for step in ["  ▸ hello: completed (1/2)", "  ▸ letters: completed (2/2)"] {
        assert!(ran.err.contains(step), "{step} is not in {}", ran.err);
    }
    let labelled = run(home.path(), &["runs", "list", "--label", "team=blue"]);
    assert_eq!(labelled.code, Some(0), "{labelled:?}");
}

#[test]
fn steps_are_counted_on_after_the_patience_of_the_server() {
    let home = tempfile::tempdir().unwrap();
    let text = "limits: {patience: 700ms}\n\
        backends: { demo: { command: onecall, args: [demo] } }\nworkflows: [l.workflow.yaml]\n";
    let file = home.path().join("onecall.yaml");
    std::fs::write(&file, text).unwrap();
    let step = "{ tool: demo.slow, with: { ms: 800 }, needs: ";
    let workflow = format!(
        "workflow: long\nsteps:\n  a: {{ tool: demo.slow, with: {{ ms: 100 }} }}\n  \
         b: {step}[a] }}\n  each: {{ each: [1, 2], tool: demo.slow, with: {{ ms: 400 }}, needs: [b] }}\n  \
         c: {step}[each] }}\n"
    );
    std::fs::write(home.path().join("l.workflow.yaml"), workflow).unwrap();
    let (_running, url) = serve(home.path(), &[file.to_str().unwrap(), "--ephemeral"]);
    let ran = run(home.path(), &["call", &url, "long"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // A step that ends between two requests is not told of by itself, but it counts.
    for (step, count) in [("a", "1/4"), ("b", "2/4"), ("each", "5/6"), ("c", "6/6")] {
        let step = format!("{step}: completed (");
        let mut told = ran.err.lines().filter(|line| line.contains(&step));
        assert!(told.all(|line| line.contains(count)), "{}", ran.err);
    }
    assert!(ran.err.contains("c: completed (6/6)"), "{}", ran.err);
}

#[test]
fn flags_that_cannot_act_on_a_server_elsewhere_are_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let url = "http://127.0.0.1:9/mcp";
    for (flag, more) in [
        ("--trace", None),
        ("--dry-run", None),
        ("--ephemeral", None),
        ("--store", Some("s.db")),
        ("--backend", Some("demo=onecall demo")),
        ("--mcp-config", Some("mcp.json")),
        ("--server", Some("x")),
    ] {
        let words: Vec<&str> = ["call", url, "greet", flag]
            .into_iter()
            .chain(more)
            .collect();
        let ran = run(home.path(), &words);
        assert_eq!(ran.code, Some(2), "{flag}: {ran:?}");
        assert!(ran.err.contains(flag), "{flag}: {}", ran.err);
    }
}

#[test]
fn a_workflow_elsewhere_answers_to_its_bare_name() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("onecall.yaml");
    let text =
        "backends: { demo: { command: onecall, args: [demo] } }\nworkflows: [h.workflow.yaml]\n";
    std::fs::write(&file, text).unwrap();
    let workflow = "workflow: hits\nsteps: { a: { tool: demo.echo, with: { text: hi } } }\n";
    std::fs::write(home.path().join("h.workflow.yaml"), workflow).unwrap();
    let (_running, url) = serve(home.path(), &[file.to_str().unwrap(), "--ephemeral"]);
    for name in ["hits", "workflow:hits", "workflow_hits"] {
        let ran = run(home.path(), &["call", &url, name]);
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
    }
    let absent = run(home.path(), &["call", &url, "demo_ehco"]);
    assert_eq!(absent.code, Some(4), "{absent:?}");
    assert!(absent.err.contains("`demo_echo` exists"), "{absent:?}");
}

#[test]
fn what_goes_wrong_elsewhere_is_told_of_the_url() {
    let home = tempfile::tempdir().unwrap();
    let gone = run(home.path(), &["call", "http://127.0.0.1:9/mcp", "greet"]);
    assert_eq!(gone.code, Some(3), "{gone:?}");
    assert!(gone.err.contains("`http://127.0.0.1:9/mcp`"), "{gone:?}");
    assert!(!gone.err.contains("WARN"), "{gone:?}");
    assert!(!gone.err.contains("`server`"), "{gone:?}");
    let (_running, url) = serve(home.path(), &["examples/hello", "--ephemeral"]);
    let root = url.trim_end_matches("/mcp");
    let lost = run(home.path(), &["call", root, "greet"]);
    assert_eq!(lost.code, Some(3), "{lost:?}");
    assert!(lost.err.contains(&format!("`{url}`")), "{lost:?}");
}

#[test]
fn a_tool_is_called_at_once_though_its_backend_is_still_starting() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("slow.json");
    let script = format!("sleep 0.5; exec {} demo", program());
    let servers = json!({ "mcpServers": { "late": { "command": "sh", "args": ["-c", script] } } });
    std::fs::write(&file, servers.to_string()).unwrap();
    let words = ["serve", "--stdio", file.to_str().unwrap(), "--ephemeral"];
    let mut serving = Running::start(onecall(home.path(), &words));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
    });
    let params = json!({ "name": "late_echo", "arguments": { "text": "hi" }, "_meta": meta });
    serving.write(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    let answer = serving.line(|line| line.contains("\"id\":1"));
    assert!(
        answer.contains("\"text\":\"hi\"") && !answer.contains("isError\":true"),
        "{answer}"
    );
}

#[test]
fn hidden_links_are_in_no_result_and_listed_by_whoever_has_the_store() {
    let home = tempfile::tempdir().unwrap();
    let go = "        tool: demo_add
        arguments: { a: \"{{ .steps.approve.output.content.count }}\", b: 1 }
";
    let file = composite(home.path(), &asking(("count", "integer"), go));
    let settings = home.path().join("onecall.yaml");
    std::fs::write(&settings, "backends: {}\nquestions: { links: hidden }\n").unwrap();
    let (_running, url) = serve(home.path(), &[&file, settings.to_str().unwrap()]);
    let ran = run(home.path(), &["call", &url, "ship"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(!ran.err.contains("/answer/"), "{}", ran.err);
    let listed = run(home.path(), &["runs", "list", "--waiting"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let base = url.strip_suffix("/mcp").unwrap();
    for part in [
        "step approve asks: Ship it?",
        &format!("    {base}/answer/"),
        "    onecall runs answer r",
        "approve count:=",
    ] {
        assert!(listed.out.contains(part), "{part} is not in {}", listed.out);
    }
}
