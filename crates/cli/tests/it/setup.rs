//! Setting up: entering files in a client's configuration, the doctor, completions.

use crate::support::{Ran, onecall, program, root, run};
use serde_json::Value;
use std::path::Path;

/// The binary in a folder that is home and project at once.
fn at(home: &Path, words: &[&str]) -> Ran {
    let mut command = onecall(home, words);
    command
        .current_dir(home)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME");
    Ran::from(command.output().unwrap())
}

fn hello() -> String {
    root().join("examples/hello").display().to_string()
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_client_is_told_once_and_its_old_file_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let file = home
        .path()
        .join(".config/Claude/claude_desktop_config.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"{"mcpServers": {"time": {"command": "uvx"}}}"#).unwrap();
    let ran = at(home.path(), &["connect", "claude", &hello()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let servers = &read(&file)["mcpServers"];
    assert_eq!(servers["time"]["command"], "uvx");
    assert_eq!(servers["onecall"]["command"], program());
    assert_eq!(servers["onecall"]["args"][2], hello());
    let kept = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let kept: Vec<_> = kept
        .filter(|entry| entry.as_ref().unwrap().path().extension().unwrap() == "bak")
        .collect();
    assert_eq!(kept.len(), 1);
    let again = at(home.path(), &["connect", "claude", &hello()]);
    assert!(again.err.contains("nothing changed"), "{again:?}");
}

#[test]
fn each_client_has_its_own_file_and_shape() {
    let home = tempfile::tempdir().unwrap();
    let url = "http://127.0.0.1:4483/mcp";
    for (client, file, key) in [
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("claude-code", ".mcp.json", "mcpServers"),
    ] {
        let ran = at(home.path(), &["connect", client, "--url", url]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(read(&home.path().join(file))[key]["onecall"]["url"], url);
    }
    let refused = at(home.path(), &["connect", "claude", "--url", url]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let broken = at(home.path(), &["connect", "cursor", "no-such-file.yaml"]);
    assert_ne!(broken.code, Some(0), "{broken:?}");
}

#[test]
fn the_doctor_finds_what_is_broken() {
    let home = tempfile::tempdir().unwrap();
    let well = at(home.path(), &["doctor", &hello()]);
    assert_eq!(well.code, Some(0), "{well:?}");
    assert!(
        well.out.contains("✓ backend   `demo` answers"),
        "{}",
        well.out
    );
    assert!(well.out.contains("! client"), "{}", well.out);

    let entry =
        r#"{"mcpServers": {"onecall": {"command": "/nowhere/onecall", "args": ["serve"]}}}"#;
    std::fs::write(home.path().join(".mcp.json"), entry).unwrap();
    let broken = home.path().join("broken.json");
    let servers = r#"{"mcpServers": {"gone": {"command": "/nowhere/server"}}}"#;
    std::fs::write(&broken, servers).unwrap();
    let ill = at(home.path(), &["doctor", "broken.json", "--json"]);
    assert_eq!(ill.code, Some(1), "{ill:?}");
    let findings = ill.json();
    let bad: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["verdict"] == "bad")
        .map(|finding| finding["subject"].as_str().unwrap())
        .collect();
    assert_eq!(bad, ["backend", "tools", "client"], "{findings}");
}

#[test]
fn shells_are_taught_the_commands() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(home.path(), &["completions", shell]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.out.contains("doctor"), "{shell}");
    }
}

#[test]
fn a_first_workflow_is_made_from_what_a_client_lists() {
    let home = tempfile::tempdir().unwrap();
    let cursor = home.path().join(".cursor/mcp.json");
    std::fs::create_dir_all(cursor.parent().unwrap()).unwrap();
    let servers = serde_json::json!({ "mcpServers": {
        "notes": { "command": program(), "args": ["demo"], "env": { "API_KEY": "s3cret" } },
        "gone": { "command": "/nowhere/server" },
    }});
    std::fs::write(&cursor, servers.to_string()).unwrap();
    let made = at(home.path(), &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.err.contains("set API_KEY"), "{}", made.err);
    assert!(made.err.contains("warning: backend `gone`"), "{}", made.err);
    let yaml = std::fs::read_to_string(home.path().join("onecall.yaml")).unwrap();
    assert!(!yaml.contains("s3cret"), "{yaml}");
    let again = at(home.path(), &["init"]);
    assert_eq!(
        again.code,
        Some(2),
        "what is there is not replaced: {again:?}"
    );

    let demo = tempfile::tempdir().unwrap();
    let made = at(demo.path(), &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let checked = at(demo.path(), &["check", "."]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let line = made
        .err
        .lines()
        .find(|line| line.starts_with("try: onecall "));
    let words = line
        .unwrap()
        .trim_start_matches("try: onecall ")
        .replace('…', "a");
    let words: Vec<&str> = words.split(' ').collect();
    let called = at(demo.path(), &words);
    assert_eq!(called.code, Some(0), "{called:?}");
}
