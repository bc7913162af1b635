//! How long steps and items were at work and how long they waited, from the times of their attempts.

use super::{AttemptHistory, ItemHistory, StepHistory};
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::Summary;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Where the time of a step went, from the moment it could start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Without a call in flight: for a free place, between attempts, for a person.
    #[serde(rename = "wait_ms", serialize_with = "super::shown::micros_as_ms")]
    pub wait_us: u64,
    /// With at least one call in flight.
    #[serde(rename = "work_ms", serialize_with = "super::shown::micros_as_ms")]
    pub work_us: u64,
}

impl Spent {
    pub fn wait(self) -> Duration {
        Duration::from_micros(self.wait_us)
    }

    pub fn work(self) -> Duration {
        Duration::from_micros(self.work_us)
    }

    /// What has not ended lasts until `now`.
    fn of(ready: Timestamp, end: Timestamp, attempts: &[&AttemptHistory], now: Timestamp) -> Self {
        let work = covered(attempts, now);
        let whole = end.since(ready);
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self {
            wait_us: micros(whole.saturating_sub(work)),
            work_us: micros(work),
        }
    }
}

pub(super) fn fill(steps: &mut [StepHistory], summary: &Summary, now: Timestamp) {
    let ends: BTreeMap<String, Option<Timestamp>> = steps
        .iter()
        .map(|step| (step.name.clone(), step.ended))
        .collect();
    for step in steps.iter_mut().filter(|step| !step.kept) {
        let StepHistory {
            items, attempts, ..
        } = step;
        for (index, item) in (0_u32..).zip(items) {
            let own = attempts.iter().filter(|own| own.item == Some(index));
            fill_item(item, &own.collect::<Vec<_>>(), now);
        }
        if step.started.is_none() {
            continue;
        }
        let needs = step
            .needs
            .iter()
            .filter_map(|need| ends.get(need))
            .flatten();
        let ready = needs.max().copied().unwrap_or(summary.created);
        let attempts: Vec<&AttemptHistory> = step.attempts.iter().collect();
        step.spent = Spent::of(ready, step.ended.unwrap_or(now), &attempts, now);
    }
}

fn fill_item(item: &mut ItemHistory, attempts: &[&AttemptHistory], now: Timestamp) {
    item.started = attempts.iter().map(|attempt| attempt.started).min();
    if let Some(started) = item.started {
        item.spent = Spent::of(started, item.ended.unwrap_or(now), attempts, now);
    }
}

/// The time that attempts cover together, each moment counted once.
fn covered(attempts: &[&AttemptHistory], now: Timestamp) -> Duration {
    let mut spans: Vec<(Timestamp, Timestamp)> = attempts
        .iter()
        .map(|attempt| (attempt.started, attempt.ended.unwrap_or(now)))
        .collect();
    spans.sort();
    let mut total = Duration::ZERO;
    let mut until = Timestamp::default();
    for (start, end) in spans {
        total += end.since(start.max(until));
        until = until.max(end);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn attempt(start: u64, end: Option<u64>) -> AttemptHistory {
        AttemptHistory {
            item: None,
            number: 1,
            key: String::new(),
            arguments: Value::Null,
            started: Timestamp::from_micros(start),
            ended: end.map(Timestamp::from_micros),
            outcome: None,
        }
    }

    #[test]
    fn overlapping_attempts_count_once_and_pauses_count_as_waiting() {
        let attempts = [
            attempt(10, Some(30)),
            attempt(20, Some(40)),
            attempt(60, None),
        ];
        let attempts: Vec<_> = attempts.iter().collect();
        let at = Timestamp::from_micros;
        let spent = Spent::of(at(5), at(70), &attempts, at(70));
        assert_eq!((spent.wait_us, spent.work_us), (25, 40));
    }
}
