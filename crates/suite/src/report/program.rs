//! The report for people in the form of mcptest 1.3.0, for scripts that read it: everything at the end, two verdicts,
//! no notices.

use crate::row::{Checked, Judged, Row, Summary, Verdict};

/// All lines: deferred metrics first, then the rows, then the counts.
pub fn lines(rows: &[Row], traces: bool) -> Vec<String> {
    let mut lines = deferred(rows);
    for row in rows {
        let word = if is_passed(row) { "PASS" } else { "FAIL" };
        lines.push(format!("composition [{word}] {}", row.label()));
        for reason in reasons(row) {
            lines.extend(reason.lines().map(|line| format!("    {line}")));
        }
        if traces {
            lines.extend(super::terminal::trace(row));
        }
    }
    let passed = rows.iter().filter(|row| is_passed(row)).count();
    let failed = rows.len() - passed;
    let count = rows.len();
    lines.push(format!(
        "ran {count} composition(s): {passed} passed, {failed} failed"
    ));
    lines
}

/// As the exit code counts them: a skipped row is not a failure.
fn is_passed(row: &Row) -> bool {
    Summary::of(std::slice::from_ref(row)).is_ok()
}

/// One line for each composition with a deferred metric, however many cases it has.
fn deferred(rows: &[Row]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let mut evals = row.evals.iter();
        if evals.any(|eval| eval.verdict == Judged::Deferred) {
            let name = &row.name;
            let line = format!(
                "composition `{name}` eval: deferred (judged metrics need a model provider)"
            );
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn reasons(row: &Row) -> Vec<String> {
    let assertions = row.assertions.iter().enumerate();
    let mut reasons: Vec<String> = assertions
        .filter(|(_, own)| own.verdict == Checked::Fail)
        .map(|(index, own)| format!("expect #{index}: {}", own.reason()))
        .collect();
    let nodes = row.trace.iter().flat_map(|trace| &trace.nodes);
    let mut nodes: Vec<_> = nodes
        .filter_map(|(id, node)| Some((id, node["status"].as_str()?, node["reason"].as_str())))
        .collect();
    nodes.sort_unstable();
    let of = |wanted: &'static str| nodes.iter().filter(move |(_, status, _)| *status == wanted);
    reasons.extend(of("err").map(|(id, _, reason)| {
        let reason = reason.unwrap_or("without a reason");
        format!("node `{id}` failed: {reason}")
    }));
    if of("err").next().is_some() {
        reasons.extend(
            of("skipped").map(|(id, _, _)| {
                format!("node `{id}` skipped: an upstream node did not complete")
            }),
        );
    }
    // 1.3.0 has no judges, compares no caps, and abandons no row, so it has no lines for these.
    if row.verdict != Verdict::Pass {
        let cap = row.budget_tripped;
        reasons.extend(cap.map(|cap| format!("budget exceeded: `{cap}`")));
        let evals = row.evals.iter();
        let failed = evals.filter(|eval| eval.verdict == Judged::Fail);
        reasons.extend(failed.map(crate::row::Eval::line));
        // The line of a failed node says enough.
        let reason = row.reason.iter().filter(|_| of("err").next().is_none());
        reasons.extend(reason.cloned());
    }
    reasons
}
