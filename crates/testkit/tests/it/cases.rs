//! The cases of the engine, and that no line of the semantics is without one.

use super::tidy::root;
use onecall_testkit::cases::{Case, read_folder};
use std::collections::BTreeSet;
use std::fs;

fn engine_cases() -> Vec<Case> {
    read_folder(&root().join("tests/cases/engine")).unwrap()
}

#[test]
fn every_case_of_the_engine_holds() {
    let cases = engine_cases();
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
    println!("engine cases: {} run", cases.len());
}

#[test]
fn every_line_of_the_semantics_has_a_case() {
    let page = fs::read_to_string(root().join("tests/cases/engine/README.md")).unwrap();
    let lines: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_owned)
        .collect();
    assert!(lines.len() > 50, "the table of lines is gone");
    let cases = engine_cases();
    let named: BTreeSet<String> = cases.iter().flat_map(|case| case.ids.clone()).collect();
    let lacking: Vec<&String> = lines.difference(&named).collect();
    assert!(lacking.is_empty(), "lines without a case: {lacking:?}");
    let unknown: Vec<&String> = named.difference(&lines).collect();
    assert!(unknown.is_empty(), "cases of no line: {unknown:?}");
}
