//! Every example, written as a workflow file, is the same workflow again.

use crate::world::load;
use onecall_config::settings::Settings;
use onecall_dialects::native;
use onecall_workflow::print::print;
use onecall_workflow::workflow::Workflow;
use std::path::Path;

fn check(name: &str, workflow: &Workflow) {
    let text = native::write(workflow);
    let outcome = load(&[("converted.workflow.yaml", &text)]);
    let Some(settings) = &outcome.settings else {
        panic!("{name}: {}\n{text}", outcome.report());
    };
    let again = settings.workflows().next().unwrap();
    assert_eq!(print(again), print(workflow), "{name}:\n{text}");
}

/// How many workflows of the folder were converted. Files with errors hold none.
fn convert_all(folder: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/cases")
        .join(folder);
    let mut count = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|own| own != "yaml") {
            continue;
        }
        // One of the cases is not UTF-8 at all.
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let outcome = load(&[(name.as_str(), &text)]);
        for workflow in outcome.settings.iter().flat_map(Settings::workflows) {
            check(&name, workflow);
            count += 1;
        }
    }
    count
}

#[test]
fn every_example_of_the_documents_converts() {
    let count = convert_all("seeds");
    assert!(count > 45, "only {count} workflows were converted");
    println!("{count} workflows converted");
}

#[test]
fn every_sound_case_of_a_diagnostic_converts() {
    assert!(convert_all("diagnostics") > 60);
}

#[test]
fn every_example_of_the_guide_is_written_as_it_was_read() {
    let page = include_str!("../../../../docs/workflow-file.md");
    let blocks = page.split("```yaml\n").skip(1);
    let blocks: Vec<&str> = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    assert!(blocks.len() > 8);
    for text in blocks {
        let outcome = load(&[("shown.workflow.yaml", text)]);
        let workflow = outcome.settings.iter().flat_map(Settings::workflows).next();
        check(text, workflow.unwrap());
    }
}
