//! Benchmarks and the simulator: programs of the workspace, built in release and run.
//! Speed is told as ratios against the bare work in the same run, never by a timed test.

use crate::part::{root, say};
use anyhow::{Context, bail};
use std::process::Command;

/// Benchmarks by name: package and example.
const BENCHES: &[(&str, &str, &str)] = &[
    ("gotemplate", "onecall-gotemplate", "bench"),
    ("backends", "onecall-backends", "bench"),
    ("engine", "onecall-testkit", "engine"),
    ("journal", "onecall-journal", "append_cost"),
    ("check", "onecall-config", "bench"),
];

/// Runs one benchmark, whose table goes to stdout.
pub(crate) fn run(name: &str, words: &[&str]) -> anyhow::Result<bool> {
    let Some((_, package, example)) = BENCHES.iter().find(|(own, _, _)| *own == name) else {
        let names: Vec<&str> = BENCHES.iter().map(|(own, _, _)| *own).collect();
        bail!(
            "no benchmark is named `{name}`; there are {}",
            names.join(", ")
        );
    };
    example_of(package, example, words)
}

/// `cargo xtask sim --runs N --seed S [--break NAME]`.
pub(crate) fn sim(words: &[&str]) -> anyhow::Result<bool> {
    example_of("onecall-testkit", "sim", words)
}

fn example_of(package: &str, example: &str, words: &[&str]) -> anyhow::Result<bool> {
    say(&format!("── {package} {example} {}", words.join(" ")));
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            package,
            "--example",
            example,
            "--",
        ])
        .args(words)
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot run `{example}` of `{package}`"))?;
    Ok(status.success())
}
