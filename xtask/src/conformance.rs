//! The protocol's conformance suite against our backend client, once for each requirement set.
//! What may fail stands in `tests/conformance/client.yml`, each entry with its reason.

use crate::node::{self, Node};
use crate::part::{Outcome, root, say};
use anyhow::{Context, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const NAME: &str = "conformance";

/// The revisions whose frozen requirements are run.
const REQUIREMENTS: &[&str] = &["2025-11-25", "2026-07-28"];

/// Limit: bytes of a baseline.
const BASELINE_BYTES_MAX: u64 = 64 * 1024;

pub(crate) fn run() -> anyhow::Result<Outcome> {
    say(&format!("── {NAME}: client scenarios of the suite"));
    let start = Instant::now();
    let mut outcome = Outcome {
        name: NAME,
        is_ok: true,
        ..Outcome::default()
    };
    match node::environment() {
        Ok(node) => client(&node, &mut outcome)?,
        Err(reason) => outcome.skipped.push(format!("conformance ({reason})")),
    }
    outcome.time = start.elapsed();
    Ok(outcome)
}

fn client(node: &Node, outcome: &mut Outcome) -> anyhow::Result<()> {
    let drive = crate::test::example("onecall-backends", "drive")?;
    let baseline = root().join("tests/conformance/client.yml");
    for revision in REQUIREMENTS {
        let output = Command::new(&node.program)
            .arg(node.conformance())
            .arg("client")
            .arg("--command")
            .arg(&drive)
            .args(["--requirements", revision, "--expected-failures"])
            .arg(&baseline)
            .arg("--output-dir")
            .arg(root().join(".cache/conformance").join(revision))
            .stdin(Stdio::null())
            .output()
            .context("cannot start the conformance suite")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let summary = Summary::read(&text);
        if summary.scenarios == 0 {
            bail!("the conformance suite ran nothing for {revision}: {text}");
        }
        for line in &summary.unexpected {
            say(line);
        }
        say(&format!(
            "{revision}: {} scenarios, {} checks passed, {} scenarios failed as the baseline says",
            summary.scenarios, summary.passed, summary.expected
        ));
        outcome.passed += summary.passed;
        outcome.failed += summary.unexpected.len() as u64;
        outcome.is_ok &= output.status.success();
    }
    let entries = entries(&baseline)?;
    say(&format!("baseline: {entries} entries"));
    Ok(())
}

/// The end of the suite's report.
#[derive(Debug, Default, PartialEq)]
struct Summary {
    scenarios: u64,
    passed: u64,
    /// Scenarios that failed and are in the baseline.
    expected: u64,
    /// Failures that are not in it (`✗`) and entries that passed (`✓`).
    unexpected: Vec<String>,
}

impl Summary {
    fn read(text: &str) -> Self {
        let mut summary = Self::default();
        let lines = text
            .lines()
            .skip_while(|line| !line.contains("SUITE SUMMARY"));
        let mut is_fault = false;
        for line in lines {
            if line.is_empty() {
                is_fault = false;
            } else if line.contains("Unexpected failures (") || line.contains("Stale baseline") {
                is_fault = true;
            } else if let Some(rest) = line.strip_prefix("✓ ").or(line.strip_prefix("✗ ")) {
                summary.scenarios += 1;
                summary.passed += passed(rest);
            } else if line.starts_with("  ~ ") {
                summary.expected += 1;
            } else if is_fault {
                summary.unexpected.push(line.trim().to_owned());
            }
        }
        summary
    }
}

/// `tools_call: 2 passed, 0 failed` has two.
fn passed(line: &str) -> u64 {
    let counts = line.rsplit(": ").next().unwrap_or_default();
    let count = counts.split(' ').next().unwrap_or_default();
    count.parse().unwrap_or(0)
}

fn entries(baseline: &Path) -> anyhow::Result<usize> {
    let text = crate::obtain::read(baseline, BASELINE_BYTES_MAX)?;
    let is_entry = |line: &&str| line.trim_start().starts_with("- ");
    Ok(text.lines().filter(is_entry).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_read_section_by_section() {
        let text = "✗ not yet\n=== SUITE SUMMARY ===\n\n✓ tools_call: 2 passed, 0 failed\n\
            ✗ auth/a: 1 passed, 7 failed\n\nExpected failures (in baseline):\n  ~ auth/a\n\n\
            Unexpected failures (not in baseline):\n  ✗ sse\n\nNot scored:\n  ✗ dpop\n";
        let summary = Summary::read(text);
        assert_eq!((summary.scenarios, summary.passed), (2, 3));
        assert_eq!(
            (summary.expected, summary.unexpected),
            (1, vec!["✗ sse".to_owned()])
        );
    }
}
