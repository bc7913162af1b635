//! The statements of the compositions page, as suites that the real binary runs, and the examples of suites.

use crate::support::{root, run};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The suites of a directory, by name.
fn suites(directory: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(directory)).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let is_suite = |file: &PathBuf| file.extension().is_some_and(|own| own == extension);
    let mut files: Vec<PathBuf> = files.filter(is_suite).collect();
    files.sort();
    files
}

#[test]
fn every_case_prints_what_its_file_says() {
    let home = tempfile::tempdir().unwrap();
    let answers = root().join("tests/cases/suites/answers.json");
    let files = suites("tests/cases/suites", "yaml");
    assert!(files.len() >= 10, "the cases are gone");
    let mut problems = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("answers.json", &answers.display().to_string());
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let own = home.path().join(&name);
        std::fs::write(&own, text).unwrap();
        let ran = run(home.path(), &["test", &own.display().to_string()]);
        let mut shown = String::new();
        for line in ran.out.lines() {
            // The time of a slow row.
            let line = line
                .strip_suffix(" s)")
                .and_then(|line| line.rsplit_once(" ("))
                .map_or(line, |(line, _)| line);
            let _ = writeln!(shown, "{line}");
        }
        let codes = ran.err.lines().filter(|line| line.starts_with("error"));
        for line in codes {
            let _ = writeln!(shown, "{line}");
        }
        let _ = writeln!(shown, "[exit {}]", ran.code.unwrap());
        let expected = file.with_extension("txt");
        if std::env::var_os("ONECALL_UPDATE").is_some() {
            std::fs::write(&expected, &shown).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != shown {
            problems.push(format!("{name} gives:\n{shown}{}", ran.err));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n---\n"));
}

#[test]
fn every_example_passes() {
    let home = tempfile::tempdir().unwrap();
    let files = suites("examples/suites", "yml");
    assert_eq!(files.len(), 2);
    for file in files {
        let file = file.display().to_string();
        let ran = run(home.path(), &["test", &file, "--deny-empty"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        if file.ends_with("composition-full.yml") {
            let row = "composition [PASS] render-readme-with-auth-check";
            for case in ["common-query", "empty-query"] {
                assert!(ran.out.contains(&format!("{row} [{case}]")), "{ran:?}");
            }
            assert!(
                ran.out.contains("ran 2 composition(s): 2 passed, 0 failed"),
                "{ran:?}"
            );
        }
        let check = run(home.path(), &["check", &file]);
        assert_eq!(check.code, Some(0), "{check:?}");
    }
}

#[test]
fn plans_pages_and_baselines_are_made() {
    let home = tempfile::tempdir().unwrap();
    let directory = root().join("tests/cases/suites");
    let answers = directory.join("answers.json").display().to_string();
    let text = std::fs::read_to_string(directory.join("budget.yaml")).unwrap();
    let file = home.path().join("budget.yaml");
    std::fs::write(&file, text.replace("answers.json", &answers)).unwrap();
    let file = file.display().to_string();
    let plan = run(home.path(), &["test", &file, "--plan"]);
    assert_eq!(plan.code, Some(0), "{plan:?}");
    assert!(
        plan.out
            .contains("gated: 1 rows x 2 nodes, 2 calls, at most $0.05"),
        "{plan:?}"
    );

    let page = home.path().join("report.html").display().to_string();
    let ran = run(
        home.path(),
        &["test", &file, "--format", "html", "--output", &page],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg"));

    let baseline = home.path().join("baseline.json");
    let named = baseline.display().to_string();
    let only = ["test", &file, "--filter", "within", "--baseline", &named];
    let missing = run(home.path(), &only);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.err.contains("--update-baseline"), "{missing:?}");
    let taken = run(home.path(), &[&only[..], &["--update-baseline"]].concat());
    assert_eq!(taken.code, Some(0), "{taken:?}");
    assert!(
        taken
            .out
            .contains("spent by node within/a: $0.1, 100 tokens"),
        "{taken:?}"
    );
    assert_eq!(run(home.path(), &only).code, Some(0));
    let text = std::fs::read_to_string(&baseline).unwrap();
    std::fs::write(&baseline, text.replace("\"tokens\": 100", "\"tokens\": 50")).unwrap();
    let above = run(home.path(), &only);
    assert_eq!(above.code, Some(1), "{above:?}");
    assert!(
        above.out.contains("above the baseline: tokens 100, was 50"),
        "{above:?}"
    );
}

#[test]
fn a_misspelt_field_fails_its_node_when_a_composition_is_called() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("suite.yaml");
    let path = file.display().to_string();
    let called = |more: &str| {
        let text = format!(
            "compositions:\n- name: c\n  nodes:\n  - {{id: a, tool: t, mock: {{result: {{n: 1}}}}}}\n  - {{id: b, needs: [a], tool: t, args: {{x: \"${{a.typo}}\", y: \"${{var.y}}\"}}, mock: {{result: 2}}{more}}}\n"
        );
        std::fs::write(&file, text).unwrap();
        run(home.path(), &["call", &path, "c", "--ephemeral"])
    };
    let ran = called("");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("`a.typo` has no value"), "{ran:?}");
    let lenient = called(", policy: {missing: leave_out}");
    assert_eq!(lenient.code, Some(0), "{lenient:?}");
    let converted = run(home.path(), &["convert", &path, "--to", "native"]);
    assert!(!converted.out.contains("missing:"), "{converted:?}");
}
