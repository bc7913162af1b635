//! Benchmarks, of what is handed out, and the simulator: programs of the workspace, built and run.
//! Speed is told as ratios against the bare work in the same run, never by a timed test.

use crate::cargo::{Profile, example, program};
use crate::part::{root, say};
use anyhow::{Context, bail};
use std::process::Command;

/// Benchmarks by name: package and example.
const BENCHES: &[(&str, &str, &str)] = &[
    ("gotemplate", "onecall-gotemplate", "bench"),
    ("backends", "onecall-backends", "round_trips"),
    ("engine", "onecall-testkit", "engine"),
    ("journal", "onecall-journal", "append_cost"),
    ("check", "onecall-config", "check_cost"),
    ("gateway", "onecall-testkit", "gateway"),
];

/// Runs one benchmark, whose table goes to stdout.
pub(crate) fn run(name: &str, words: &[&str]) -> anyhow::Result<bool> {
    if name == "suites" {
        return crate::suites::bench();
    }
    let Some((_, package, example)) = BENCHES.iter().find(|(own, _, _)| *own == name) else {
        let names: Vec<&str> = BENCHES.iter().map(|(own, _, _)| *own).collect();
        bail!(
            "no benchmark is named `{name}`; there are {}, suites",
            names.join(", ")
        );
    };
    let mut all = Vec::new();
    if name == "gateway" {
        // It measures the real program, in a process of its own.
        all.push("--program".to_owned());
        all.push(program(Profile::Dist)?.display().to_string());
    }
    all.extend(words.iter().map(ToString::to_string));
    example_of((package, example), Profile::Dist, &all)
}

/// `cargo xtask sim --runs N --seed S [--break NAME]`.
pub(crate) fn sim(words: &[&str]) -> anyhow::Result<bool> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    example_of(("onecall-testkit", "sim"), Profile::Release, &words)
}

fn example_of(
    (package, name): (&str, &str),
    profile: Profile,
    words: &[String],
) -> anyhow::Result<bool> {
    let built = example(package, name, profile)?;
    say(&format!("── {package} {name} {}", words.join(" ")));
    let mut command = Command::new(built);
    let status = command.args(words).current_dir(root()).status();
    let status = status.with_context(|| format!("cannot run `{name}` of `{package}`"))?;
    Ok(status.success())
}
