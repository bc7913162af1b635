//! What a tool asks in the middle of its call, put to the person at the terminal.

use crate::print;
use crate::terminal::{self, Terminal};
use onecall_engine::event::AnswerAction;
use onecall_mcp::{answer, method};
use onecall_runtime::runs::Asked;
use serde_json::Value;
use std::io;
use std::sync::Arc;

/// The answer to one request of the tool; what is no question to a person is not answered.
pub(super) async fn put(name: &str, params: &Value) -> anyhow::Result<Option<Value>> {
    if name != method::ELICIT {
        print::err(format!(
            "the tool asks for `{name}`, which is not offered here"
        ));
        return Ok(None);
    }
    let question = read(params);
    let asking = move || terminal::ask(&question, &mut Terminal::new());
    let given = tokio::task::spawn_blocking(asking).await??;
    let given = given.ok_or(io::Error::from(io::ErrorKind::Interrupted))?;
    let action = match given.action {
        AnswerAction::Accept => "accept",
        AnswerAction::Decline => "decline",
        AnswerAction::Cancel | AnswerAction::Timeout | AnswerAction::Invalid => "cancel",
    };
    Ok(Some(answer(action, given.content)))
}

/// The parameters of `elicitation/create` as a question.
pub(super) fn read(params: &Value) -> Asked {
    let text = |key: &str| params.get(key).and_then(Value::as_str);
    Asked {
        step: String::new(),
        round: 0,
        message: text("message").unwrap_or("the tool asks").to_owned(),
        schema: params.get("requestedSchema").cloned().map(Arc::new),
        url: text("url").map(str::to_owned),
        deadline: None,
        fault: None,
    }
}
