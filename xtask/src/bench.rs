//! Benchmarks: ratios against the bare work in the same run, never a timed test.

use crate::part::{root, say};
use anyhow::{Context, bail};
use std::process::Command;

/// Builds in release and runs one benchmark, whose table goes to stdout.
pub(crate) fn run(name: &str) -> anyhow::Result<bool> {
    let words: &[&str] = match name {
        "gotemplate" => &["--package", "onecall-gotemplate", "--example", "bench"],
        _ => bail!("no benchmark is named `{name}`; there is gotemplate"),
    };
    say(&format!("── bench {name}"));
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "--release"])
        .args(words)
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot run benchmark `{name}`"))?;
    Ok(status.success())
}
