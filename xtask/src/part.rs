//! One part of the test run: a child process whose output is shown and read for counts.

use anyhow::Context;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a part came to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// By name: `python client (no python3)`.
    pub(crate) skipped: Vec<String>,
    pub(crate) time: Duration,
    pub(crate) is_ok: bool,
}

/// Writes a line to stdout.
pub(crate) fn say(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}");
    let _ = stdout.flush();
}

pub(crate) fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map_or_else(|| own.clone(), PathBuf::from)
}

/// An empty directory for the files of one part, below the build directory.
pub(crate) fn scratch(name: &str) -> std::io::Result<PathBuf> {
    let directory = crate::cargo::target().join("xtask").join(name);
    // Files of an earlier run must not be found again.
    match std::fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Runs commands one after the other, prints their output and counts what their test runners report. A command that
/// fails does not keep the next from running.
///
/// A line `skipped: NAME (REASON)` names a test that could not be run here.
pub(crate) fn run_all(
    name: &'static str,
    commands: impl IntoIterator<Item = Command>,
) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let mut outcome = Outcome {
        name,
        is_ok: true,
        ..Outcome::default()
    };
    for command in commands {
        run_one(&mut outcome, command)?;
    }
    outcome.is_ok &= outcome.failed == 0;
    outcome.time = start.elapsed();
    Ok(outcome)
}

fn run_one(outcome: &mut Outcome, mut command: Command) -> anyhow::Result<()> {
    let name = outcome.name;
    say(&format!("── {name}: {}", shown(&command)));
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start part `{name}`"))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            outcome.read(&line);
            say(&line);
        }
    }
    outcome.is_ok &= child.wait()?.success();
    Ok(())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

impl Outcome {
    fn read(&mut self, line: &str) {
        if let Some(counts) = line.trim_start().strip_prefix("test result: ") {
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
        }
        if let Some(counts) = line.strip_prefix("real: ") {
            let failed = count(counts, "failed");
            self.passed += count(counts, "run").saturating_sub(failed);
            self.failed += failed;
        }
        if let Some(skipped) = line.trim_start().strip_prefix("skipped: ") {
            self.skipped.push(skipped.to_owned());
        }
    }
}

/// The number in front of a word: `ok. 12 passed; 0 failed`.
fn count(text: &str, word: &str) -> u64 {
    let mut words = text
        .split([' ', ';', '.', ','])
        .filter(|word| !word.is_empty());
    let mut last = 0;
    words
        .find_map(|next| {
            if next == word {
                return Some(last);
            }
            last = next.parse().unwrap_or(0);
            None
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_off_the_runners_line() {
        let mut outcome = Outcome::default();
        outcome
            .read("test result: ok. 12 passed; 3 failed; 0 ignored; 0 measured; finished in 0.10s");
        outcome.read("skipped: python client (no python3)");
        outcome.read("real: 9 run, 1 failed, 0 skipped");
        assert_eq!((outcome.passed, outcome.failed), (20, 4));
        assert_eq!(outcome.skipped, ["python client (no python3)"]);
    }
}
