//! What child processes see of the environment: a short list, what their entry names, and nothing of the gateway's own.

use crate::support::{Ran, onecall, program, run};
use std::path::Path;

/// A backend that writes down its variables and then is the demo server.
fn command(home: &Path) -> serde_json::Value {
    let words = format!("env > '{}/seen'; exec '{}' demo", home.display(), program());
    serde_json::json!(["sh", "-c", words])
}

/// The variables that the child had, without those that a shell sets for itself.
fn seen(home: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(home.join("seen")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.retain(|line| {
        !["PWD=", "_=", "SHLVL=", "OLDPWD="]
            .iter()
            .any(|own| line.starts_with(own))
    });
    lines.sort();
    lines
}

fn started(home: &Path, words: &[&str]) -> Ran {
    let mut command = onecall(home, words);
    command.env_clear();
    for name in ["PATH", "HOME"] {
        command.env(name, std::env::var(name).unwrap());
    }
    command
        .env("XDG_STATE_HOME", home)
        .env("LC_ALL", "C")
        .env("https_proxy", "http://127.0.0.1:9")
        .env("ONECALL_LOG", "error")
        .env(
            "ONECALL_SEAL_KEY",
            "c2VhbC1rZXktb2YtYS10ZXN0LTMyLWJ5dGVzLWxvbmc=",
        )
        .env("ADA_TOKEN", "token-of-a-caller")
        .env("NEEDED", "by this backend")
        .env("OVERRIDDEN", "by the gateway");
    Ran::from(command.output().unwrap())
}

#[test]
fn a_backend_inherits_a_short_list_and_what_its_entry_names() {
    let home = tempfile::tempdir().unwrap();
    let backend = serde_json::json!({ "command": command(home.path()),
        "inherit_env": ["NEEDED", "OVERRIDDEN", "NOT_SET"],
        "env": { "OVERRIDDEN": "by the entry", "COPY": "${NEEDED}" } });
    let text = serde_json::json!({ "backends": { "demo": backend } });
    let file = home.path().join("onecall.yaml");
    std::fs::write(&file, text.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let ran = started(
        home.path(),
        &["call", file, "demo.echo", "text=hi", "--ephemeral"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut expected = vec![
        "COPY=by this backend".to_owned(),
        "LC_ALL=C".to_owned(),
        "NEEDED=by this backend".to_owned(),
        "ONECALL_DEPTH=1".to_owned(),
        "OVERRIDDEN=by the entry".to_owned(),
        "https_proxy=http://127.0.0.1:9".to_owned(),
        format!("XDG_STATE_HOME={}", home.path().display()),
    ];
    for name in ["PATH", "HOME"] {
        expected.push(format!("{name}={}", std::env::var(name).unwrap()));
    }
    expected.sort();
    assert_eq!(seen(home.path()), expected);
}

#[test]
fn a_server_of_a_suite_inherits_as_little() {
    let home = tempfile::tempdir().unwrap();
    let text = serde_json::json!({
        "servers": { "demo": { "command": command(home.path()) } },
        "compositions": [{ "name": "c", "nodes": [{ "id": "n", "tool": "echo", "args": { "text": "hi" } }],
            "expect": [{ "target": "nodes.n.status", "matcher": { "exact": "ok" } }] }],
    });
    let file = home.path().join("suite.yaml");
    std::fs::write(&file, text.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let ran = started(home.path(), &["test", file]);
    let seen = seen(home.path());
    assert!(
        !seen
            .iter()
            .any(|line| line.starts_with("ADA_TOKEN") || line.starts_with("NEEDED")),
        "{seen:?} {ran:?}"
    );
    assert!(seen.contains(&"LC_ALL=C".to_owned()), "{seen:?}");
    let checked = run(home.path(), &["check", file]);
    assert!(
        checked.err.contains("inherit few environment variables"),
        "{checked:?}"
    );
}

#[test]
fn init_names_what_a_server_relied_on_besides() {
    let home = tempfile::tempdir().unwrap();
    let words = format!("test -n \"$ISSUES_TOKEN\"; exec '{}' demo", program());
    let text = serde_json::json!({ "mcpServers": { "issues": { "command": "sh", "args": ["-c", words] } } });
    let file = home.path().join("mcp.json");
    std::fs::write(&file, text.to_string()).unwrap();
    let folder = home.path().join("made");
    std::fs::create_dir(&folder).unwrap();
    let words = [
        "init",
        folder.to_str().unwrap(),
        "--from",
        file.to_str().unwrap(),
    ];
    let ran = run(home.path(), &words);
    let warning = "warning: `issues` reads `ISSUES_TOKEN`, which backends do not inherit: add `inherit_env: [ISSUES_TOKEN]` to it";
    assert!(ran.err.contains(warning), "{ran:?}");
}
