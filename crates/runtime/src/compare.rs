//! What differs between two runs: steps, arguments, outputs, failures and times, as plain data.

use crate::history::{RunHistory, StepHistory};
use crate::limits::DIFFERENCES_MAX;
use onecall_engine::identity::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Times that are nearer than this, or than a fifth of the longer one, count as the same.
const TIME_SLACK: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Of the runs as wholes.
    pub run: Vec<Change>,
    /// Steps that differ, in the order of the first run.
    pub steps: Vec<StepDifference>,
}

#[derive(Clone, Debug, Serialize)]
pub struct StepDifference {
    pub step: String,
    pub changes: Vec<Change>,
}

/// One thing that differs. A side that does not have it is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// `status`, `arguments.query`, `output.items[3].id`, `took_ms` …
    pub what: String,
    pub a: Value,
    pub b: Value,
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        self.run.is_empty() && self.steps.is_empty()
    }
}

pub fn compare(a: &RunHistory, b: &RunHistory) -> Difference {
    let (left, right) = (&a.summary, &b.summary);
    let mut run = Changes::default();
    run.value("workflow", &json!(left.workflow), &json!(right.workflow));
    run.value("version", &json!(left.version), &json!(right.version));
    run.value("plan", &json!(a.plan), &json!(b.plan));
    run.value("labels", &json!(left.labels), &json!(right.labels));
    run.value("input", &a.input, &b.input);
    run.value("state", &json!(left.phase), &json!(right.phase));
    run.value("failure", &json!(left.failure), &json!(right.failure));
    run.took(
        left.ended.map(|end| end.since(left.created)),
        right.ended.map(|end| end.since(right.created)),
    );
    let names: Vec<&str> = a.steps.iter().map(|step| step.name.as_str()).collect();
    let added = b.steps.iter().map(|step| step.name.as_str());
    let added: Vec<&str> = added.filter(|name| !names.contains(name)).collect();
    let steps = names.into_iter().chain(added).filter_map(|name| {
        let changes = compare_steps(a.step(name), b.step(name));
        let step = name.to_owned();
        (!changes.is_empty()).then_some(StepDifference { step, changes })
    });
    Difference {
        run: run.0,
        steps: steps.collect(),
    }
}

fn compare_steps(a: Option<&StepHistory>, b: Option<&StepHistory>) -> Vec<Change> {
    let mut changes = Changes::default();
    let (Some(a), Some(b)) = (a, b) else {
        let there =
            |step: Option<&StepHistory>| step.map_or(Value::Null, |step| json!(step.status));
        changes.value("status", &there(a), &there(b));
        return changes.0;
    };
    changes.value("status", &json!(a.status), &json!(b.status));
    changes.value("kept", &json!(a.kept), &json!(b.kept));
    changes.value(
        "attempts",
        &json!(a.attempts.len()),
        &json!(b.attempts.len()),
    );
    let items = a.attempts.iter().chain(&b.attempts);
    let items: BTreeSet<Option<u32>> = items.map(|attempt| attempt.item).collect();
    for item in items {
        let what = item.map_or("arguments".to_owned(), |item| format!("arguments[{item}]"));
        changes.value(&what, &arguments(a, item), &arguments(b, item));
    }
    let value = |output: &Option<Value>| output.clone().unwrap_or(Value::Null);
    changes.value("output", &value(&a.output), &value(&b.output));
    let failure = |step: &StepHistory| json!(step.failure.as_ref().map(|failure| &failure.message));
    changes.value("failure", &failure(a), &failure(b));
    if !(a.kept || b.kept) {
        changes.took(lasted(a.started, a.ended), lasted(b.started, b.ended));
    }
    changes.0
}

fn lasted(started: Option<Timestamp>, ended: Option<Timestamp>) -> Option<Duration> {
    Some(ended?.since(started?))
}

/// Of the last attempt.
fn arguments(step: &StepHistory, item: Option<u32>) -> Value {
    let mut attempts = step.attempts.iter().rev();
    let last = attempts.find(|attempt| attempt.item == item);
    last.map_or(Value::Null, |attempt| attempt.arguments.clone())
}

#[derive(Default)]
struct Changes(Vec<Change>);

impl Changes {
    fn value(&mut self, what: &str, a: &Value, b: &Value) {
        let first = self.0.len();
        self.below(what, a, b);
        let more = self.0.len().saturating_sub(first + DIFFERENCES_MAX);
        if more > 0 {
            self.0.truncate(first + DIFFERENCES_MAX);
            let what = format!("{what} (places beyond {DIFFERENCES_MAX})");
            let (a, b) = (json!(more), json!(more));
            self.0.push(Change { what, a, b });
        }
    }

    fn below(&mut self, what: &str, a: &Value, b: &Value) {
        match (a, b) {
            _ if a == b => {}
            (Value::Object(left), Value::Object(right)) => {
                let added = right.keys().filter(|name| !left.contains_key(*name));
                for name in left.keys().chain(added) {
                    self.below(&format!("{what}.{name}"), &a[name], &b[name]);
                }
            }
            (Value::Array(left), Value::Array(right)) => {
                for index in 0..left.len().max(right.len()) {
                    let item = |items: &[Value]| items.get(index).cloned().unwrap_or(Value::Null);
                    self.below(&format!("{what}[{index}]"), &item(left), &item(right));
                }
            }
            _ => self.0.push(Change {
                what: what.to_owned(),
                a: a.clone(),
                b: b.clone(),
            }),
        }
    }

    fn took(&mut self, a: Option<Duration>, b: Option<Duration>) {
        let (Some(a), Some(b)) = (a, b) else {
            return;
        };
        let slack = TIME_SLACK.max(a.max(b) / 5);
        if a.abs_diff(b) > slack {
            let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            self.value("took_ms", &json!(millis(a)), &json!(millis(b)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_places_that_differ_are_named() {
        let a = json!({ "same": 1, "list": [1, { "x": "a" }], "gone": true });
        let b = json!({ "same": 1, "list": [1, { "x": "b" }, 3] });
        let mut changes = Changes::default();
        changes.value("output", &a, &b);
        let found: Vec<(&str, &Value, &Value)> = changes
            .0
            .iter()
            .map(|change| (change.what.as_str(), &change.a, &change.b))
            .collect();
        let expected = [
            ("output.list[1].x", json!("a"), json!("b")),
            ("output.list[2]", Value::Null, json!(3)),
            ("output.gone", json!(true), Value::Null),
        ];
        let expected: Vec<_> = expected.iter().map(|(what, a, b)| (*what, a, b)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn times_that_are_near_each_other_are_the_same() {
        let took = |a: u64, b: u64| {
            let mut changes = Changes::default();
            let millis = |time| Some(Duration::from_millis(time));
            changes.took(millis(a), millis(b));
            changes.0.len()
        };
        assert_eq!((took(1, 9), took(1_000, 1_150)), (0, 0));
        assert_eq!((took(1, 30), took(1_000, 1_500)), (1, 1));
    }

    #[test]
    fn a_long_list_of_places_is_cut_and_counted() {
        let mut changes = Changes::default();
        let a: Vec<u64> = (0..60).collect();
        let b: Vec<u64> = (100..160).collect();
        changes.value("output", &json!(a), &json!(b));
        assert_eq!(changes.0.len(), DIFFERENCES_MAX + 1);
        assert_eq!(changes.0[DIFFERENCES_MAX].a, 10);
    }
}
