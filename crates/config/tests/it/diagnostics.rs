//! Every code has a bad file, its exact output, and the file after applying the help, which checks clean.
//! The page of the code shows the same two files. `ONECALL_UPDATE=1` writes the outputs anew.

use crate::world::{Outcome, load_bytes, notes_of, outcome_with};
use onecall_source::codes;
use onecall_workflow::catalog::{Catalog, CatalogTool, Knowledge};
use onecall_workflow::check::check;
use onecall_workflow::name::{BackendName, ToolName};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Codes without a file of this kind, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("WF310", "needs a lock file, tested in `workflow` and `cli`"),
    ("WF311", "raised for the lock file, tested in `cli`"),
    (
        "WF312",
        "needs saved tools of two backends, tested in `cli`",
    ),
    (
        "WF313",
        "needs a tool with such characters, tested in `workflow` and `cli`",
    ),
    ("WF314", "raised when files are loaded, tested in `cli`"),
    ("WF635", "needs the rights of a file, tested in `cli`"),
    (
        "WF315",
        "needs a backend whose tool is broken, tested in `workflow`",
    ),
    ("WF511", "raised by the test runner, tested in `suite`"),
    ("WF512", "raised by the test runner, tested in `suite`"),
    ("WF513", "raised by the test runner, tested in `suite`"),
    ("WF514", "raised by the test runner, tested in `suite`"),
    ("WF515", "raised by the test runner, tested in `suite`"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/diagnostics")
}

#[test]
fn every_code_has_its_case_and_every_case_its_code() {
    let mut cases = BTreeSet::new();
    for entry in folder().read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "tools.json" {
            cases.insert(name.split('.').next().unwrap().to_owned());
        }
    }
    for code in codes::all() {
        let id = code.as_str();
        let elsewhere = ELSEWHERE.iter().any(|(own, _)| *own == id);
        assert!(
            elsewhere != cases.contains(id),
            "{id}: a case, or a reason for none"
        );
    }
    for case in cases {
        assert!(codes::find(&case).is_some(), "case without a code: {case}");
    }
}

/// The file of a case, which is YAML or JSON, and the name that its output shows.
fn file(id: &str, what: &str) -> Option<(String, Vec<u8>)> {
    ["yaml", "json"].iter().find_map(|ending| {
        let path = folder().join(format!("{id}.{what}.{ending}"));
        Some((format!("{id}.{ending}"), std::fs::read(path).ok()?))
    })
}

/// What is wrong with the case of a code.
fn faults(id: &str, bad: &[u8], name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let outcome = run(name, bad);
    if !outcome.codes().contains(&id) {
        faults.push(format!("{id} is not raised:\n{}", outcome.report()));
    }
    let output = folder().join(format!("{id}.output.txt"));
    if std::env::var_os("ONECALL_UPDATE").is_some() {
        std::fs::write(&output, outcome.report()).unwrap();
    }
    let expected = std::fs::read_to_string(&output).unwrap_or_default();
    if expected != outcome.report() {
        let report = outcome.report();
        faults.push(format!("{id} gives:\n{report}\nnot:\n{expected}"));
    }
    let (_, fixed) = file(id, "fixed").unwrap();
    let fixed_outcome = run(name, &fixed);
    if !fixed_outcome.diagnostics.is_empty() {
        faults.push(format!("{id} fixed:\n{}", fixed_outcome.report()));
    }
    let page = folder().join(format!("../../../docs/diagnostics/{id}.md"));
    let page = std::fs::read_to_string(page).unwrap();
    for shown in [bad, fixed.as_slice()] {
        // Bytes that are no text cannot stand on a page.
        if !page.contains(&without_header(&String::from_utf8_lossy(shown))) {
            faults.push(format!("the page of {id} does not show its files"));
        }
    }
    let shown = expected.rsplit_once("\n\n").map_or("", |(shown, _)| shown);
    if !page.contains(&format!("```text\n{shown}\n```")) {
        faults.push(format!("the page of {id} does not show the output"));
    }
    faults
}

#[test]
fn bad_files_give_exactly_their_output_and_fixed_files_none() {
    let mut failures = Vec::new();
    for code in codes::all() {
        let id = code.as_str();
        if let Some((name, bad)) = file(id, "bad") {
            failures.extend(faults(id, &bad, &name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n---\n"));
}

/// Lines that only set the stage are marked and not shown on the page.
fn without_header(text: &str) -> String {
    match text.split_once("# ---\n") {
        Some((_, rest)) => rest.to_owned(),
        None => text.to_owned(),
    }
}

/// Reads the file as `check --tools FILE --portable toolhive` does; the last only for its own code.
fn run(name: &str, bytes: &[u8]) -> Outcome {
    let outcome = load_bytes(name, bytes);
    let mut found = Vec::new();
    if name.starts_with("WF044") {
        found.extend(notes_of(name, bytes));
    }
    let servers = outcome
        .settings
        .iter()
        .flat_map(|settings| &settings.servers);
    let catalog = catalog();
    for workflow in servers.flat_map(|server| &server.workflows) {
        found.extend(check(workflow, &catalog));
    }
    outcome_with(outcome, found)
}

/// The tools that the cases call.
fn catalog() -> Catalog {
    let text = include_str!("../../../../tests/cases/diagnostics/tools.json");
    let lists: Value = serde_json::from_str(text).unwrap();
    let mut catalog = Catalog::default();
    for (backend, list) in lists.as_object().unwrap() {
        let backend = BackendName::new(backend.as_str());
        catalog.backends.insert(backend.clone(), Knowledge::Live);
        for tool in list["tools"].as_array().unwrap() {
            let tool = onecall_mcp::Tool::from_value(tool.clone()).unwrap();
            catalog.tools.push(CatalogTool {
                name: Some(ToolName::new(format!("{backend}_{}", tool.name()))),
                backend: backend.clone(),
                original: tool.name().to_owned(),
                listed: true,
                tool,
            });
        }
    }
    catalog
}
