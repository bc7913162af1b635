//! What a folder gives: its configuration alone where it has one, else what is told apart from files of others.

use crate::setup::at;
use crate::support::program;
use std::path::Path;

const WORKFLOW: &str = "workflow: hits\nsteps: {find: {tool: demo.search, with: {query: x}}}\n";

/// Files that are nobody's business here, with a word of ours each.
const FOREIGN: [(&str, &str); 8] = [
    (
        "values.yaml",
        "replicas: 2\nlimits: {cpu: 100m, memory: 1Gi}\n",
    ),
    ("limits.yaml", "limits: {cpu: 100m}\n"),
    (
        "ci.yml",
        "version: 2\njobs: {}\nworkflows: {build: {jobs: [a]}}\n",
    ),
    (
        "release.yml",
        "on: push\nworkflows: [build]\nconcurrency: {group: x}\n",
    ),
    ("routes.json", r#"{"backends": {"a": "b"}}"#),
    (
        "proxy.json",
        r#"{"backends": {"a": {"url": "http://a"}}, "routes": [], "listen": 80}"#,
    ),
    (
        "package.json",
        r#"{"name": "x", "version": "1.0.0", "workflow": "y", "scripts": {}}"#,
    ),
    ("gitlab.yml", "workflow: {rules: []}\nstages: [a]\n"),
];

fn write(home: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn demo() -> String {
    format!(
        "backends: {{demo: {{command: '{}', args: [demo]}}}}\n",
        program()
    )
}

#[test]
fn a_folder_with_a_configuration_gives_that_and_what_it_names() {
    let home = tempfile::tempdir().unwrap();
    let configuration = format!("{}workflows: [flows]\n", demo());
    write(
        home.path(),
        &[
            ("onecall.yaml", &configuration),
            ("flows/hits.yaml", WORKFLOW),
        ],
    );
    write(home.path(), &FOREIGN);
    let quiet = at(home.path(), &["check", "."]);
    assert_eq!(quiet.code, Some(0), "{quiet:?}");
    assert!(
        quiet.out.contains("1 workflow, 2 files: no faults"),
        "{quiet:?}"
    );
    assert_eq!(quiet.err, "");
    let copy = format!(
        r#"{{"mcpServers": {{"demo": {{"command": "{}"}}}}}}"#,
        program()
    );
    let other = WORKFLOW.replace("hits", "other");
    write(
        home.path(),
        &[("mcp.json", &copy), ("more/other.workflow.yaml", &other)],
    );
    let told = at(home.path(), &["check", "."]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(
        told.out.contains("1 workflow, 2 files: no faults"),
        "{told:?}"
    );
    for part in [
        "`mcp.json`, `more/other.workflow.yaml` are not read",
        "`onecall.yaml` beside them does not name them",
        "name workflows under `workflows:`",
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    let called = at(home.path(), &["call", ".", "hits", "--dry-run"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    // What is named is read beside it, and is held to it.
    let both = at(home.path(), &["check", ".", "mcp.json"]);
    assert!(
        both.err.contains("two backends are named `demo`"),
        "{both:?}"
    );
    let all = format!("{}workflows: [flows, more]\n", demo());
    write(home.path(), &[("onecall.yaml", &all)]);
    std::fs::remove_file(home.path().join("mcp.json")).unwrap();
    let named = at(home.path(), &["check", "."]);
    assert!(named.out.contains("2 workflows, 3 files"), "{named:?}");
    assert_eq!(named.err, "");
    // One that names no workflows leaves them to the folder.
    write(home.path(), &[("onecall.yaml", &demo())]);
    let unnamed = at(home.path(), &["check", "."]);
    assert!(unnamed.out.starts_with("2 workflows"), "{unnamed:?}");
}

#[test]
fn a_first_configuration_and_the_file_it_was_made_of_stand_side_by_side() {
    let home = tempfile::tempdir().unwrap();
    let servers = format!(
        r#"{{"mcpServers": {{"t": {{"command": "{}", "args": ["demo"]}}}}}}"#,
        program()
    );
    write(home.path(), &[("mcp.json", &servers)]);
    let made = at(home.path(), &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for words in [&["check", "."][..], &["connect", "claude", "."]] {
        let ran = at(home.path(), words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.err.contains("WF602"), "{ran:?}");
    }
}

#[test]
fn files_of_others_are_left_out_of_a_folder_and_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), &FOREIGN);
    let parts = format!("{}limits: {{steps: 5, evnts: 3}}\nworflows: []\n", demo());
    write(
        home.path(),
        &[("hits.yaml", WORKFLOW), ("parts.yaml", &parts)],
    );
    let ran = at(home.path(), &["check", "."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    // What is ours is held to its keys.
    for part in ["`evnts`", "`worflows`", "2 errors in 1 file"] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    for (name, _) in FOREIGN {
        assert!(!ran.err.contains(name), "{name}: {ran:?}");
        let named = at(home.path(), &["check", name]);
        assert!(named.err.contains(name), "{name}: {named:?}");
    }
}

#[test]
fn without_a_path_every_command_takes_the_configuration_that_is_here() {
    let home = tempfile::tempdir().unwrap();
    let commands: [&[&str]; 7] = [
        &["check"],
        &["tools"],
        &["backends"],
        &["lock"],
        &["graph", "hits"],
        &["graph"],
        &["connect", "cursor"],
    ];
    for words in commands.iter().chain([&["serve", "--stdio"][..]].iter()) {
        let ran = at(home.path(), words);
        if words == &["graph", "hits"] {
            assert_eq!(ran.code, Some(1), "{ran:?}");
            continue;
        }
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
        let told = format!(
            "there is no `onecall.yaml` here; write `onecall {} ",
            words[0]
        );
        let told = told.replace("connect ", "connect cursor ");
        assert!(ran.err.contains(&told), "{words:?}: {ran:?}");
    }
    let configuration = format!("{}workflows: [hits.yaml]\n", demo());
    write(
        home.path(),
        &[("onecall.yaml", &configuration), ("hits.yaml", WORKFLOW)],
    );
    // Standard input has ended, so a server over stdio ends too.
    for words in commands.iter().chain([&["serve", "--stdio"][..]].iter()) {
        let ran = at(home.path(), words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    }
    assert!(home.path().join("onecall.lock").is_file());
    let entered = std::fs::read_to_string(home.path().join(".cursor/mcp.json")).unwrap();
    assert!(entered.contains("/onecall.yaml\""), "{entered}");
}
