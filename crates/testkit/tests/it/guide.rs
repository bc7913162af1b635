//! The examples of the guide to workflow files: every one of them is run, with scripted tools and people.

use super::seeds::read_workflows;
use super::tidy::root;
use onecall_testkit::cases::read_folder;
use onecall_workflow::workflow::Workflow;
use std::collections::BTreeSet;

/// The workflows that the guide shows.
fn shown() -> Vec<Workflow> {
    let page = std::fs::read_to_string(root().join("docs/workflow-file.md")).unwrap();
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split_once("```"));
    let read = |text: &str| read_workflows("shown.workflow.yaml", text.to_owned());
    blocks.flat_map(|(text, _)| read(text)).collect()
}

#[test]
fn every_example_of_the_guide_is_run() {
    let workflows = shown();
    let cases = read_folder(&root(), "tests/cases/guide").unwrap();
    let mut faults = Vec::new();
    for case in &cases {
        let found = workflows
            .iter()
            .find(|workflow| workflow.name == case.ids[0].as_str());
        let fault = match found {
            Some(workflow) => case.fault_with(workflow),
            None => Some("the guide shows no such workflow".to_owned()),
        };
        faults.extend(fault.map(|fault| format!("{}\n{fault}\n", case.place())));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let run: BTreeSet<&str> = cases.iter().map(|case| case.ids[0].as_str()).collect();
    for workflow in &workflows {
        assert!(
            run.contains(workflow.name.as_str()),
            "`{}` is not run",
            workflow.name
        );
    }
    assert!(workflows.len() > 8, "only {} examples", workflows.len());
}
