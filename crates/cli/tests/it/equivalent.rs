//! One workflow in every dialect that can say it: one printed form, one hash, one trace, and the same printed form once
//! converted. `ONECALL_UPDATE=1` writes the printed forms and traces anew.

use crate::support::root;
use onecall_config::{Compat, Input, Options, read};
use onecall_runtime::nodes;
use onecall_source::SourceMap;
use onecall_source::render::{self, TextOptions};
use onecall_testkit::cases::{Case, events, play, read_folder};
use onecall_workflow::print::print;
use onecall_workflow::stored::workflow_hash;
use onecall_workflow::workflow::Workflow;

const DIALECTS: [&str; 3] = ["toolhive", "mcptest", "native"];

/// The file around the block of a dialect; the name and description of the workflow are those of the case.
fn file(dialect: &str, case: &Case) -> String {
    let name = case.file.trim_end_matches(".md");
    let named = format!("name: {name}\n  description: {}\n", case.title);
    let block = case
        .block(dialect)
        .unwrap_or_else(|| panic!("{}: no {dialect}", case.place()));
    let mut indented = String::new();
    for line in block.lines() {
        indented.push_str("  ");
        indented.push_str(line);
        indented.push('\n');
    }
    match dialect {
        "toolhive" => format!(
            "name: d\nbackends: [{{name: t, url: \"http://t/mcp\"}}]\ncompositeTools:\n- {named}{indented}"
        ),
        "mcptest" => {
            format!("servers: {{t: {{command: [t]}}}}\ncompositions:\n- {named}{indented}")
        }
        _ => format!("workflow: {name}\ndescription: {}\n{block}", case.title),
    }
}

fn workflow(dialect: &str, case: &Case) -> Workflow {
    read_file(&format!("{dialect}.yaml"), file(dialect, case))
}

fn read_file(name: &str, text: String) -> Workflow {
    let mut sources = SourceMap::new();
    let source = sources.add(name.to_owned(), text);
    let environment = |_: &str| None;
    let options = Options {
        environment: &environment,
        compat: Compat::Page,
    };
    let input = Input {
        source,
        named: true,
    };
    let (settings, diagnostics) = read(&sources, &[input], &options);
    let report = render::report(&diagnostics, &sources, TextOptions::default());
    let settings = settings.unwrap_or_else(|| panic!("{name}\n{report}"));
    let mut workflows = settings.workflows();
    workflows.next().unwrap().clone()
}

/// The printed form, the hash, and what happens in the world of the case.
fn told(dialect: &str, case: &Case) -> (String, String, String, String) {
    let workflow = workflow(dialect, case);
    let played = play(&workflow, case.block("script").unwrap_or("{}")).unwrap();
    let trace = serde_json::to_string_pretty(&nodes::of(&played.state)).unwrap() + "\n";
    let hash = workflow_hash(&workflow);
    (print(&workflow), hash, trace, events(&played))
}

/// The dialects that can say the case; the others are named with the reason.
fn dialects(case: &Case) -> Vec<&'static str> {
    let without = case.block("without").unwrap_or_default();
    let is_left_out = |dialect: &&str| without.starts_with(&format!("{dialect}: "));
    let kept: Vec<&str> = DIALECTS
        .into_iter()
        .filter(|dialect| !is_left_out(dialect))
        .collect();
    assert_eq!(kept.len() < 3, !without.is_empty(), "{}", case.place());
    kept
}

#[test]
fn one_workflow_means_the_same_in_every_dialect() {
    let folder = root().join("tests/cases/equivalent");
    let cases = read_folder(&root(), "tests/cases/equivalent").unwrap();
    let in_all = cases
        .iter()
        .filter(|case| dialects(case).len() == 3)
        .count();
    assert!(in_all >= 12, "only {in_all} workflows are in all dialects");
    let is_update = std::env::var_os("ONECALL_UPDATE").is_some();
    for case in &cases {
        let place = case.place();
        let dialects = dialects(case);
        let (native, others) = dialects.split_last().unwrap();
        let native = told(native, case);
        for dialect in others {
            let other = told(dialect, case);
            assert_eq!(other.0, native.0, "{place}: printed, {dialect} and native");
            assert_eq!(other, native, "{place}: {dialect} and native");
            let converted = onecall_dialects::native::write(&workflow(dialect, case));
            let again = read_file("converted.workflow.yaml", converted.clone());
            assert_eq!(
                print(&again),
                native.0,
                "{place}: {dialect}, converted\n{converted}"
            );
        }
        if is_update {
            let path = folder.join(&case.file);
            let text = std::fs::read_to_string(&path).unwrap();
            let kept = text.split("```printed").next().unwrap().trim_end();
            let (printed, _, trace, _) = &native;
            let text = format!("{kept}\n\n```printed\n{printed}```\n\n```trace\n{trace}```\n");
            std::fs::write(&path, text).unwrap();
        } else {
            assert_eq!(Some(native.0.as_str()), case.block("printed"), "{place}");
            assert_eq!(Some(native.2.as_str()), case.block("trace"), "{place}");
        }
        println!("{place} ({}): {}", dialects.join(", "), native.1);
    }
}
