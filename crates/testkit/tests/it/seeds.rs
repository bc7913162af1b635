//! The examples of the documents, run against scripted backends; every sound one has a run.

use super::tidy::root;
use onecall_config::{Compat, Input, Options, read};
use onecall_source::SourceMap;
use onecall_testkit::cases::{Case, read_folder};
use onecall_workflow::workflow::Workflow;
use std::collections::BTreeSet;
use std::fs;

const FOLDER: &str = "tests/cases/seeds";

/// The documents whose examples are run here.
const DOCUMENTS: [&str; 3] = [
    "composite-tools-page.txt",
    "crd-guide.md",
    "crd-reference.txt",
];

fn runs() -> Vec<Case> {
    read_folder(&root(), FOLDER).unwrap()
}

/// The workflows of an example, published or not.
fn workflows(seed: &str) -> Vec<Workflow> {
    let path = root().join(FOLDER).join(format!("{seed}.yaml"));
    read_workflows(&format!("{seed}.yaml"), fs::read_to_string(path).unwrap())
}

/// The workflows of a text, published or not; none where it has faults.
pub(super) fn read_workflows(name: &str, text: String) -> Vec<Workflow> {
    let mut sources = SourceMap::new();
    let source = sources.add(name.to_owned(), text);
    let environment = |_: &str| None;
    let options = Options {
        environment: &environment,
        compat: Compat::Page,
    };
    let inputs = [Input {
        source,
        named: true,
    }];
    let (settings, _) = read(&sources, &inputs, &options);
    let Some(settings) = settings else {
        return Vec::new();
    };
    let servers = settings.servers.into_iter();
    let published = servers.flat_map(|server| server.workflows);
    published.chain(settings.unpublished).collect()
}

/// The fault of one run; `[seed]` is its only workflow, `[seed, tool]` one of several.
fn fault(case: &Case) -> Option<String> {
    let all = workflows(&case.ids[0]);
    let found = match case.ids.get(1) {
        Some(tool) => all.iter().find(|workflow| workflow.name == tool.as_str()),
        None => all.first().filter(|_| all.len() == 1),
    };
    match found {
        Some(workflow) => case.fault_with(workflow),
        None => Some(format!("{} workflows, and none is meant", all.len())),
    }
}

#[test]
fn every_run_of_an_example_holds() {
    let cases = runs();
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{}\n{}\n", case.place(), fault(case)?)))
        .collect();
    assert!(
        faults.is_empty(),
        "{} of {} runs:\n\n{}",
        faults.len(),
        cases.len(),
        faults.join("\n")
    );
    println!("examples: {} runs", cases.len());
}

#[test]
fn every_sound_example_is_run() {
    let cases = runs();
    let run: BTreeSet<(&str, Option<&str>)> = cases
        .iter()
        .map(|case| (case.ids[0].as_str(), case.ids.get(1).map(String::as_str)))
        .collect();
    let table = fs::read_to_string(root().join(FOLDER).join("table.tsv")).unwrap();
    let mut count = 0;
    for row in table.lines().filter(|row| !row.starts_with('#')) {
        let cells: Vec<&str> = row.split('\t').collect();
        let seed = cells[3];
        if seed == "-" || !DOCUMENTS.contains(&cells[0]) {
            continue;
        }
        let all = workflows(seed);
        let fails_on_purpose = cells[4].contains(": ");
        assert_eq!(all.is_empty(), fails_on_purpose, "{seed}");
        for workflow in &all {
            let tool = (all.len() > 1).then(|| workflow.name.as_str());
            let is_run = run.contains(&(seed, tool));
            assert!(is_run, "{seed} {} is not run", workflow.name);
            count += 1;
        }
    }
    assert!(count >= 46, "only {count} workflows are run");
}
