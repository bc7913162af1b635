//! The history of a run as JSON for people and programs: every time has its unit in its name. The stored form
//! is another.

use onecall_engine::event::Event;
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::Summary;
use serde::{Serialize as _, Serializer};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The fields of a summary that are times.
const SUMMARY_TIMES: [&str; 4] = ["created", "updated", "ended", "due"];

/// The fields of events that are times, besides `at`.
const EVENT_TIMES: [&str; 2] = ["deadline", "due"];

pub fn summary_json(summary: &Summary) -> Value {
    let mut shown = serde_json::to_value(summary).unwrap_or_default();
    if let Value::Object(fields) = &mut shown {
        *fields = with_units(std::mem::take(fields), &SUMMARY_TIMES);
    }
    shown
}

pub fn event_json(event: &Event) -> Value {
    let mut what = serde_json::to_value(&event.what).unwrap_or_default();
    for fields in what.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Value::Object(fields) = fields {
            *fields = with_units(std::mem::take(fields), &EVENT_TIMES);
        }
    }
    json!({ "at_ms": event.at.as_micros() / 1_000, "what": what })
}

fn with_units(fields: Map<String, Value>, times: &[&str]) -> Map<String, Value> {
    let fields = fields.into_iter().map(|(name, value)| {
        if !times.contains(&name.as_str()) {
            return (name, value);
        }
        let millis = value.as_u64().map(|micros| micros / 1_000);
        (format!("{name}_ms"), Value::from(millis))
    });
    fields.collect()
}

pub(super) fn summary<S: Serializer>(summary: &Summary, to: S) -> Result<S::Ok, S::Error> {
    summary_json(summary).serialize(to)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over references"
)]
pub(super) fn ms<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(at.as_micros() / 1_000)
}

#[expect(clippy::ref_option, reason = "serde hands over references")]
pub(super) fn ms_or_null<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    at.map(|at| at.as_micros() / 1_000).serialize(to)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over references"
)]
pub(super) fn micros_as_ms<S: Serializer>(micros: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(Duration::from_micros(*micros).as_secs_f64() * 1_000.0)
}
