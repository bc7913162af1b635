//! The report for people: a line for each row as it ends, its reasons below, and the counts.

use super::Reporter;
use crate::row::{Judged, Row, Summary, Verdict};
use std::fmt::Write as _;
use std::time::Duration;

/// A row that takes longer is shown with its time.
const SLOW: Duration = Duration::from_secs(1);

/// Writes lines to a function, which knows where they go.
#[derive(Debug)]
pub struct Terminal<W> {
    pub write: W,
    pub color: bool,
    /// The trace of each row is printed below it.
    pub traces: bool,
}

impl<W: FnMut(String)> Reporter for Terminal<W> {
    fn row(&mut self, row: &Row) {
        for line in lines(row, self.color) {
            (self.write)(line);
        }
        if self.traces {
            for line in trace(row) {
                (self.write)(line);
            }
        }
    }
}

/// The trace of a row, for below its line.
pub(crate) fn trace(row: &Row) -> Vec<String> {
    let Some(trace) = &row.trace else {
        return Vec::new();
    };
    let text = serde_json::to_string_pretty(trace).unwrap_or_default();
    text.lines().map(|line| format!("    {line}")).collect()
}

/// The line of a row, and its reasons.
pub fn lines(row: &Row, color: bool) -> Vec<String> {
    let mut first = format!("composition [{}] {}", word(row.verdict, color), row.label());
    if row.flaky {
        first.push_str(" (flaky: it failed first)");
    }
    if row.duration >= SLOW {
        let _ = write!(first, " ({:.1} s)", row.duration.as_secs_f64());
    }
    let mut lines = vec![first];
    for reason in row.reasons() {
        lines.extend(reason.lines().map(|line| format!("    {line}")));
    }
    if row.is_unchecked && row.verdict == Verdict::Pass {
        lines.push("    notice: nothing is expected of it; add `expect`".to_owned());
    }
    // Failed metrics are among the reasons.
    let others = row.evals.iter().filter(|eval| eval.verdict != Judged::Fail);
    lines.extend(others.map(|eval| format!("    {}", eval.line())));
    lines
}

/// The last line.
pub fn summary(summary: Summary) -> String {
    let Summary {
        passed,
        failed,
        errors,
        skipped,
        evals_deferred,
    } = summary;
    let count = passed + failed + errors + skipped;
    let mut text = format!(
        "ran {count} composition(s): {passed} passed, {} failed",
        failed + errors
    );
    if errors > 0 {
        let _ = write!(text, " ({errors} with errors)");
    }
    if skipped > 0 {
        let _ = write!(text, ", {skipped} skipped");
    }
    if evals_deferred > 0 {
        let _ = write!(text, ", {evals_deferred} evals deferred");
    }
    text
}

fn word(verdict: Verdict, color: bool) -> String {
    let (word, code) = match verdict {
        Verdict::Pass => ("PASS", 32),
        Verdict::Fail => ("FAIL", 31),
        Verdict::Error => ("ERROR", 31),
        Verdict::Skipped => ("SKIP", 33),
    };
    if color {
        format!("\u{1b}[{code}m{word}\u{1b}[0m")
    } else {
        word.to_owned()
    }
}
