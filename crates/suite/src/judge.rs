//! From the trace of a run to the verdict of its row. Pure: what ran is given, nothing is called.

use crate::case::{Assertion, Case, Composition};
use crate::difference::{as_lines, differences, in_one_line};
use crate::matchers::Mismatch;
use crate::row::{self, Checked, Verdict};
use onecall_runtime::nodes::Trace;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// What the checks of a row came to.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) verdict: Verdict,
    pub(crate) assertions: Vec<row::Assertion>,
    pub(crate) is_unchecked: bool,
    pub(crate) reason: Option<String>,
}

pub(crate) fn judge(
    composition: &Composition,
    case: Option<&Case>,
    trace: &Trace,
    duration: Duration,
) -> Findings {
    let document = document(trace, duration);
    let expected = composition.assertions(case);
    let mut assertions: Vec<row::Assertion> = expected
        .iter()
        .map(|assertion| checked(assertion, &document))
        .collect();
    if let Some(golden) = case.and_then(|case| case.golden.as_ref()) {
        assertions.push(compared(golden, &trace.output));
    }
    let is_addressed = |id: &str| {
        let mut targets = expected.iter().map(|assertion| &assertion.target);
        targets.any(|target| target.node() == Some(id))
    };
    let broken = broken(trace, is_addressed);
    Findings {
        verdict: verdict(&assertions, trace, broken.is_some()),
        is_unchecked: assertions.is_empty(),
        assertions,
        reason: broken,
    }
}

fn verdict(assertions: &[row::Assertion], trace: &Trace, is_broken: bool) -> Verdict {
    let all = |wanted| assertions.iter().all(|own| own.verdict == wanted);
    if assertions.iter().any(|own| own.verdict == Checked::Fail) || trace.budget_tripped.is_some() {
        Verdict::Fail
    } else if is_broken {
        Verdict::Error
    } else if !assertions.is_empty() && all(Checked::Empty) {
        Verdict::Skipped
    } else {
        Verdict::Pass
    }
}

/// A node that failed and that no assertion is about, or a run that has no output for another reason.
fn broken(trace: &Trace, is_addressed: impl Fn(&str) -> bool) -> Option<String> {
    let failed = |(_, node): &(&String, &Value)| node["status"] == "err";
    let mut failed = trace.nodes.iter().filter(failed).peekable();
    if failed.peek().is_none() {
        let failure = trace.failure.clone();
        return failure.filter(|_| trace.budget_tripped.is_none());
    }
    let id = failed.find(|(id, _)| !is_addressed(id))?.0;
    Some(format!(
        "no assertion is about node `{id}`, so its failure makes the row an error"
    ))
}

/// What targets look into.
fn document(trace: &Trace, duration: Duration) -> Value {
    let duration = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let nodes: Map<String, Value> = trace.nodes.clone();
    json!({
        "composition": {
            "ran": trace.ran,
            "order": trace.order,
            "duration_ms": duration,
            "cost_total": trace.cost_total,
            "tokens_total": trace.tokens_total,
            "budget_tripped": trace.budget_tripped,
        },
        "output": trace.output,
        "nodes": nodes,
        "cost": { "total": trace.cost_total },
        "tokens": { "total": trace.tokens_total },
    })
}

fn checked(assertion: &Assertion, document: &Value) -> row::Assertion {
    let matcher = &assertion.matcher;
    let target = &assertion.target;
    let mut found = row::Assertion {
        target: target.text.clone(),
        matcher: matcher.name,
        verdict: Checked::Pass,
        expected: matcher.expected.clone(),
        actual: Value::Null,
        note: None,
        details: Vec::new(),
        place: Some(assertion.place.clone()),
    };
    let skipped = target
        .node()
        .filter(|id| target.is_node_output() && document["nodes"][*id]["status"] == "skipped");
    if let Some(id) = skipped {
        found.verdict = Checked::Empty;
        found.note = Some(format!("node `{id}` was skipped"));
        return found;
    }
    let value = match target.find(document) {
        Ok(value) => value,
        Err(missing) => {
            found.verdict = Checked::Fail;
            found.note = Some(missing);
            return found;
        }
    };
    if value.as_array().is_some_and(Vec::is_empty) && !matcher.judges_empty_lists() {
        found.verdict = Checked::Empty;
        found.note = Some("the list has no elements".to_owned());
    } else if let Err(mismatch) = matcher.matches(&value) {
        found.verdict = Checked::Fail;
        found.note = match mismatch {
            Mismatch::Differs(note) => note,
            Mismatch::Error(text) => Some(text),
        };
    }
    found.actual = value.into_owned();
    found
}

/// The output against the recorded one.
fn compared(golden: &Value, output: &Value) -> row::Assertion {
    let found = differences("output", golden, output);
    row::Assertion {
        target: "output".to_owned(),
        matcher: "golden",
        verdict: if found.is_empty() {
            Checked::Pass
        } else {
            Checked::Fail
        },
        expected: golden.clone(),
        actual: output.clone(),
        note: (!found.is_empty()).then(|| in_one_line(&found)),
        details: as_lines(&found),
        place: None,
    }
}

#[cfg(test)]
mod tests;
