//! `--trace`: what each node of the run was given, gave and took, as JSON. Sensitive values are covered.

use crate::exit::usage;
use crate::print;
use anyhow::Context;
use onecall_engine::identity::RunId;
use onecall_runtime::nodes;
use onecall_runtime::runtime::Runtime;
use onecall_runtime::sensitive::masked;
use std::path::Path;

/// Refuses a file that could not be written, before anything is called.
pub(super) fn refuse(file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().filter(|own| !own.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(usage(format!(
            "the trace cannot be written: there is no folder `{}`",
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// Prints the trace after the result where the file is `-`.
pub(super) async fn write(runtime: &Runtime, run: &RunId, file: &Path) -> anyhow::Result<()> {
    let stored = runtime.journal().load(run).await?;
    let stored = stored.context("the run was not stored, so it has no trace")?;
    let text = serde_json::to_string_pretty(&nodes::of_stored(&masked(stored)?)?)?;
    if file.as_os_str() == "-" {
        print::data(text);
        return Ok(());
    }
    std::fs::write(file, text + "\n").with_context(|| format!("cannot write `{}`", file.display()))
}
