//! Derived tools held against the tool they are derived from: every fault at the word that is wrong.

use crate::support::run;
use serde_json::json;

/// What `check --tools` tells of a derived tool with these keys.
fn told(keys: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("d.workflow.yaml");
    std::fs::write(&file, format!("workflow: d\ntool: demo.look\n{keys}")).unwrap();
    let tools = home.path().join("tools.json");
    let input = json!({
        "type": "object", "required": ["query"], "additionalProperties": false,
        "properties": { "query": { "type": "string" }, "limit": { "type": "integer" } },
    });
    let saved = json!({ "demo": { "tools": [{ "name": "look", "inputSchema": input }] } });
    std::fs::write(&tools, saved.to_string()).unwrap();
    let words = [
        "check",
        file.to_str().unwrap(),
        "--backend",
        "demo=onecall demo",
    ];
    let words = [&words[..], &["--tools", tools.to_str().unwrap()]].concat();
    run(home.path(), &words).err
}

#[track_caller]
fn points(keys: &str, message: &str, place: &str) {
    let told = told(keys);
    assert!(told.contains(message), "{keys}\n{told}");
    assert!(
        told.contains(&format!("d.workflow.yaml:{place}\n")),
        "{keys}\n{told}"
    );
}

#[test]
fn a_sound_one_has_no_faults() {
    assert_eq!(told("bind: {limit: 1}\n"), "");
    assert_eq!(told("hide: [limit]\nbind: {query: fixed}\n"), "");
    assert_eq!(told("bind: {query: \"n ${{ .inputs.limit }}\"}\n"), "");
}

#[test]
fn bound_expressions_read_inputs_that_are_left() {
    points(
        "bind: {query: \"${{ .inputs.who }}\"}\n",
        "error[WF202]: step `call` reads parameter `who`",
        "3:28",
    );
    // What is bound or hidden is no input any more.
    points(
        "bind: {query: \"${{ .inputs.query }}\"}\n",
        "error[WF202]: step `call` reads parameter `query`",
        "3:28",
    );
    points(
        "bind: {query: \"${{ .inputs.limit }}\"}\nhide: [limit]\n",
        "error[WF202]: step `call` reads parameter `limit`",
        "3:28",
    );
    points(
        "outputs: {who: \"${{ .inputs.who }}\"}\n",
        "error[WF202]: the output reads parameter `who`",
        "3:29",
    );
}

#[test]
fn only_arguments_of_the_tool_are_hidden_and_bound() {
    points(
        "hide: [nosuch]\n",
        "error[WF302]: `nosuch` is hidden, but the tool takes no such argument",
        "3:8",
    );
    points(
        "bind: {limits: 1}\n",
        "error[WF302]: step `call` passes `limits`",
        "3:8",
    );
    points(
        "hide: [query]\n",
        "error[WF303]: step `call` does not pass `query`",
        "3:8",
    );
}

#[test]
fn inputs_that_the_tool_does_not_take_are_named_where_they_are_stated() {
    points(
        "inputs:\n  query: string\n  quer: string\n",
        "error[WF302]: step `call` passes `quer`",
        "5:3",
    );
    points(
        "parameters:\n  properties:\n    query: {type: string}\n    quer: {type: string}\n",
        "error[WF302]: step `call` passes `quer`",
        "6:5",
    );
}
