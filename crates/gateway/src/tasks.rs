//! The tasks extension: a run that outlasts its call, or waits for a person, becomes a task of a client that declared
//! the extension. A task is its run, under the run's id, for the run's owner; nothing else is kept of it.

use crate::call::Caller;
use crate::follow::how_to_answer;
use crate::limits::{TASK_POLL, TASK_TTL};
use crate::server::Shared;
use crate::{ask, large};
use onecall_engine::failure::Category;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Phase, Summary};
use onecall_mcp::{RpcError, TASKS_EXTENSION, code, field, meta, method};
use onecall_runtime::questions::{AnswerError, LookError};
use onecall_runtime::runs::{Asked, Standing};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(crate) fn is_task(name: &str) -> bool {
    matches!(
        name,
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL
    )
}

/// The answer to a call whose run goes on as a task.
pub(crate) async fn created(
    shared: &Shared,
    run: &RunId,
    caller: &Caller,
) -> Result<Value, RpcError> {
    let (summary, standing) = looked(shared, run).await?;
    let asks = |_: &Asked| false;
    let mut task = fields(&summary, status(shared, &standing, caller, asks));
    task.insert("resultType".to_owned(), Value::from("task"));
    for key in ["result", "error", field::INPUT_REQUESTS] {
        task.shift_remove(key);
    }
    Ok(Value::Object(task))
}

/// Answers one of the methods named in [`is_task`].
pub(crate) async fn answer(
    shared: &Shared,
    name: &str,
    params: &Value,
    caller: &Caller,
) -> Result<Value, RpcError> {
    if !caller.takes_tasks {
        let data = json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } });
        let text = "the client did not declare the tasks extension";
        return Err(RpcError::new(code::MISSING_CAPABILITY, text).with_data(data));
    }
    let Some(id) = params.get("taskId").and_then(Value::as_str) else {
        return Err(RpcError::invalid_params(
            "`taskId` must be the id of a task",
        ));
    };
    let run = RunId::new(id);
    let owned = shared.runtime.owned(&run, caller.principal.name()).await;
    owned.map_err(|error| unknown(&error))?;
    match name {
        method::TASKS_GET => told(shared, &run, caller).await,
        method::TASKS_UPDATE => {
            shared.runtime.lend(&run, caller.token.as_ref());
            update(shared, &run, params, caller).await
        }
        _ => cancel(shared, &run).await,
    }
}

/// A task as it stands now, for its owner.
pub(crate) async fn told(shared: &Shared, run: &RunId, caller: &Caller) -> Result<Value, RpcError> {
    let (summary, mut standing) = looked(shared, run).await?;
    let result = large::result(shared, &standing, standing.declares_output, caller).await;
    standing.result = result.map(Arc::new);
    let asks = |asked: &Asked| ask::can_be_put(asked, caller);
    let status = status(shared, &standing, caller, asks);
    Ok(Value::Object(fields(&summary, status)))
}

async fn looked(shared: &Shared, run: &RunId) -> Result<(Summary, Standing), RpcError> {
    let looked = shared.runtime.recorded(run).await;
    looked.map_err(|error| unknown(&error))
}

fn unknown(error: &LookError) -> RpcError {
    match error {
        LookError::UnknownRun(_) => RpcError::invalid_params("no task has this `taskId`"),
        LookError::Store(_) | LookError::Unreadable(_) => {
            RpcError::new(code::INTERNAL, error.to_string())
        }
    }
}

/// The status of a task and what stands beside it.
type Status = (&'static str, Option<(&'static str, Value)>);

fn fields(summary: &Summary, (status, beside): Status) -> Map<String, Value> {
    let mut task = Map::new();
    let millis =
        |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    // A run that goes on is never removed, and may wait for a person for as long as its workflow says.
    let lasted = summary.updated.since(summary.created);
    let ended = summary.phase.is_ended();
    let ttl = ended.then(|| millis(lasted.saturating_add(TASK_TTL)));
    let rows = [
        ("taskId", Value::from(summary.id.as_str())),
        ("createdAt", Value::from(summary.created.to_rfc3339())),
        ("lastUpdatedAt", Value::from(summary.updated.to_rfc3339())),
        ("ttlMs", ttl.map_or(Value::Null, Value::from)),
        ("pollIntervalMs", Value::from(millis(TASK_POLL))),
    ];
    task.extend(rows.map(|(key, value)| (key.to_owned(), value)));
    task.insert("status".to_owned(), Value::from(status));
    task.extend(beside.map(|(key, value)| (key.to_owned(), value)));
    task
}

/// `asks`: which questions the client puts to its person; for the others it is told how a person answers them.
fn status(
    shared: &Shared,
    standing: &Standing,
    caller: &Caller,
    asks: impl Fn(&Asked) -> bool,
) -> Status {
    if let Some(result) = &standing.result {
        return ended(standing.phase, result);
    }
    let requests: Map<String, Value> = standing
        .questions
        .iter()
        .filter(|asked| asks(asked))
        .map(|asked| (key_of(asked), ask::request(asked)))
        .collect();
    if !requests.is_empty() {
        return (
            "input_required",
            Some((field::INPUT_REQUESTS, Value::Object(requests))),
        );
    }
    if let Some(held) = standing.held.first() {
        let text = format!("held: {}", held.reason);
        return ("working", Some(("statusMessage", Value::from(text))));
    }
    if standing.phase != Phase::Waiting {
        return ("working", None);
    }
    let mut text = "waits for a person.".to_owned();
    for question in &standing.questions {
        text.push_str(&how_to_answer(shared, &standing.run, question, caller));
    }
    ("working", Some(("statusMessage", Value::from(text))))
}

/// A failed run is a completed task with an error result; only faults of ours are failed tasks.
fn ended(phase: Phase, result: &Value) -> Status {
    if phase == Phase::Cancelled {
        return ("cancelled", None);
    }
    let error = &result["_meta"][meta::ERROR];
    if error["category"] == Category::Internal.as_str() {
        let message = error["message"].as_str().unwrap_or_default();
        let error = RpcError::new(code::INTERNAL, message).with_data(error.clone());
        return ("failed", Some(("error", error.to_value())));
    }
    ("completed", Some(("result", result.clone())))
}

/// Keys are never used twice in the life of a task.
fn key_of(asked: &Asked) -> String {
    format!("{}#{}", asked.step, asked.round)
}

async fn update(
    shared: &Shared,
    run: &RunId,
    params: &Value,
    caller: &Caller,
) -> Result<Value, RpcError> {
    let Some(responses) = params
        .get(field::INPUT_RESPONSES)
        .and_then(Value::as_object)
    else {
        return Err(RpcError::invalid_params(
            "`inputResponses` must be an object",
        ));
    };
    let (_, standing) = looked(shared, run).await?;
    let open = standing.questions.iter();
    let open: Vec<&Asked> = open
        .filter(|asked| ask::can_be_put(asked, caller))
        .collect();
    for asked in open {
        let Some(response) = responses.get(&key_of(asked)) else {
            continue;
        };
        let given = ask::read_answer(asked.step.clone(), asked.round, response)?;
        match shared.runtime.answer(run, given).await {
            // Somebody else was first, or the run will take the answer up in a moment.
            Ok(_) | Err(AnswerError::NotAsked { .. } | AnswerError::Slow) => {}
            Err(error) => return Err(ask::refused(&error)),
        }
    }
    Ok(json!({}))
}

async fn cancel(shared: &Shared, run: &RunId) -> Result<Value, RpcError> {
    let (_, standing) = looked(shared, run).await?;
    if standing.result.is_none() {
        let follower = shared.runtime.attach(run).await;
        let follower = follower.map_err(|error| unknown(&error))?;
        follower.cancel("the client cancelled the task").await;
    }
    Ok(json!({}))
}
