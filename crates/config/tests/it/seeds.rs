//! Every example of the documents this dialect comes from is read as it stands, completed where it is a fragment.
//! The table maps line ranges of the documents to cases; deliberate failures assert their message.

use crate::world::load;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many examples each document has, so that a row cannot be lost unseen.
const EXAMPLES: [(&str, usize); 4] = [
    ("composite-tools-page.txt", 22),
    ("crd-guide.md", 24),
    ("crd-reference.txt", 1),
    ("mcptest-compositions.txt", 13),
];

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

#[test]
fn the_table_has_no_gaps() {
    let rows = table();
    for (document, count) in EXAMPLES {
        let own: Vec<&Row> = rows.iter().filter(|row| row.document == document).collect();
        assert_eq!(own.len(), count, "examples of {document}");
        for pair in own.windows(2) {
            assert!(
                pair[0].to < pair[1].from,
                "{document}: {} overlaps",
                pair[1].case
            );
        }
    }
    let named: BTreeSet<String> = rows
        .iter()
        .map(|row| format!("{}.yaml", row.case))
        .collect();
    for entry in folder().read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            ["table.tsv", "runs.md"].contains(&name.as_str()) || named.contains(&name),
            "{name} is in no row"
        );
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
