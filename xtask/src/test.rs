//! The parts of the test run, in the order that finds faults soonest.

use crate::cargo::{Profile, cargo, example, program, tests_of_binary};
use crate::part::{Outcome, root, say};
use crate::{conformance, node, python, real, skips, table};
use anyhow::bail;
use std::process::Command;

type Run = fn() -> anyhow::Result<Outcome>;

const PARTS: &[(&str, Run)] = &[
    ("fmt", fmt),
    ("clippy", clippy),
    ("unit", unit),
    ("cli", cli),
    ("skeleton", skeleton),
    ("quick-start", quick_start),
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
    skips::enforce(&mut outcomes)?;
    table::print(&outcomes);
    Ok(outcomes.iter().all(|outcome| outcome.is_ok))
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
    let mut command = tests_of_binary("skeleton::");
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

/// What the README promises a newcomer, from a clean clone of what is committed.
fn quick_start() -> anyhow::Result<Outcome> {
    run_part(
        "quick-start",
        Command::new(root().join("tests/quick-start.sh")),
    )
}

/// The program under SIGKILL at random moments: 50 times, or as `--kills N --seed S` say.
pub(crate) fn kill(words: &[&str]) -> anyhow::Result<Outcome> {
    let mut command = Command::new(example("onecall-testkit", "kill", Profile::Debug)?);
    command.arg("--program").arg(program(Profile::Debug)?);
    command.args(words);
    let mut outcome = run_part("kill", command)?;
    outcome.passed = u64::from(outcome.is_ok);
    Ok(outcome)
}

/// Clients that are not ours, against the real gateway; each kind is skipped by name where it cannot be had.
fn clients() -> anyhow::Result<Outcome> {
    let mut command = tests_of_binary("clients::");
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
