//! A backend that never answers holds up only what needs it, and is named meanwhile.

use crate::support::{Ran, Running, onecall, program, run, until};
use serde_json::json;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Shorter than any command waits for a backend that it needs.
const SOON: Duration = Duration::from_secs(12);

/// A file with the demo backend and one that says nothing.
fn file(home: &Path) -> String {
    let file = home.join("mcp.json");
    let servers = json!({ "mcpServers": {
        "demo": { "command": program(), "args": ["demo"] },
        "mute": { "command": "sleep", "args": ["1000"] },
    }});
    std::fs::write(&file, servers.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

fn timed(home: &Path, words: &[&str]) -> (Ran, Duration) {
    let began = Instant::now();
    (run(home, words), began.elapsed())
}

#[test]
fn a_call_waits_only_for_the_backend_it_needs() {
    let home = tempfile::tempdir().unwrap();
    let file = file(home.path());
    let workflow = home.path().join("hi.workflow.yaml");
    let text = "workflow: hi\nsteps: { a: { tool: demo.echo, with: { text: hi } } }\n";
    std::fs::write(&workflow, text).unwrap();
    let workflow = workflow.to_str().unwrap();
    for words in [
        &["call", &file, "demo_echo", "text=hi", "--ephemeral"][..],
        &["call", &file, workflow, "hi", "--ephemeral"][..],
        &["call", &file, workflow, "hi", "--ephemeral", "--dry-run"][..],
        &["call", &file, "demo.echo", "text=hi", "--raw"][..],
    ] {
        let (ran, took) = timed(home.path(), words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        assert!(took < SOON, "{words:?} took {took:?}");
    }
}

#[test]
fn looking_shows_what_is_there_and_names_the_silent_one() {
    let home = tempfile::tempdir().unwrap();
    let file = file(home.path());
    let tools = run(home.path(), &["tools", &file]);
    assert_eq!(tools.code, Some(3), "{tools:?}");
    assert!(tools.out.contains("demo_echo"), "{tools:?}");
    assert!(
        tools.err.contains("waiting for `mute` …") && tools.err.contains("backend `mute`"),
        "{tools:?}"
    );
}

#[test]
fn a_slip_of_the_pen_is_warned_of_and_texts_are_read_by_the_schema() {
    let home = tempfile::tempdir().unwrap();
    let call = ["call", "examples/hello"];
    let slip = run(home.path(), &[&call[..], &["greet", "woh=Ada"]].concat());
    assert_eq!(slip.code, Some(0), "{slip:?}");
    let warning = "`greet` has no parameter `woh`; did you mean `who`?";
    assert!(slip.err.contains(warning), "{slip:?}");
    let sum = run(
        home.path(),
        &[&call[..], &["demo_add", "a=1", "b=2"]].concat(),
    );
    assert_eq!(sum.code, Some(0), "{sum:?}");
    assert_eq!(sum.json()["sum"], 3, "{sum:?}");
    let words = ["demo_echo", "text:=\"x\"", "n=1", "text=[1]", "before_ms=x"];
    let told = run(home.path(), &[&call[..], &words].concat());
    assert!(
        told.err.contains("`demo_echo` has no parameter `n`"),
        "{told:?}"
    );
}

#[test]
fn a_backend_that_stays_down_is_told_of_once() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mcp.json");
    let servers = json!({ "mcpServers": { "gone": { "command": "/nowhere/server" } } });
    std::fs::write(&file, servers.to_string()).unwrap();
    let path = home.path().join("log.txt");
    let logs = Stdio::from(std::fs::File::create(&path).unwrap());
    let level = "warn,onecall_backends=debug";
    let words = [
        "serve",
        file.to_str().unwrap(),
        "--port",
        "0",
        "--ephemeral",
    ];
    let words = [&words[..], &["--log-level", level]].concat();
    let _serving = Running::logging(onecall(home.path(), &words), logs);
    let told = until("the third attempt", || {
        let text = std::fs::read_to_string(&path).unwrap();
        let told = text
            .lines()
            .filter(|line| line.contains("a backend is down"));
        let told: Vec<String> = told.map(str::to_owned).collect();
        (told.len() > 2).then_some(told)
    });
    let warned = told.iter().filter(|line| line.contains("WARN"));
    assert_eq!(warned.count(), 1, "{told:?}");
}
