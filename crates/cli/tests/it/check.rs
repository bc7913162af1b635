//! `check`, `tools` and `graph` as a user meets them.

use crate::support::run;
use serde_json::Value;

#[test]
fn tools_are_saved_and_checked_against() {
    let home = tempfile::tempdir().unwrap();
    let tools = home.path().join("tools.json");
    let tools = tools.to_str().unwrap();
    let saved = run(home.path(), &["tools", "examples/hello", "--save", tools]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let fitting = run(home.path(), &["check", "examples/hello", "--tools", tools]);
    assert_eq!(fitting.code, Some(0), "{fitting:?}");
    let text = std::fs::read_to_string("../../examples/hello/hello.yaml").unwrap();
    let file = home.path().join("unfit.yaml");
    std::fs::write(&file, text.replace("tool: demo_add", "tool: demo_ad")).unwrap();
    let unfit = run(
        home.path(),
        &["check", file.to_str().unwrap(), "--tools", tools],
    );
    assert_eq!(unfit.code, Some(1), "{unfit:?}");
    assert!(
        unfit.err.contains("demo_add"),
        "no suggestion: {}",
        unfit.err
    );
    let offline = run(home.path(), &["check", file.to_str().unwrap()]);
    assert_eq!(
        offline.code,
        Some(0),
        "without tools nothing is known to be unfit: {offline:?}"
    );
}

#[test]
fn a_backend_that_cannot_be_started_is_named() {
    let home = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string("../../examples/hello/hello.yaml").unwrap();
    let file = home.path().join("nowhere.yaml");
    std::fs::write(
        &file,
        text.replace("command: onecall", "command: no-such-program"),
    )
    .unwrap();
    let ran = run(
        home.path(),
        &["call", file.to_str().unwrap(), "greet", "who=Ada"],
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

#[test]
fn check_speaks_json() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("bad.yaml");
    std::fs::write(&file, "name: x\nname: y\n").unwrap();
    let ran = run(
        home.path(),
        &["check", file.to_str().unwrap(), "--format", "json"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let faults = ran.json();
    let codes: Vec<&Value> = faults
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| &fault["code"])
        .collect();
    assert!(
        !codes.is_empty() && codes.iter().all(|code| code.is_string()),
        "{faults}"
    );
}

#[test]
fn graphs_mark_what_was_inferred() {
    let home = tempfile::tempdir().unwrap();
    let text = run(home.path(), &["graph", "examples/hello", "greet"]);
    assert_eq!(text.code, Some(0), "{text:?}");
    assert!(text.out.contains("letters (demo_add)"), "{}", text.out);
    let mermaid = run(
        home.path(),
        &["graph", "examples/hello", "greet", "--format", "mermaid"],
    );
    assert!(mermaid.out.contains("-.->"), "{}", mermaid.out);
    let none = run(home.path(), &["graph", "examples/hello", "nothing"]);
    assert_eq!(none.code, Some(4), "{none:?}");
}

#[test]
fn a_broken_file_of_a_directory_is_not_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    let empty = run(home.path(), &["check", folder.to_str().unwrap()]);
    assert_eq!(empty.code, Some(4), "{empty:?}");
    std::fs::write(folder.join("broken.yaml"), "name: \"x\ncompositeTools: [\n").unwrap();
    let broken = run(home.path(), &["check", folder.to_str().unwrap()]);
    assert_eq!(broken.code, Some(1), "{broken:?}");
}

#[test]
fn a_senseless_command_line_is_a_usage_error() {
    let home = tempfile::tempdir().unwrap();
    let hello = "examples/hello";
    for words in [
        &["call", hello][..],
        &["call", hello, "greet", "who:=bad"],
        &["call", hello, "greet", "--args-json", "[]"],
        &["call", hello, "greet", "bogus"],
    ] {
        let ran = run(home.path(), words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
    }
}

#[test]
fn keys_say_whether_they_act() {
    let home = tempfile::tempdir().unwrap();
    let all = run(home.path(), &["schema", "--keys"]);
    assert!(
        all.out
            .lines()
            .any(|line| line.starts_with("acts") && line.ends_with("failureMode"))
    );
    let refused = run(home.path(), &["schema", "--keys", "--effect", "refused"]);
    assert!(
        refused.out.lines().count() > 0 && !refused.out.contains("acts"),
        "{}",
        refused.out
    );
    assert_eq!(
        run(home.path(), &["schema", "--keys", "--effect", "nothing"]).code,
        Some(4)
    );
}

#[test]
fn schemas_are_printed_for_editors() {
    let home = tempfile::tempdir().unwrap();
    for kind in ["config", "resources"] {
        let ran = run(home.path(), &["schema", kind]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let schema = ran.json();
        assert!(schema["$schema"].is_string() && schema["$defs"]["step"].is_object());
    }
    assert_eq!(run(home.path(), &["schema"]).code, Some(2));
}

#[test]
fn portability_notes_what_works_only_here() {
    let home = tempfile::tempdir().unwrap();
    let plain = run(home.path(), &["check", "examples/hello"]);
    let noted = run(
        home.path(),
        &["check", "examples/hello", "--portable", "toolhive"],
    );
    assert_eq!((plain.code, noted.code), (Some(0), Some(0)), "{noted:?}");
    assert!(
        plain.err.is_empty() && noted.err.contains("note["),
        "{}",
        noted.err
    );
}
