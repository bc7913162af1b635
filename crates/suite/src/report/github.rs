//! Workflow commands of GitHub: an annotation on the line of each row that did not pass.

use crate::row::{Row, Verdict};
use onecall_source::{Place, SourceMap};

/// The annotations of the rows that failed.
pub fn annotations(rows: &[Row], sources: &SourceMap) -> Vec<String> {
    let failed = rows
        .iter()
        .filter(|row| matches!(row.verdict, Verdict::Fail | Verdict::Error));
    failed.map(|row| annotation(row, sources)).collect()
}

fn annotation(row: &Row, sources: &SourceMap) -> String {
    let mut failed = row
        .assertions
        .iter()
        .filter(|own| own.verdict == crate::row::Checked::Fail);
    let place = failed.find_map(|own| own.place.as_ref());
    let properties = match place.unwrap_or(&row.place) {
        Place::Span(span) => {
            let start = sources.position(*span);
            format!(
                " file={},line={},col={}",
                property(&row.suite),
                start.line,
                start.column
            )
        }
        Place::Path(_) => format!(" file={}", property(&row.suite)),
    };
    let text = format!("{}: {}", row.label(), row.reasons().join("\n"));
    format!("::error{properties}::{}", escaped(&text))
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property ends at a colon or a comma.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
