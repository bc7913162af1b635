//! The file of a baseline.

use super::tapes::replace;
use crate::limits::TAPE_BYTES_MAX;
use crate::print;
use anyhow::Context;
use onecall_suite::Baseline;
use onecall_suite::row::Row;
use std::io::Read as _;
use std::path::Path;

pub(super) fn read(file: &Path) -> anyhow::Result<Baseline> {
    let wrong = || {
        let shown = file.display();
        format!("the baseline `{shown}` cannot be read; `--update-baseline` writes it")
    };
    let mut text = String::new();
    let opened = std::fs::File::open(file).with_context(wrong)?;
    opened
        .take(TAPE_BYTES_MAX)
        .read_to_string(&mut text)
        .with_context(wrong)?;
    serde_json::from_str(&text).with_context(wrong)
}

/// Rows that did not run keep what the file says of them.
pub(super) fn update(file: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let mut baseline = if file.exists() {
        read(file)?
    } else {
        Baseline::default()
    };
    baseline.update(rows);
    let text = serde_json::to_string_pretty(&baseline)? + "\n";
    replace(file, &text).with_context(|| format!("cannot write `{}`", file.display()))?;
    print::err(format!("baseline: `{}`", file.display()));
    Ok(())
}
