//! One workflow in three dialects: one printed form, one hash, one trace. `ONECALL_UPDATE=1` writes the printed
//! forms and traces anew.

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
    let mut sources = SourceMap::new();
    let source = sources.add(format!("{dialect}.yaml"), file(dialect, case));
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
    let settings = settings.unwrap_or_else(|| panic!("{}: {dialect}\n{report}", case.place()));
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

#[test]
fn one_workflow_means_the_same_in_every_dialect() {
    let folder = root().join("tests/cases/equivalent");
    let cases = read_folder(&root(), "tests/cases/equivalent").unwrap();
    assert!(cases.len() >= 12, "only {} workflows", cases.len());
    let is_update = std::env::var_os("ONECALL_UPDATE").is_some();
    for case in &cases {
        let [toolhive, mcptest, native] = DIALECTS.map(|dialect| told(dialect, case));
        let place = case.place();
        assert_eq!(
            toolhive.0, mcptest.0,
            "{place}: printed, toolhive and mcptest"
        );
        assert_eq!(
            toolhive.0, native.0,
            "{place}: printed, toolhive and native"
        );
        assert_eq!(toolhive, mcptest, "{place}: toolhive and mcptest");
        assert_eq!(toolhive, native, "{place}: toolhive and native");
        if is_update {
            let path = folder.join(&case.file);
            let text = std::fs::read_to_string(&path).unwrap();
            let kept = text.split("```printed").next().unwrap().trim_end();
            let (printed, _, trace, _) = &toolhive;
            let text = format!("{kept}\n\n```printed\n{printed}```\n\n```trace\n{trace}```\n");
            std::fs::write(&path, text).unwrap();
        } else {
            assert_eq!(Some(toolhive.0.as_str()), case.block("printed"), "{place}");
            assert_eq!(Some(toolhive.2.as_str()), case.block("trace"), "{place}");
        }
        println!("{place}: {}", toolhive.1);
    }
}
