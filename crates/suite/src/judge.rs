//! From the trace of a run to the verdict of its row. Pure: what ran is given, nothing is called.

use crate::case::{Assertion, Case, Composition};
use crate::limits::DIFFERENCES_MAX;
use crate::matchers::{Mismatch, is_equal};
use crate::row::{self, Checked, Eval, Judged, Verdict};
use onecall_runtime::nodes::Trace;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// What the checks of a row came to.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) verdict: Verdict,
    pub(crate) assertions: Vec<row::Assertion>,
    pub(crate) evals: Vec<Eval>,
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
    let own = composition.expect.iter();
    let of_case = case.into_iter().flat_map(|case| &case.expect);
    let mut assertions: Vec<row::Assertion> = own
        .clone()
        .chain(of_case.clone())
        .map(|assertion| checked(assertion, &document))
        .collect();
    if let Some(golden) = case.and_then(|case| case.golden.as_ref()) {
        assertions.push(compared(golden, &trace.output));
    }
    let evals = composition.metrics.iter().map(|metric| Eval {
        metric: metric.clone(),
        verdict: Judged::Deferred,
    });
    let targets = own.chain(of_case).map(|assertion| &assertion.target);
    let is_addressed = |id: &str| targets.clone().any(|target| target.node() == Some(id));
    let broken = broken(trace, is_addressed);
    Findings {
        verdict: verdict(&assertions, trace, broken.is_some()),
        is_unchecked: assertions.is_empty(),
        assertions,
        evals: evals.collect(),
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
    let mut differences = Vec::new();
    differ("output", golden, output, &mut differences);
    let more = differences.len().saturating_sub(DIFFERENCES_MAX);
    differences.truncate(DIFFERENCES_MAX);
    if more > 0 {
        differences.push(format!("{more} more differences"));
    }
    let is_same = differences.is_empty();
    row::Assertion {
        target: "output".to_owned(),
        matcher: "golden",
        verdict: if is_same {
            Checked::Pass
        } else {
            Checked::Fail
        },
        expected: golden.clone(),
        actual: output.clone(),
        note: (!is_same).then(|| differences.join("; ")),
        place: None,
    }
}

/// The locations at which two values differ.
fn differ(path: &str, golden: &Value, output: &Value, found: &mut Vec<String>) {
    match (golden, output) {
        _ if is_equal(golden, output) => {}
        (Value::Object(left), Value::Object(right)) => {
            for (key, own) in left {
                match right.get(key) {
                    Some(other) => differ(&format!("{path}.{key}"), own, other, found),
                    None => found.push(format!("`{path}.{key}` is missing, expected {own}")),
                }
            }
            let added = right.iter().filter(|(key, _)| !left.contains_key(*key));
            found.extend(added.map(|(key, own)| format!("`{path}.{key}` is not expected: {own}")));
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (own, other)) in left.iter().zip(right).enumerate() {
                differ(&format!("{path}[{index}]"), own, other, found);
            }
        }
        _ => found.push(format!("`{path}` is {output}, expected {golden}")),
    }
}

#[cfg(test)]
mod tests;
