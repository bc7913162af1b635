//! How Rust files look: they say what they are for, they are short, they read with limits, no test is ignored.

use super::{File, none, rust_files};

const LINES_MAX: usize = 800;

/// Files that may be longer, each with its reason.
const LONG: &[(&str, &str)] = &[(
    "crates/gotemplate/src/unicode_tables.rs",
    "generated from the tables of the Unicode standard",
)];

/// Reads without a limit that are fine, each with its reason.
const UNBOUNDED: &[(&str, &str)] = &[
    (
        "crates/journal/src/owner.rs",
        "reads small files of the kernel",
    ),
    (
        "crates/testkit/src/cases.rs",
        "reads the cases of this repository",
    ),
];

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/benches/")
}

#[test]
fn every_file_says_what_it_is_for() {
    let faults: Vec<String> = rust_files()
        .iter()
        .filter(|file| !opens_with_description(file))
        .map(|file| format!("{} does not open with `//!`", file.path))
        .collect();
    none(&faults);
}

fn opens_with_description(file: &File) -> bool {
    let first = file.text.lines().next().unwrap_or_default();
    first
        .strip_prefix("//!")
        .is_some_and(|text| text.trim().len() > 5)
}

#[test]
fn files_are_short_and_in_place() {
    let mut faults = Vec::new();
    for file in rust_files() {
        let lines = file.text.lines().count();
        let is_excused = LONG.iter().any(|(path, _)| *path == file.path);
        if lines > LINES_MAX && !is_excused && !is_test(&file.path) {
            faults.push(format!("{} has {lines} lines", file.path));
        }
        if file.path.ends_with("/mod.rs") {
            faults.push(format!("{} should be a file of its own name", file.path));
        }
        for name in ["util", "utils", "common", "helper", "helpers", "imp"] {
            if file.path.ends_with(&format!("/{name}.rs")) {
                faults.push(format!("{} has a name that says nothing", file.path));
            }
        }
    }
    none(&faults);
}

#[test]
fn no_test_is_ignored() {
    let attribute = ["#[ign", "ore"].concat();
    let faults: Vec<String> = rust_files()
        .iter()
        .filter(|file| file.text.contains(&attribute))
        .map(|file| format!("{} ignores a test", file.path))
        .collect();
    none(&faults);
}

#[test]
fn reads_have_a_limit() {
    let mut faults = Vec::new();
    for file in rust_files() {
        let is_excused = UNBOUNDED.iter().any(|(path, _)| *path == file.path);
        if is_excused || is_test(&file.path) || file.path.contains("/examples/") {
            continue;
        }
        faults.extend(unbounded(&file));
    }
    none(&faults);
}

/// Reads of a whole reader or file, without a `take(` on one of the four lines that end there.
fn unbounded(file: &File) -> Vec<String> {
    let words: Vec<String> = [".read_to", "fs::read_to", "io::read_to"]
        .iter()
        .flat_map(|start| [format!("{start}_end("), format!("{start}_string(")])
        .chain(["fs::re".to_owned() + "ad("])
        .collect();
    let lines: Vec<&str> = file.text.lines().collect();
    let mut faults = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let is_read = words.iter().any(|word| line.contains(word.as_str()));
        let before = &lines[index.saturating_sub(3)..=index];
        let is_bounded = before.iter().any(|line| line.contains("take("));
        if is_read && !is_bounded && !line.trim_start().starts_with("//") {
            faults.push(format!("{}:{} reads without a limit", file.path, index + 1));
        }
    }
    faults
}

#[test]
fn a_read_without_a_limit_is_found() {
    let file = |text: &str| File {
        path: "x.rs".to_owned(),
        text: text.to_owned(),
    };
    let read = ["reader.read_to", "_end(&mut bytes)?;"].concat();
    assert_eq!(unbounded(&file(&read)).len(), 1);
    let limited = format!("let mut reader = reader.take(10);\n{read}");
    assert_eq!(unbounded(&file(&limited)).len(), 0);
}

#[test]
fn limits_stand_in_one_file_of_each_crate() {
    let mut faults = Vec::new();
    for file in rust_files() {
        let is_counted = file.path.starts_with("crates/") && file.path.contains("/src/");
        let is_excused = is_test(&file.path)
            || file.path.starts_with("crates/testkit/")
            || file.path.ends_with("/src/limits.rs");
        if !is_counted || is_excused {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            if states_a_limit(line) {
                faults.push(format!("{}:{} belongs to limits.rs", file.path, index + 1));
            }
        }
    }
    none(&faults);
}

/// A constant that is another limit in another type states none.
fn states_a_limit(line: &str) -> bool {
    let line = line.trim_start();
    let Some((before, value)) = line.split_once(" = ") else {
        return false;
    };
    let name = before
        .rsplit_once("const ")
        .and_then(|(_, rest)| rest.split_once(':'));
    name.is_some_and(|(name, _)| name.ends_with("_MAX")) && !value.contains("_MAX")
}
