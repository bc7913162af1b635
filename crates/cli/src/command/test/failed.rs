//! The rows that failed in the last run of each suite, for `--last-failed`: a small file in the state directory.

use crate::limits::LAST_FAILED_BYTES_MAX;
use crate::wire;
use onecall_journal::private;
use onecall_suite::row::{Row, Verdict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

type Failed = BTreeMap<String, Vec<String>>;

/// The labels of the rows that failed. `None`: the suite was never run.
pub(super) fn of(suite: &Path) -> anyhow::Result<Option<Vec<String>>> {
    Ok(read(&file()?)?.remove(&key(suite)))
}

/// Remembers what failed among these rows. The verdicts of rows that did not run stay.
pub(super) fn store(suite: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let file = file()?;
    let mut all = read(&file)?;
    let own = all.entry(key(suite)).or_default();
    own.retain(|label| rows.iter().all(|row| row.label() != *label));
    let failed = rows
        .iter()
        .filter(|row| matches!(row.verdict, Verdict::Fail | Verdict::Error));
    own.extend(failed.map(Row::label));
    let text = serde_json::to_string(&all)?;
    if text.len() as u64 > LAST_FAILED_BYTES_MAX {
        return Ok(());
    }
    if let Some(directory) = file.parent() {
        private::make_directory(directory)?;
    }
    Ok(private::write(&file, &text)?)
}

fn file() -> anyhow::Result<PathBuf> {
    Ok(wire::state_directory()?.join("last-failed.json"))
}

fn key(suite: &Path) -> String {
    let path = std::path::absolute(suite).unwrap_or_else(|_| suite.to_owned());
    path.display().to_string()
}

/// What the file says; nothing, if it is missing or broken.
fn read(file: &Path) -> anyhow::Result<Failed> {
    let text = private::read(file, LAST_FAILED_BYTES_MAX)?;
    Ok(serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default())
}
