//! `onecall doctor` and `connect`: servers that clients reach by their URL, and entries of other projects.

use crate::setup::at;
use crate::support::{Ran, onecall, program, serve};
use std::path::Path;

#[test]
fn a_server_that_a_client_reaches_by_its_url_is_asked() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (mut server, url) = serve(home, &["examples/hello", "--ephemeral"]);
    for words in [
        &["connect", "claude-code", "--url", &url][..],
        &["connect", "cursor", "--url", &url, "--name", "work"],
        // Whoever listens there is none of ours, and nobody listens.
        &[
            "connect",
            "vscode",
            "--url",
            "http://127.0.0.1:9/mcp",
            "--name",
            "other",
        ],
    ] {
        let ran = at(home, words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let well = at(home, &["doctor", "--ephemeral"]);
    assert_eq!(well.code, Some(0), "{well:?}");
    for line in [
        "✓ client    Claude Code: `onecall` in ",
        "✓ client    Cursor: `work` in ",
    ] {
        assert!(well.out.contains(line), "{well:?}");
    }
    assert!(
        well.out
            .contains(&format!("leads to `{url}`, which answers")),
        "{well:?}"
    );
    assert!(!well.out.contains("`other`"), "{well:?}");
    server.kill();
    let gone = at(home, &["doctor", "--ephemeral"]);
    assert_eq!(gone.code, Some(3), "{gone:?}");
    let told = format!("leads to `{url}`, which does not answer: ");
    assert!(gone.out.contains(&told), "{gone:?}");
}

/// The binary in a project of its own, with the files of clients in another folder.
fn in_project(home: &Path, project: &str, words: &[&str]) -> Ran {
    let folder = home.join(project);
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "backends: {{ demo: {{ command: '{}', args: [demo] }} }}\n",
        program()
    );
    std::fs::write(folder.join("onecall.yaml"), text).unwrap();
    let mut command = onecall(home, words);
    command.current_dir(folder).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME");
    Ran::from(command.output().unwrap())
}

#[test]
fn the_entry_of_another_project_is_kept_and_told() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let first = in_project(&home, "first", &["connect", "claude"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let elsewhere = home.join("first/onecall.yaml");
    let elsewhere = format!("serves `{}`", elsewhere.display());

    let seen = in_project(&home, "second", &["doctor", "--ephemeral"]);
    let told = format!(
        "! client    Claude Desktop: `onecall` in `{}/.config/Claude/claude_desktop_config.json` {elsewhere}, other files than these",
        home.display()
    );
    assert!(seen.out.contains(&told), "{seen:?}");
    let at_home = in_project(&home, "first", &["doctor", "--ephemeral"]);
    assert!(
        at_home.out.contains("✓ client    Claude Desktop"),
        "{at_home:?}"
    );

    let kept = in_project(&home, "second", &["connect", "claude"]);
    assert_eq!(kept.code, Some(2), "{kept:?}");
    assert!(
        kept.err.contains(&format!("{elsewhere}, so it is kept")),
        "{kept:?}"
    );
    assert!(
        kept.err
            .contains("`--name second` makes an entry beside it"),
        "{kept:?}"
    );
    let file = home.join(".config/Claude/claude_desktop_config.json");
    let read = || std::fs::read_to_string(&file).unwrap();
    assert!(read().contains("first/onecall.yaml"), "{}", read());

    let beside = in_project(&home, "second", &["connect", "claude", "--name", "second"]);
    assert_eq!(beside.code, Some(0), "{beside:?}");
    let both = in_project(&home, "second", &["doctor", "--ephemeral"]);
    assert!(
        both.out.contains("✓ client    Claude Desktop: `second`"),
        "{both:?}"
    );
    assert!(
        both.out.contains(&elsewhere) && !both.out.contains("! client"),
        "{both:?}"
    );

    // Others of the same folder are the same project.
    let again = in_project(&home, "first", &["connect", "claude", "."]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let forced = in_project(&home, "second", &["connect", "claude", "--force"]);
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert!(!read().contains("first"), "{}", read());
}
