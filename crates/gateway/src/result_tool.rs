//! The tool `workflow_result`: fetches the result of a run whose call answered with a handle.
//! It is listed while a workflow is published and answers also afterwards, unless something published has its name;
//! then the runs are found as resources alone.

use crate::call::{Caller, carried_back};
use crate::follow::{Terms, follow};
use crate::limits::{RESULT_WAIT, RESULT_WAIT_MAX};
use crate::passing::Carried;
use crate::server::Shared;
use onecall_engine::failure::Code;
use onecall_engine::identity::RunId;
use onecall_mcp::RpcError;
use onecall_runtime::documents::run_uri;
use onecall_runtime::publish::Published;
use onecall_runtime::questions::LookError;
use onecall_runtime::result;
use serde_json::{Value, json};
use std::time::Duration;

/// What it is called.
pub const NAME: &str = "workflow_result";

/// Whether it stands in the list beside what is published.
pub fn is_listed(published: &Published) -> bool {
    published.workflows().next().is_some() && answers(published)
}

/// Whether a call under its name is answered by it. Runs outlive the publishing of their workflows.
pub(crate) fn answers(published: &Published) -> bool {
    published.find(NAME).is_none()
}

/// How long it may be asked to wait: no longer than other calls wait for their runs.
fn wait_max(patience: Duration) -> Duration {
    patience.min(RESULT_WAIT_MAX)
}

/// As `patience` says how long calls wait.
pub(crate) fn definition(patience: Duration) -> Value {
    let max = wait_max(patience);
    let default = max.min(RESULT_WAIT);
    json!({
        "name": NAME,
        "title": "Result of a workflow run",
        "description": "Fetches the result of a workflow run that an earlier call answered with \
            `pending.running` or `pending.input`, waiting a while for it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "run_id": { "type": "string", "description": "The `run_id` of the earlier answer." },
                "wait_seconds": {
                    "type": "number", "minimum": 0, "maximum": seconds(max), "default": seconds(default),
                    "description": "How long to wait for the run to end."
                }
            },
            "required": ["run_id"],
            "additionalProperties": false
        },
        "annotations": {
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false
        }
    })
}

fn seconds(duration: Duration) -> Value {
    match duration.subsec_nanos() {
        0 => Value::from(duration.as_secs()),
        _ => Value::from(duration.as_secs_f64()),
    }
}

/// What a model is told to do for the result of a run that goes on.
pub(crate) fn advice(shared: &Shared, run: &RunId) -> String {
    if answers(&shared.runtime.published().borrow()) {
        return format!("call `{NAME}` with {{\"run_id\": \"{run}\"}} for its result.");
    }
    let uri = run_uri(run.as_str());
    format!("read the resource `{uri}` for its result, which is there once the run has ended.")
}

pub(crate) async fn call(
    shared: &Shared,
    arguments: &Value,
    caller: &Caller,
    digest: String,
    carried: &Carried,
) -> Result<Value, RpcError> {
    let refused = |text: String| Ok(result::refused(Code::InputInvalid, text, false));
    let Some(run) = arguments.get("run_id").and_then(Value::as_str) else {
        return refused("`run_id` must be the id of a run".to_owned());
    };
    let max = wait_max(shared.patience);
    let wait = match arguments.get("wait_seconds") {
        None => RESULT_WAIT.min(max),
        Some(wait) => match wait.as_f64().filter(|wait| *wait >= 0.0) {
            Some(wait) => Duration::from_secs_f64(wait.min(max.as_secs_f64())),
            None => return refused("`wait_seconds` must be a number from zero".to_owned()),
        },
    };
    let terms = Terms {
        declares_output: false,
        cancels: false,
        patience: wait,
        may_be_task: false,
        digest,
    };
    if let Some(told) = carried_back(shared, carried, caller, &terms).await {
        return told;
    }
    let run = RunId::new(run);
    let principal = caller.principal.name();
    let attached = match shared.runtime.owned(&run, principal).await {
        Ok(()) => shared.runtime.attach(&run).await,
        Err(error) => Err(error),
    };
    let follower = match attached {
        Ok(follower) => follower,
        Err(error @ LookError::UnknownRun(_)) => return refused(error.to_string()),
        Err(error) => {
            let text = error.to_string();
            return Ok(result::refused(Code::InternalStore, text, false));
        }
    };
    follow(shared, follower, caller, &terms).await
}
