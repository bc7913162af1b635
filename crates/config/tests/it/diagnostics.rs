//! Every code has a bad file, its exact output, and the file after applying the help, which checks clean.
//! The page of the code shows the same two files. `ONECALL_UPDATE=1` writes the outputs anew.

use crate::world::{Outcome, load, outcome_with};
use onecall_source::codes;
use onecall_workflow::catalog::{Catalog, CatalogTool, Knowledge};
use onecall_workflow::check::check;
use onecall_workflow::name::{BackendName, ToolName};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Codes that only `source` raises; its own tests hold their cases.
const OF_SOURCE: std::ops::RangeInclusive<&str> = "WF001"..="WF013";
/// Codes without a file of this kind, with the reason.
const ELSEWHERE: [(&str, &str); 4] = [
    ("WF016", "raised for JSON files, tested in `source`"),
    ("WF044", "raised by the portability check only"),
    ("WF310", "needs a lock file, tested in `workflow` and `cli`"),
    ("WF311", "raised for the lock file, tested in `cli`"),
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
        let elsewhere = OF_SOURCE.contains(&id) || ELSEWHERE.iter().any(|(own, _)| *own == id);
        assert!(
            elsewhere != cases.contains(id),
            "{id}: a case, or a reason for none"
        );
    }
    for case in cases {
        assert!(codes::find(&case).is_some(), "case without a code: {case}");
    }
}

#[test]
fn bad_files_give_exactly_their_output_and_fixed_files_none() {
    let mut failures = Vec::new();
    for code in codes::all() {
        let id = code.as_str();
        let bad = folder().join(format!("{id}.bad.yaml"));
        let Ok(text) = std::fs::read_to_string(&bad) else {
            continue;
        };
        let outcome = run(&format!("{id}.yaml"), &text);
        if !outcome.codes().contains(&id) {
            failures.push(format!("{id} is not raised:\n{}", outcome.report()));
        }
        let output = folder().join(format!("{id}.output.txt"));
        if std::env::var_os("ONECALL_UPDATE").is_some() {
            std::fs::write(&output, outcome.report()).unwrap();
        }
        let expected = std::fs::read_to_string(&output).unwrap_or_default();
        if expected != outcome.report() {
            failures.push(format!(
                "{id} gives:\n{}\nnot:\n{expected}",
                outcome.report()
            ));
        }
        let fixed = std::fs::read_to_string(folder().join(format!("{id}.fixed.yaml"))).unwrap();
        let fixed_outcome = run(&format!("{id}.yaml"), &fixed);
        if !fixed_outcome.diagnostics.is_empty() {
            failures.push(format!("{id} fixed:\n{}", fixed_outcome.report()));
        }
        let page = folder().join(format!("../../../docs/diagnostics/{id}.md"));
        let page = std::fs::read_to_string(page).unwrap();
        for shown in [&text, &fixed] {
            if !page.contains(&without_header(shown)) {
                failures.push(format!("the page of {id} does not show its files"));
            }
        }
        let shown = expected.rsplit_once("\n\n").map_or("", |(shown, _)| shown);
        if !page.contains(&format!("```text\n{shown}\n```")) {
            failures.push(format!("the page of {id} does not show the output"));
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

/// Reads the file and checks its workflows against a small catalog.
fn run(name: &str, text: &str) -> Outcome {
    let outcome = load(&[(name, text)]);
    let Some(settings) = &outcome.settings else {
        return outcome;
    };
    let catalog = catalog();
    let mut found = Vec::new();
    for workflow in settings.servers.iter().flat_map(|server| &server.workflows) {
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
