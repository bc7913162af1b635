//! The parts of the test run, in the order that finds faults soonest.

use crate::built::{Kind, executables};
use crate::cargo::{Profile, cargo, example, program};
use crate::part::{Outcome, root, say};
use crate::{conformance, node, python, real, skips, table};
use anyhow::{Context as _, bail};
use std::process::Command;
use std::time::Instant;

/// The package of the binary.
const CLI: &str = "onecall-cli";

type Run = fn() -> anyhow::Result<Outcome>;

const PARTS: &[(&str, Run)] = &[
    ("fmt", fmt),
    ("clippy", clippy),
    ("build", build),
    ("unit", unit),
    ("cli", cli),
    ("suites", suites),
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
            outcomes.push(run().unwrap_or_else(|error| broken(name, &error)));
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

/// A part that could not run.
fn broken(name: &'static str, error: &anyhow::Error) -> Outcome {
    say(&format!("error: {error:#}"));
    Outcome {
        name,
        ..Outcome::default()
    }
}

/// Builds what all later parts run.
fn build() -> anyhow::Result<Outcome> {
    let start = Instant::now();
    executables()?;
    Ok(Outcome {
        name: "build",
        is_ok: true,
        time: start.elapsed(),
        ..Outcome::default()
    })
}

fn unit() -> anyhow::Result<Outcome> {
    let executables = executables()?.iter();
    let tests = executables.filter(|own| own.kind == Kind::Test && own.package != CLI);
    let tests = tests.map(|own| {
        let mut command = own.command();
        command.arg("--quiet");
        command
    });
    let documents = cargo(&["test", "--quiet", "--workspace", "--doc"]);
    crate::part::run_all("unit", tests.chain([documents]))
}

fn cli() -> anyhow::Result<Outcome> {
    let executables = executables()?.iter();
    let tests = executables.filter(|own| own.kind == Kind::Test && own.package == CLI);
    let tests = tests.map(|own| {
        let mut command = own.command();
        command.args([
            "--quiet",
            "--skip",
            "skeleton::",
            "--skip",
            "clients::",
            "--skip",
            "compositions::",
        ]);
        command
    });
    crate::part::run_all("cli", tests)
}

/// The tests of the binary in one module, with what they print.
fn tests_of_binary(module: &str) -> anyhow::Result<Command> {
    let mut tests = executables()?.iter();
    let tests = tests.find(|own| (&*own.package, own.kind, &*own.name) == (CLI, Kind::Test, "it"));
    let mut command = tests.context("the binary has no tests")?.command();
    command.args([module, "--nocapture"]);
    Ok(command)
}

/// The statements of the compositions page and the examples of suites, with the real binary.
fn suites() -> anyhow::Result<Outcome> {
    run_part("suites", tests_of_binary("compositions::")?)
}

/// The road from file to client, with the real binary and a client that is not ours.
fn skeleton() -> anyhow::Result<Outcome> {
    let mut command = tests_of_binary("skeleton::")?;
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
    let mut command = tests_of_binary("clients::")?;
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

fn run_part(name: &'static str, command: Command) -> anyhow::Result<Outcome> {
    crate::part::run_all(name, [command])
}
