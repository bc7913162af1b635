//! The table at the end of a test run: name, tests, time, what was skipped.

use crate::part::{Outcome, say};

pub(crate) fn print(outcomes: &[Outcome]) {
    say("");
    for outcome in outcomes {
        let tests = if outcome.passed + outcome.failed == 0 {
            String::new()
        } else {
            format!("{} passed, {} failed", outcome.passed, outcome.failed)
        };
        let verdict = if outcome.is_ok { "ok    " } else { "FAILED" };
        let seconds = outcome.time.as_secs_f64();
        let skipped = if outcome.skipped.is_empty() {
            String::new()
        } else {
            format!("  skipped: {}", outcome.skipped.join(", "))
        };
        say(&format!(
            "{:<11} {verdict}  {tests:<24} {seconds:>7.1} s{skipped}",
            outcome.name
        ));
    }
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let skipped: usize = outcomes.iter().map(|outcome| outcome.skipped.len()).sum();
    let broken = outcomes
        .iter()
        .filter(|outcome| !outcome.is_ok && outcome.failed == 0)
        .count();
    let failed = sum(|outcome| outcome.failed) + broken as u64;
    say(&format!(
        "{} passed, {failed} failed, {skipped} skipped",
        sum(|outcome| outcome.passed)
    ));
}
