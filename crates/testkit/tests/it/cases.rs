//! The cases of the engine, and that no line of the semantics is without one.

use super::tidy::root;
use onecall_testkit::cases::{Case, read_folder};
use onecall_workflow::stored::hash_text;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

fn engine_cases() -> Vec<Case> {
    read_folder(&root(), "tests/cases/engine").unwrap()
}

#[test]
fn every_case_of_the_engine_holds() {
    hold(&engine_cases());
}

#[test]
fn every_case_of_workflow_files_holds() {
    hold(&read_folder(&root(), "tests/cases/native").unwrap());
}

#[track_caller]
fn hold(cases: &[Case]) {
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{}\n{}\n", case.place(), case.fault()?)))
        .collect();
    assert!(
        faults.is_empty(),
        "{} of {} cases:\n\n{}",
        faults.len(),
        cases.len(),
        faults.join("\n")
    );
    std::io::Write::write_all(
        &mut std::io::stdout(),
        format!("cases: {} run\n", cases.len()).as_bytes(),
    )
    .unwrap();
}

/// The lines of the semantics by name, each with its text.
fn lines() -> BTreeMap<String, String> {
    let page = fs::read_to_string(root().join("docs/semantics.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let lines: BTreeMap<String, String> = rows
        .filter_map(|row| row.split_once("` | "))
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect();
    assert!(lines.len() > 100, "the tables of lines are gone");
    lines
}

#[test]
fn every_line_of_the_semantics_has_a_case() {
    let lines: BTreeSet<String> = lines().into_keys().collect();
    let cases = engine_cases();
    let named: BTreeSet<String> = cases.iter().flat_map(|case| case.ids.clone()).collect();
    let lacking: Vec<&String> = lines.difference(&named).collect();
    assert!(lacking.is_empty(), "lines without a case: {lacking:?}");
    let unknown: Vec<&String> = named.difference(&lines).collect();
    assert!(unknown.is_empty(), "cases of no line: {unknown:?}");
    println!(
        "lines of the semantics: {} · without a case: none",
        lines.len()
    );
}

#[test]
fn a_line_that_changed_is_noticed() {
    let marks = fs::read_to_string(root().join("tests/cases/engine/lines.tsv")).unwrap();
    let marks: BTreeSet<&str> = marks.lines().collect();
    let now: Vec<String> = lines()
        .iter()
        .map(|(name, text)| format!("{name}\t{}", &hash_text(text)[..12]))
        .collect();
    let changed: Vec<&String> = now
        .iter()
        .filter(|line| !marks.contains(line.as_str()))
        .collect();
    assert!(
        changed.is_empty(),
        "these lines changed: look at their cases, then write the marks into lines.tsv:\n{}",
        changed
            .iter()
            .map(|line| line.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    );
    assert_eq!(
        marks.len(),
        now.len(),
        "lines.tsv marks lines that are gone"
    );
}
