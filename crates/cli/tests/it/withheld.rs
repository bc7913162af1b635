//! Files with an error: what the error is in is withheld with its reason, and everything else is served and called.

use crate::http;
use crate::support::{Running, onecall, run, serve, until};
use serde_json::{Value, json};
use std::path::Path;

const CONFIGURATION: &str = "backends:
  demo: {command: onecall, args: [demo]}
  other: {url: \"https://example.test/mcp\", headers: {Authorization: \"Bearer ${NOT_SET_ANYWHERE}\"}}
workflows: [.]
";

fn workflow(name: &str, tool: &str) -> String {
    format!("workflow: {name}\nsteps:\n  first: {{tool: {tool}, with: {{text: a}}}}\n")
}

fn files(home: &Path, all: &[(&str, String)]) -> String {
    for (name, text) in all {
        std::fs::write(home.join(name), text).unwrap();
    }
    home.to_str().unwrap().to_owned()
}

/// One valid workflow, one with an error, one that needs a backend with an error.
fn three(home: &Path) -> String {
    let bad = workflow("bad", "demo.echo") + "bogus: 1\n";
    files(
        home,
        &[
            ("onecall.yaml", CONFIGURATION.to_owned()),
            ("good.workflow.yaml", workflow("good", "demo.echo")),
            ("bad.workflow.yaml", bad),
            ("needs.workflow.yaml", workflow("needs", "other.thing")),
        ],
    )
}

fn status(url: &str) -> Value {
    let url = url.replace("/mcp", "/status");
    let sent = http::send(&url, "GET", &[], "").unwrap();
    http::read(sent).unwrap().message()
}

#[test]
fn a_call_of_a_valid_workflow_works_beside_invalid_ones() {
    let home = tempfile::tempdir().unwrap();
    let path = three(home.path());
    let good = run(home.path(), &["call", &path, "good", "--ephemeral"]);
    assert_eq!(good.code, Some(0), "{good:?}");
    for part in [
        "withheld  backend `other`: the environment variable `NOT_SET_ANYWHERE` is not set\n",
        "withheld  workflow `bad`: a workflow file has no key named `bogus`\n",
        "shown by: onecall check ",
    ] {
        assert!(good.err.contains(part), "{good:?}");
    }
    let bad = run(home.path(), &["call", &path, "bad", "--ephemeral"]);
    assert_eq!(bad.code, Some(1), "{bad:?}");
    assert!(bad.err.contains("error[WF020]"), "{bad:?}");
    let needs = run(home.path(), &["call", &path, "needs", "--ephemeral"]);
    assert_eq!(needs.code, Some(1), "{needs:?}");
    let why = "workflow `needs` is withheld: backend `other` is withheld: the environment variable";
    assert!(needs.err.contains(why), "{needs:?}");
    let checked = run(home.path(), &["check", &path]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
}

#[test]
fn a_server_starts_and_names_what_it_withholds() {
    let home = tempfile::tempdir().unwrap();
    let path = three(home.path());
    let (server, url) = serve(home.path(), &[&path, "--ephemeral"]);
    server.line(|line| line.starts_with("withheld  bad: a workflow file has no key named `bogus`"));
    server.line(|line| line.starts_with("withheld  backend `other`: the environment variable"));
    let call = |name: &str| {
        let call = json!({ "name": name, "arguments": {} });
        http::modern(&url, "tools/call", call).result()
    };
    assert_ne!(call("workflow:good")["isError"], true);
    assert_eq!(call("workflow:bad")["isError"], true);
    let status = status(&url);
    let names = status["withheld"].as_array().unwrap();
    let names: Vec<&str> = names
        .iter()
        .filter_map(|own| own["workflow"].as_str())
        .collect();
    assert_eq!(names, ["needs", "bad"], "{status}");
}

#[test]
fn an_error_that_may_concern_all_callers_stops_the_server() {
    let home = tempfile::tempdir().unwrap();
    let auth = "auth: {tokens: [{principal: ada, token: \"${NOT_SET_ANYWHERE}\"}]}\n";
    let path = files(
        home.path(),
        &[
            ("onecall.yaml", format!("{CONFIGURATION}{auth}")),
            ("good.workflow.yaml", workflow("good", "demo.echo")),
        ],
    );
    let ran = run(home.path(), &["serve", &path, "--port", "0"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn one_invalid_file_does_not_hold_up_a_reload_of_others() {
    let home = tempfile::tempdir().unwrap();
    let path = three(home.path());
    let log = std::fs::File::create(home.path().join("log")).unwrap();
    let words = ["serve", &path, "--ephemeral", "--port", "0"];
    let server = Running::logging(onecall(home.path(), &words), log.into());
    let url = server.url();
    let logged = |what: &str| {
        until(what, || {
            let text = std::fs::read_to_string(home.path().join("log")).unwrap();
            text.contains(what).then_some(())
        });
    };
    // A syntax error: the last valid version stays, and another file is taken all the same.
    let torn = "workflow: good\nsteps:\n  first: {tool: [\n";
    let fresh = workflow("fresh", "demo.echo");
    files(
        home.path(),
        &[
            ("good.workflow.yaml", torn.to_owned()),
            ("fresh.workflow.yaml", fresh),
        ],
    );
    logged("workflows reloaded: `onecall` serves the new version of the files\n");
    logged("outdated  good (the new version does not fit, the one before stays published): ");
    for name in ["workflow:good", "workflow:fresh"] {
        let call = json!({ "name": name, "arguments": {} });
        let result = http::modern(&url, "tools/call", call).result();
        assert_ne!(result["isError"], true, "{result}");
    }
    std::fs::remove_file(home.path().join("bad.workflow.yaml")).unwrap();
    logged("removed  bad: no file defines it now\n");
}
