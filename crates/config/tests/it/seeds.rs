//! Every example of the documents this dialect comes from is read as it stands, completed where it is a fragment.
//! The table maps line ranges of the documents to cases; deliberate failures assert their message.

use crate::world::load;
use onecall_config::key_table::part;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/seeds")
}

struct Row {
    document: String,
    from: usize,
    to: usize,
    case: String,
    expected: String,
}

fn table() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("table.tsv")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        Row {
            document: cells[0].to_owned(),
            from: cells[1].parse().unwrap(),
            to: cells[2].parse().unwrap(),
            case: cells[3].to_owned(),
            expected: cells[4].to_owned(),
        }
    })
    .collect()
}

/// A document that examples come from, as it was when the table was made.
struct Document {
    name: String,
    lines: usize,
    digest: String,
}

fn documents() -> Vec<Document> {
    let text = std::fs::read_to_string(folder().join("documents.tsv")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        Document {
            name: cells[0].to_owned(),
            lines: cells[1].parse().unwrap(),
            digest: cells[2].to_owned(),
        }
    })
    .collect()
}

/// The rows of a document, which follow each other from its first line to its last.
fn rows_of<'t>(document: &Document, table: &'t [Row]) -> Vec<&'t Row> {
    let rows: Vec<&Row> = table
        .iter()
        .filter(|row| row.document == document.name)
        .collect();
    let mut next = 1;
    for row in &rows {
        assert_eq!(row.from, next, "{}: a gap or an overlap", document.name);
        assert!(row.to >= row.from, "{}: line {next}", document.name);
        next = row.to + 1;
    }
    assert_eq!(next, document.lines + 1, "{}: its end", document.name);
    rows
}

#[test]
fn the_table_has_no_gaps() {
    let (table, documents) = (table(), documents());
    let covered: usize = documents
        .iter()
        .map(|document| rows_of(document, &table).len())
        .sum();
    assert_eq!(covered, table.len(), "a row of an unknown document");
    let named: BTreeSet<String> = table
        .iter()
        .map(|row| format!("{}.yaml", row.case))
        .collect();
    for entry in folder().read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            ["table.tsv", "documents.tsv", "runs.md"].contains(&name.as_str())
                || named.contains(&name),
            "{name} is in no row"
        );
    }
}

/// Whether a part of the key table has a key, by itself or by a part it includes.
fn has_key(of: &str, name: &str) -> bool {
    part(of).is_some_and(|own| {
        own.keys.iter().any(|key| key.name == name)
            || own.includes.iter().any(|below| has_key(below, name))
    })
}

#[test]
fn lines_without_a_case_are_shown_by_keys_and_tests_that_exist() {
    let tests = [
        include_str!("resources.rs"),
        include_str!("rules.rs"),
        include_str!("keys.rs"),
    ];
    for row in table().iter().filter(|row| row.case == "-") {
        if let Some(keys) = row.expected.strip_prefix("keys ") {
            let (of, names) = keys.split_once(": ").unwrap();
            for name in names.split(", ") {
                assert!(has_key(of, name), "no key `{name}` in `{of}`");
            }
        } else if let Some(name) = row.expected.strip_prefix("test ") {
            let written = format!("#[test]\nfn {name}(");
            assert!(
                tests.iter().any(|text| text.contains(&written)),
                "no test {name}"
            );
        } else {
            assert!(!row.expected.is_empty(), "{} {}", row.document, row.from);
        }
    }
}

#[test]
fn the_table_is_that_of_the_documents_themselves() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/seeds");
    if !beside.is_dir() {
        // Written past the test harness, which captures `println!`: the run counts what was skipped.
        let name = "the_table_is_that_of_the_documents_themselves";
        let _ = writeln!(
            std::io::stdout(),
            "\nskipped: {name} (the documents are not next to the checkout)"
        );
        return;
    }
    let table = table();
    for document in documents() {
        let bytes = std::fs::read(beside.join(&document.name)).unwrap();
        let digest = Sha256::digest(&bytes);
        let mut shown = String::new();
        for byte in digest {
            let _ = write!(shown, "{byte:02x}");
        }
        assert_eq!(shown, document.digest, "{}", document.name);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.lines().count(), document.lines, "{}", document.name);
        let rows = rows_of(&document, &table);
        for (index, line) in text.lines().enumerate() {
            let is_example = ["- id: ", "apiVersion: ", "compositions:", "compositeTools:"]
                .iter()
                .any(|start| line.trim_start().starts_with(start));
            let row = rows
                .iter()
                .find(|row| (row.from..=row.to).contains(&(index + 1)));
            assert!(
                !is_example || row.is_some_and(|row| row.expected != "prose"),
                "{}, line {}: an example in prose",
                document.name,
                index + 1
            );
        }
    }
}

#[test]
fn every_example_gives_what_its_row_says() {
    let mut failures = Vec::new();
    for row in table().iter().filter(|row| row.case != "-") {
        let name = format!("{}.yaml", row.case);
        let text = std::fs::read_to_string(folder().join(&name)).unwrap();
        let place = format!("{}, lines {}-{}", row.document, row.from, row.to);
        assert!(
            text.starts_with(&format!("# {place}.")),
            "{name} says where it is from"
        );
        let outcome = load(&[(name.as_str(), &text)]);
        let fits = if let Some((code, message)) = row.expected.split_once(": ") {
            outcome.diagnostics.iter().any(|found| {
                found.is_error() && found.code.as_str() == code && found.message == message
            })
        } else {
            let mut codes = outcome.codes();
            codes.dedup();
            outcome.settings.is_some() && codes.join(",") == row.expected
        };
        if !fits {
            failures.push(format!(
                "{name}, expected {}:\n{}",
                row.expected,
                outcome.report()
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n---\n"));
}
