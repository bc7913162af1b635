//! One call of a backend's tool, with the result as received: for people who want to see what a server really sends.

use crate::runtime::Runtime;
use crate::world::chain;
use onecall_backends::{Call, CallError};
use onecall_engine::failure::Code;
use onecall_mcp::{CallAnswer, CallResult};
use onecall_workflow::catalog::Resolution;
use serde_json::Value;

/// What a raw call came to.
#[derive(Debug)]
pub enum RawReply {
    /// The result as the backend wrote it.
    Result(CallResult),
    /// No backend has a tool of this name.
    Unknown,
    Failed {
        message: String,
        /// The backend was there.
        is_reached: bool,
    },
}

impl Runtime {
    /// Calls a tool by its published name or as `backend.tool`, hidden ones too.
    pub async fn call_raw(&self, reference: &str, arguments: Value) -> RawReply {
        let content = self.content();
        let mut catalog = self.catalog();
        if let Resolution::Found(tool) = catalog.resolve(reference) {
            let backend = tool.backend.clone();
            catalog = self.catalog_for_lock(&backend).await;
        }
        let tool = match catalog.resolve(reference) {
            Resolution::Found(tool) => tool,
            Resolution::Absent => return RawReply::Unknown,
            Resolution::NotYetKnown => {
                return RawReply::Failed {
                    message: self.unreachable_text(),
                    is_reached: false,
                };
            }
        };
        if let Some(fault) = self.locked_out(tool) {
            return RawReply::Failed {
                message: format!("{}: {}", Code::DeniedLocked.as_str(), fault.message),
                is_reached: true,
            };
        }
        let call = Call::new(tool.original.clone(), arguments);
        match content.backends.call(&tool.backend, call).await {
            Ok(CallAnswer::Complete(result)) => RawReply::Result(result),
            Ok(CallAnswer::InputRequired(_) | CallAnswer::Task(_)) => RawReply::Failed {
                message: "the tool asks a question or answers with a task; call it in a workflow"
                    .to_owned(),
                is_reached: true,
            },
            Err(error) => RawReply::Failed {
                is_reached: !matches!(error, CallError::Unavailable { .. }),
                message: chain(&error),
            },
        }
    }

    fn unreachable_text(&self) -> String {
        let reasons = self.backends();
        let reasons = reasons.iter().filter_map(|status| {
            let reason = status.state.reason()?;
            Some(format!("backend `{}`: {reason}", status.name))
        });
        let reasons: Vec<String> = reasons.collect();
        if reasons.is_empty() {
            return "a backend has not told its tools in time".to_owned();
        }
        reasons.join("; ")
    }
}
