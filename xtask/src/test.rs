//! The parts of the test run, in the order that finds faults soonest.

use crate::part::{Outcome, root, say};
use crate::{conformance, node, python, real, table};
use anyhow::{Context, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

type Run = fn() -> anyhow::Result<Outcome>;

const PARTS: &[(&str, Run)] = &[
    ("fmt", fmt),
    ("clippy", clippy),
    ("unit", unit),
    ("cli", cli),
    ("skeleton", skeleton),
    ("kill", || kill(&[])),
    ("real", real::run),
    ("clients", clients),
    ("conformance", conformance::run),
];

pub(crate) fn list() {
    for (name, _) in PARTS {
        say(name);
    }
}

/// Runs the named parts, or all. A failed part does not keep the others from running.
pub(crate) fn run(names: &[&str]) -> anyhow::Result<bool> {
    if let Some(unknown) = names
        .iter()
        .find(|name| PARTS.iter().all(|(own, _)| own != *name))
    {
        bail!("no part is named `{unknown}`; `cargo xtask test --list` names them");
    }
    let mut outcomes = Vec::new();
    for (name, run) in PARTS {
        if names.is_empty() || names.contains(name) {
            outcomes.push(run()?);
        }
    }
    table::print(&outcomes);
    Ok(outcomes.iter().all(|outcome| outcome.is_ok))
}

fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words);
    command
}

fn fmt() -> anyhow::Result<Outcome> {
    run_part("fmt", cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> anyhow::Result<Outcome> {
    let words = [
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    run_part("clippy", cargo(&words))
}

fn unit() -> anyhow::Result<Outcome> {
    let words = [
        "test",
        "--quiet",
        "--workspace",
        "--exclude",
        "onecall-cli",
        "--no-fail-fast",
    ];
    run_part("unit", cargo(&words))
}

fn cli() -> anyhow::Result<Outcome> {
    let words = [
        "test",
        "--quiet",
        "--package",
        "onecall-cli",
        "--",
        "--skip",
        "skeleton::",
        "--skip",
        "clients::",
    ];
    run_part("cli", cargo(&words))
}

/// The road from file to client, with the real binary and a client that is not ours.
fn skeleton() -> anyhow::Result<Outcome> {
    let words = [
        "test",
        "--package",
        "onecall-cli",
        "--test",
        "it",
        "--",
        "skeleton::",
        "--nocapture",
    ];
    let mut command = cargo(&words);
    let missing = match python::environment() {
        Ok(python) => {
            command.env("ONECALL_TEST_PYTHON", python);
            None
        }
        Err(reason) => {
            command.args(["--skip", "python_"]);
            Some(format!("python client ({reason})"))
        }
    };
    let mut outcome = run_part("skeleton", command)?;
    outcome.skipped.extend(missing);
    Ok(outcome)
}

/// The program under SIGKILL at random moments: 50 times, or as `--kills N --seed S` say.
pub(crate) fn kill(words: &[&str]) -> anyhow::Result<Outcome> {
    let build = ["build", "--quiet", "--package", "onecall-cli"];
    let status = cargo(&build).current_dir(root()).status();
    ensure!(
        status.context("cannot build the program")?.success(),
        "the program does not build"
    );
    let mut command = Command::new(example("onecall-testkit", "kill")?);
    command.arg("--program").arg(target().join("debug/onecall"));
    command.args(words);
    let mut outcome = run_part("kill", command)?;
    outcome.passed = u64::from(outcome.is_ok);
    Ok(outcome)
}

/// Clients that are not ours, against the real gateway; each kind is skipped by name where it cannot be had.
fn clients() -> anyhow::Result<Outcome> {
    let words = [
        "test",
        "--package",
        "onecall-cli",
        "--test",
        "it",
        "--",
        "clients::",
        "--nocapture",
    ];
    let mut command = cargo(&words);
    let mut missing = Vec::new();
    let pythons = [
        ("python_", "ONECALL_TEST_PYTHON", python::environment()),
        ("fastmcp", "ONECALL_TEST_FASTMCP", python::fastmcp()),
    ];
    for (test, variable, found) in pythons {
        match found {
            Ok(program) => {
                command.env(variable, program);
            }
            Err(reason) => {
                command.args(["--skip", test]);
                missing.push(format!("{test} ({reason})"));
            }
        }
    }
    match node::environment() {
        Ok(node) => {
            command.env("ONECALL_TEST_NODE", node.program);
            command.env("ONECALL_TEST_MODULES", node.modules);
        }
        Err(reason) => {
            command.args(["--skip", "node_"]);
            missing.push(format!("node clients ({reason})"));
        }
    }
    let mut outcome = run_part("clients", command)?;
    outcome.skipped.extend(missing);
    Ok(outcome)
}

fn run_part(name: &'static str, mut command: Command) -> anyhow::Result<Outcome> {
    crate::part::run(name, &mut command)
}

/// The program of an example, built.
pub(crate) fn example(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let words = ["build", "--quiet", "--package", package, "--example", name];
    let status = cargo(&words).current_dir(root()).status();
    let status = status.with_context(|| format!("cannot build `{name}` of `{package}`"))?;
    ensure!(status.success(), "`{name}` of `{package}` does not build");
    Ok(target().join("debug/examples").join(name))
}

/// Builds the binary and says where it is.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    let words = ["build", "--quiet", "--package", "onecall-cli"];
    let status = cargo(&words).current_dir(root()).status();
    ensure!(status?.success(), "the binary does not build");
    Ok(target().join("debug/onecall"))
}

fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| root().join("target"))
}
