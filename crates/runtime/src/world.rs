//! The live world of the engine: backends, the system clock, the timer of the async runtime.

use crate::trace::Trace;
use futures::future::BoxFuture;
use onecall_backends::{BackendName, Backends, Call, CallError};
use onecall_engine::event::{Lost, Outcome};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::Timestamp;
use onecall_engine::world::{ToolCall, World};
use onecall_mcp::{CallAnswer, meta};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Clone, Debug)]
pub(crate) struct LiveWorld {
    pub(crate) backends: Backends,
    pub(crate) trace: Trace,
}

impl World for LiveWorld {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome> {
        let backends = self.backends.clone();
        let trace = self.trace.clone();
        let timeout = call.deadline.map(|deadline| deadline.since(now()));
        Box::pin(async move {
            let backend = BackendName::from(call.tool.backend.as_str());
            let mut request = Call::new(call.tool.original.clone(), Value::clone(&call.arguments))
                .with_key(&call.key);
            request
                .meta
                .insert(meta::RUN.to_owned(), Value::from(call.run.as_str()));
            request
                .meta
                .insert(meta::STEP.to_owned(), Value::from(call.step));
            trace.write(&mut request.meta);
            // The decider owns the deadline; this one only keeps a lost timer from leaking a call.
            request.timeout = timeout.map(|timeout| timeout + Duration::from_secs(1));
            outcome(backends.call(&backend, request).await)
        })
    }

    fn now(&self) -> Timestamp {
        now()
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(at.since(now())))
    }
}

/// The time by the system clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

fn outcome(answer: Result<CallAnswer, CallError>) -> Outcome {
    match answer {
        Ok(CallAnswer::Complete(result)) => match result.parse() {
            Ok(output) => Outcome::Returned(Arc::new(Value::Object(output.into_object()))),
            Err(error) => definite(Code::TransportProtocol, error.to_string()),
        },
        Ok(CallAnswer::InputRequired(_)) => definite(
            Code::ToolProtocol,
            "the tool asks a question of its own, which a step cannot answer yet",
        ),
        Ok(CallAnswer::Task(_)) => definite(
            Code::ToolProtocol,
            "the tool answers with a task, which a step cannot follow yet",
        ),
        Err(error) => failed(&error),
    }
}

fn failed(error: &CallError) -> Outcome {
    let text = chain(error);
    match error {
        CallError::UnknownOutcome { .. } | CallError::Timeout { sent: true, .. } => {
            Outcome::Unknown(Lost::Connection { reason: text })
        }
        CallError::UnknownBackend(_)
        | CallError::Unavailable { .. }
        | CallError::Timeout { sent: false, .. }
        | CallError::Rpc { .. }
        | CallError::Denied { .. }
        | CallError::Limit { .. }
        | CallError::ArgumentsTooLong { .. }
        | CallError::Malformed { .. }
        | CallError::Stopped => definite(code_of(error), text),
    }
}

/// The code of a call that failed for certain.
pub(crate) fn code_of(error: &CallError) -> Code {
    match error {
        CallError::UnknownOutcome { .. } => Code::UnknownOutcomeUnanswered,
        CallError::Timeout { .. } => Code::TimeoutStep,
        CallError::Rpc { error, .. } => Code::of_protocol_error(error.code),
        CallError::Denied { .. } => Code::DeniedCall,
        CallError::Limit { .. } => Code::LimitResult,
        CallError::Malformed { .. } => Code::TransportProtocol,
        CallError::ArgumentsTooLong { .. } => Code::LimitArguments,
        CallError::UnknownBackend(_) | CallError::Unavailable { .. } | CallError::Stopped => {
            Code::TransportUnavailable
        }
    }
}

fn definite(code: Code, message: impl Into<String>) -> Outcome {
    Outcome::Failed {
        failure: Failure::new(code, message),
        result: None,
    }
}

/// An error with its causes, each said once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
