//! Damaged files: whatever is cut out of a file, reading it ends, and every fault has a place in it.

use crate::world::load;
use onecall_workflow::catalog::Catalog;
use std::path::Path;

fn files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/seeds");
    let mut paths: Vec<_> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let yaml = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|own| own == "yaml"));
    yaml.map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

/// Reads, and does with the result what commands do.
fn exercise(text: &str) {
    let outcome = load(&[("damaged.yaml", text)]);
    for found in &outcome.diagnostics {
        let place = found.place().expect("every fault has a place");
        assert!(!outcome.sources.describe(place).is_empty());
        assert!(
            !found.help.is_empty() || found.code.as_str() < "WF030",
            "{}",
            found.code
        );
    }
    outcome.report();
    let Some(settings) = outcome.settings else {
        assert!(
            outcome.diagnostics.has_errors(),
            "no settings, and no reason:\n{text}"
        );
        return;
    };
    for workflow in settings.servers.iter().flat_map(|server| &server.workflows) {
        onecall_workflow::print::print(workflow);
        onecall_workflow::graph::text(workflow, "");
        onecall_workflow::check::check(workflow, &Catalog::default());
    }
}

#[test]
fn files_without_any_one_line() {
    for text in files() {
        let lines: Vec<&str> = text.lines().collect();
        for left_out in 0..lines.len() {
            let mut kept = lines.clone();
            kept.remove(left_out);
            exercise(&kept.join("\n"));
        }
    }
}

#[test]
fn files_cut_off_anywhere_in_their_middle() {
    for text in files() {
        for end in (0..text.len()).step_by(17) {
            exercise(&text[..text.floor_char_boundary(end)]);
        }
    }
}

#[test]
fn files_with_values_of_other_types() {
    for text in files() {
        for (from, to) in [
            (": '", ": ['"),
            ("- id:", "- - id:"),
            (": ", ": &a "),
            ("{{", "{{{"),
            ("  ", " "),
            ("[", "{"),
        ] {
            exercise(&text.replacen(from, to, 1));
            exercise(&text.replace(from, to));
        }
    }
}
