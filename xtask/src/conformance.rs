//! The protocol's conformance suite against our backend client and our server, once for each requirement set.
//! What may fail stands in `tests/conformance/*.yml`, each entry with its reason.

use crate::cargo::{Profile, example, program};
use crate::node::{self, Node};
use crate::part::{Outcome, root, say, scratch};
use anyhow::{Context, bail};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const NAME: &str = "conformance";

/// The revisions whose frozen requirements are run.
const REQUIREMENTS: &[&str] = &["2025-11-25", "2026-07-28"];

/// Limit: bytes of a baseline.
const BASELINE_BYTES_MAX: u64 = 64 * 1024;

pub(crate) fn run() -> anyhow::Result<Outcome> {
    say(&format!(
        "── {NAME}: client and server scenarios of the suite"
    ));
    let start = Instant::now();
    let mut outcome = Outcome {
        name: NAME,
        is_ok: true,
        ..Outcome::default()
    };
    match node::environment() {
        Ok(node) => {
            client(&node, &mut outcome)?;
            server(&node, &mut outcome)?;
        }
        Err(reason) => outcome.skipped.push(format!("conformance ({reason})")),
    }
    outcome.time = start.elapsed();
    Ok(outcome)
}

fn client(node: &Node, outcome: &mut Outcome) -> anyhow::Result<()> {
    let drive = example("onecall-backends", "drive", Profile::Debug)?;
    let drive = drive.display().to_string();
    suite(node, &["client", "--command", &drive], outcome)
}

/// `onecall serve` with the fixture configuration, its backend put in.
fn server(node: &Node, outcome: &mut Outcome) -> anyhow::Result<()> {
    let backend = example("onecall-gateway", "backend", Profile::Debug)?;
    let program = program(Profile::Debug)?;
    let text = root().join("tests/conformance/server.yaml");
    let text = crate::obtain::read(&text, BASELINE_BYTES_MAX)?;
    let file = scratch("conformance-server")?.join("server.yaml");
    std::fs::write(
        &file,
        text.replace("FIXTURE", &backend.display().to_string()),
    )?;
    let mut child = Command::new(program)
        .arg("serve")
        .arg(&file)
        .args(["--port", "0", "--ephemeral"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `onecall serve`")?;
    let served = url(&mut child).and_then(|url| suite(node, &["server", "--url", &url], outcome));
    child.kill()?;
    child.wait()?;
    served
}

/// The URL that `serve` prints once it is ready. The rest of what it prints is read and left.
fn url(child: &mut Child) -> anyhow::Result<String> {
    let stdout = child.stdout.take().context("`serve` has no output")?;
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next() {
        if let Some((_, url)) = line?.split_once(" at http://") {
            let url = format!("http://{}", url.trim());
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(url);
        }
    }
    bail!("`serve` ended before it told its URL")
}

/// Runs one side of the suite against each set of requirements.
fn suite(node: &Node, words: &[&str], outcome: &mut Outcome) -> anyhow::Result<()> {
    let side = words.first().copied().unwrap_or_default();
    let baseline = root().join(format!("tests/conformance/{side}.yml"));
    let reports = scratch(&format!("conformance-{side}-reports"))?;
    for revision in REQUIREMENTS {
        let output = Command::new(&node.program)
            .arg(node.conformance())
            .args(words)
            .args(["--requirements", revision, "--expected-failures"])
            .arg(&baseline)
            .arg("--output-dir")
            .arg(reports.join(revision))
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
            "{side} {revision}: {} scenarios, {} checks passed, {} scenarios failed as the baseline says",
            summary.scenarios, summary.passed, summary.expected
        ));
        outcome.passed += summary.passed;
        outcome.failed += summary.unexpected.len() as u64;
        outcome.is_ok &= output.status.success();
    }
    let entries = entries(&baseline)?;
    say(&format!("{side} baseline: {entries} entries"));
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
            .skip_while(|line| !line.contains("SUMMARY ==="));
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
