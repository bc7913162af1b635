//! Tasks of both kinds: the experimental ones of 2025-11-25 and those of the extension of 2026-07-28.
//! Their fields have nearly the same names; what differs is where they stand and how a result is fetched.

use std::time::Duration;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::input_requests;
use crate::error::{RpcError, ShapeError};
use crate::exact::Exact;
use crate::lenient::read_leniently;

/// The name of the extension, as it is declared.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

/// A task as a server last told of it.
#[derive(Clone, Debug)]
pub struct Task {
    pub id: String,
    pub status: TaskStatus,
    /// How often the server wants to be asked.
    pub poll: Option<Duration>,
    pub message: Option<String>,
    /// What it asks for, as it came; the extension only.
    pub requests: IndexMap<String, Exact>,
    /// The tool result of a completed task, as received; the extension only.
    pub result: Option<Box<RawValue>>,
    /// Why it failed, where the server says so.
    pub error: Option<RpcError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    task_id: Option<String>,
    status: Option<String>,
    #[serde(borrow)]
    poll_interval_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    poll_interval: Option<&'a RawValue>,
    #[serde(borrow)]
    status_message: Option<&'a RawValue>,
    #[serde(borrow)]
    input_requests: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The answer to a call that was asked to become a task, in 2025-11-25.
#[derive(Deserialize)]
struct Created<'a> {
    #[serde(borrow)]
    task: Option<&'a RawValue>,
}

impl Task {
    /// Reads a task: the answer to `tasks/get`, or a result of type `task`.
    pub fn read(raw: &RawValue) -> Result<Self, ShapeError> {
        let wrong = |what: &str, wanted| ShapeError::Wrong {
            what: what.to_owned(),
            wanted,
        };
        let fields: Fields<'_> = serde_json::from_str(raw.get())
            .map_err(|_| wrong("a task", "an object with the fields of a task"))?;
        let status = match fields.status.as_deref() {
            Some("working") => TaskStatus::Working,
            Some("input_required") => TaskStatus::InputRequired,
            Some("completed") => TaskStatus::Completed,
            Some("failed") => TaskStatus::Failed,
            Some("cancelled") => TaskStatus::Cancelled,
            _ => return Err(wrong("`status` of a task", "one that is known")),
        };
        let poll = fields.poll_interval_ms.or(fields.poll_interval);
        let poll: Option<f64> = poll.and_then(|millis| read_leniently(millis.get()).ok());
        Ok(Self {
            id: fields
                .task_id
                .filter(|id| !id.is_empty())
                .ok_or_else(|| wrong("`taskId`", "a string"))?,
            status,
            poll: poll.and_then(|millis| Duration::try_from_secs_f64(millis / 1000.0).ok()),
            message: fields
                .status_message
                .and_then(|message| read_leniently(message.get()).ok()),
            requests: input_requests(fields.input_requests)?,
            result: fields.result.map(ToOwned::to_owned),
            error: fields.error.map(RpcError::from_raw),
        })
    }

    /// The task that a server of 2025-11-25 made of a call.
    pub fn read_created(raw: &RawValue) -> Result<Self, ShapeError> {
        let created: Option<Created<'_>> = serde_json::from_str(raw.get()).ok();
        match created.and_then(|created| created.task) {
            Some(task) => Self::read(task),
            None => Err(ShapeError::Wrong {
                what: "the answer to a call with `task`".to_owned(),
                wanted: "a task",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn tasks_of_both_kinds_are_read() {
        let modern = raw(
            r#"{"resultType":"complete","taskId":"t1","status":"completed","pollIntervalMs":250,"ttlMs":null,"result":{"content":[],"z":1.50}}"#,
        );
        let task = Task::read(&modern).unwrap();
        assert_eq!(
            (task.id.as_str(), task.status),
            ("t1", TaskStatus::Completed)
        );
        assert_eq!(task.poll, Some(Duration::from_millis(250)));
        assert_eq!(task.result.unwrap().get(), r#"{"content":[],"z":1.50}"#);
        let legacy =
            raw(r#"{"task":{"taskId":"t2","status":"working","pollInterval":5,"ttl":60000}}"#);
        let task = Task::read_created(&legacy).unwrap();
        assert_eq!((task.id.as_str(), task.status), ("t2", TaskStatus::Working));
    }

    #[test]
    fn a_task_is_read_as_far_as_it_can_be() {
        let odd = r#"{"taskId":"t","status":"completed","pollInterval":1e999,"statusMessage":"\ud800","inputRequests":{"q":{"n":1e999}},"result":{"n":1e999}}"#;
        let task = Task::read(&raw(odd)).unwrap();
        assert_eq!(
            (task.poll, task.message.as_deref()),
            (None, Some("\u{fffd}"))
        );
        assert_eq!(task.requests["q"].text(), r#"{"n":1e999}"#);
        assert_eq!(task.result.unwrap().get(), r#"{"n":1e999}"#);
    }

    #[test]
    fn what_is_no_task_is_refused() {
        for bad in [
            "{}",
            "[]",
            r#"{"taskId":"t"}"#,
            r#"{"taskId":"t","status":"later"}"#,
            r#"{"taskId":"","status":"working"}"#,
            r#"{"taskId":7,"status":"working"}"#,
        ] {
            assert!(Task::read(&raw(bad)).is_err(), "{bad}");
        }
        assert!(Task::read_created(&raw(r#"{"content":[]}"#)).is_err());
        let odd = Task::read(&raw(
            r#"{"taskId":"t","status":"working","pollIntervalMs":-1}"#,
        ));
        assert_eq!(odd.unwrap().poll, None);
    }
}
