//! A call that became a task, followed to its end: polled as often as the server wants, through
//! reconnections, its questions put to the caller, cancelled when nobody waits any more.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use onecall_mcp::field::INPUT_RESPONSES;
use onecall_mcp::{
    CallAnswer, CallOutput, CallResult, Era, Exact, RpcError, Task, TaskStatus, answer, code,
    method,
};
use serde_json::{Value, json};

use crate::asking::Asker;
use crate::client::Client;
use crate::error::{CallError, RequestError};
use crate::limits::{TASK_POLL_DEFAULT, TASK_POLL_MAX, TASK_POLL_MIN};
use crate::slot::Slot;

/// Follows a task until its call has an answer. The caller bounds the time.
pub(crate) async fn follow(
    slot: &Slot,
    client: Arc<Client>,
    started: Task,
    asker: Option<&Asker>,
) -> Result<CallAnswer, CallError> {
    let mut following = Following {
        slot,
        asker,
        answered: HashSet::new(),
        cancel: CancelTask {
            client,
            id: started.id.clone(),
            armed: true,
        },
    };
    let outcome = following.run(started).await;
    following.cancel.armed = false;
    outcome
}

struct Following<'a> {
    slot: &'a Slot,
    asker: Option<&'a Asker>,
    /// What was answered so far; keys are unique for the life of a task.
    answered: HashSet<String>,
    cancel: CancelTask,
}

impl Following<'_> {
    async fn run(&mut self, mut task: Task) -> Result<CallAnswer, CallError> {
        loop {
            match (task.status, self.cancel.client.era()) {
                (TaskStatus::Working, _) => {}
                (TaskStatus::InputRequired, Era::Modern) => self.answer(&task).await?,
                (
                    TaskStatus::InputRequired | TaskStatus::Completed | TaskStatus::Failed,
                    Era::Legacy,
                ) => {
                    if let Some(result) = self.result().await? {
                        return Ok(CallAnswer::Complete(result));
                    }
                }
                (TaskStatus::Completed, Era::Modern) => {
                    return complete(task).map_err(|error| error.of_call(self.name()));
                }
                (TaskStatus::Failed, Era::Modern) => {
                    let message = task.message.unwrap_or_else(|| "the task failed".to_owned());
                    let error = task
                        .error
                        .unwrap_or_else(|| RpcError::new(code::INTERNAL, message));
                    return Err(RequestError::Rpc(error).of_call(self.name()));
                }
                (TaskStatus::Cancelled, _) => {
                    let text = task
                        .message
                        .unwrap_or_else(|| "the backend cancelled the task".to_owned());
                    return Ok(CallAnswer::Complete(failed(&text)));
                }
            }
            let wait = task.poll.unwrap_or(TASK_POLL_DEFAULT);
            tokio::time::sleep(wait.clamp(TASK_POLL_MIN, TASK_POLL_MAX)).await;
            if let Some(fresh) = self.get().await? {
                task = fresh;
            }
        }
    }

    /// The task as it is now; `None` while the backend cannot be reached.
    async fn get(&mut self) -> Result<Option<Task>, CallError> {
        let raw = self
            .request(method::TASKS_GET, self.named(), None)
            .await
            .map_err(|error| self.lost(error))?;
        let Some(raw) = raw else { return Ok(None) };
        let task = Task::read(&raw).map_err(RequestError::Malformed);
        task.map(Some).map_err(|error| self.lost(error))
    }

    /// Fetches the result of a legacy task; its questions come on the stream of this request.
    async fn result(&mut self) -> Result<Option<CallResult>, CallError> {
        let raw = self
            .request(method::TASKS_RESULT, self.named(), self.asker.cloned())
            .await
            .map_err(|error| match error {
                // The error or the length of the result itself.
                RequestError::Rpc(_) | RequestError::Limit(_) | RequestError::TooDeep { .. } => {
                    error.of_call(self.name())
                }
                other => self.lost(other),
            })?;
        let Some(raw) = raw else { return Ok(None) };
        match CallAnswer::from_raw(raw) {
            Ok(CallAnswer::Complete(result)) => Ok(Some(result)),
            Ok(CallAnswer::InputRequired(_) | CallAnswer::Task(_)) => {
                let message = "the result of a task is no tool result";
                let error = RpcError::new(code::INTERNAL, message);
                Err(RequestError::Rpc(error).of_call(self.name()))
            }
            Err(fault) => Err(RequestError::Malformed(fault).of_call(self.name())),
        }
    }

    /// Puts what a task asks to the caller and gives the answers back. A question that nobody
    /// takes, or that is answered with an error, is cancelled; what cannot be asked at all ends the call.
    async fn answer(&mut self, task: &Task) -> Result<(), CallError> {
        let fresh = task.requests.iter();
        let fresh: Vec<_> = fresh
            .filter(|(key, _)| !self.answered.contains(*key))
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        let foreign = fresh.iter().find_map(|(_, request)| {
            let name = request.value().get("method").and_then(Value::as_str);
            (name != Some(method::ELICIT)).then(|| name.unwrap_or("nothing known"))
        });
        let unasked = match (foreign, self.asker) {
            (Some(name), _) => Some(format!("the task asks for `{name}`, which was not offered")),
            (None, None) => Some("the task asks a person, and nobody can be asked".to_owned()),
            (None, Some(_)) => None,
        };
        if let Some(reason) = unasked {
            self.cancel_now().await;
            let error = RpcError::new(code::MISSING_CAPABILITY, reason);
            return Err(RequestError::Rpc(error).of_call(self.name()));
        }
        let asker = self.asker;
        let asked = fresh.into_iter().map(|(key, request)| async move {
            let params = request.field("params").unwrap_or_else(|| json!({}).into());
            let given = match asker {
                Some(asker) => asker.ask(method::ELICIT.to_owned(), params).await,
                None => None,
            };
            let given = given.and_then(Result::ok);
            (
                key.clone(),
                given.unwrap_or_else(|| answer("cancel", None).into()),
            )
        });
        let answers = futures::future::join_all(asked).await;
        let given = answers
            .iter()
            .map(|(key, answer)| (key.as_str(), answer.clone()));
        let params = Exact::object([
            ("taskId", Value::from(self.cancel.id.as_str()).into()),
            (INPUT_RESPONSES, Exact::object(given)),
        ]);
        let told = self
            .request(method::TASKS_UPDATE, params, None)
            .await
            .map_err(|error| self.lost(error))?;
        if told.is_some() {
            self.answered
                .extend(answers.into_iter().map(|(key, _)| key));
        }
        Ok(())
    }

    /// One request on whatever connection there is now; `None` where there is none for a moment.
    async fn request(
        &mut self,
        name: &'static str,
        params: Exact,
        asker: Option<Asker>,
    ) -> Result<Option<Box<serde_json::value::RawValue>>, RequestError> {
        let Ok(client) = self.slot.client().await else {
            return Ok(None);
        };
        self.cancel.client = Arc::clone(&client);
        match client.request_of_task(name, params, asker).await {
            Ok(raw) => Ok(Some(raw)),
            Err(RequestError::NotSent(reason) | RequestError::Lost(reason)) => {
                tracing::debug!(reason, "a task is asked for again");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Parameters that say which task is meant.
    fn named(&self) -> Exact {
        json!({ "taskId": self.cancel.id }).into()
    }

    /// A task that can no longer be followed may have acted or not, whatever the reason.
    fn lost(&self, error: RequestError) -> CallError {
        let reason = match error {
            RequestError::Rpc(error) => format!("its task is gone: {error}"),
            other => format!("its task cannot be followed: {}", other.into_reason()),
        };
        CallError::UnknownOutcome {
            backend: self.name().clone(),
            reason,
        }
    }

    async fn cancel_now(&mut self) {
        self.cancel.armed = false;
        cancel(&self.cancel.client, &self.cancel.id).await;
    }

    fn name(&self) -> &onecall_workflow::name::BackendName {
        &self.slot.target.options.name
    }
}

fn complete(task: Task) -> Result<CallAnswer, RequestError> {
    let missing = || onecall_mcp::ShapeError::Wrong {
        what: "`result` of a completed task".to_owned(),
        wanted: "a tool result",
    };
    let raw = task.result.ok_or_else(missing);
    let answer = raw.and_then(CallAnswer::from_raw);
    match answer.map_err(RequestError::Malformed)? {
        answer @ CallAnswer::Complete(_) => Ok(answer),
        CallAnswer::InputRequired(_) | CallAnswer::Task(_) => {
            Err(RequestError::Malformed(missing()))
        }
    }
}

/// A tool result that says it failed.
fn failed(text: &str) -> CallResult {
    CallResult::of(&CallOutput::text(text, true))
}

async fn cancel(client: &Client, id: &str) {
    let params = json!({ "taskId": id }).into();
    let told = client.request_of_task(method::TASKS_CANCEL, params, None);
    let told = tokio::time::timeout(Duration::from_secs(5), told).await;
    tracing::debug!(?told, "a task was cancelled");
}

/// Cancels the task when its caller no longer waits.
struct CancelTask {
    client: Arc<Client>,
    id: String,
    armed: bool,
}

impl Drop for CancelTask {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let (client, id) = (Arc::clone(&self.client), std::mem::take(&mut self.id));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { cancel(&client, &id).await });
        }
    }
}
