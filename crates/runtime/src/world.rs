//! The live world of the engine: backends, the system clock, the timer of the async runtime.

use crate::backend_calls::BackendCalls;
use crate::calls::caller_id;
use crate::limits::QUESTIONS_MAX;
use crate::trace::Trace;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use indexmap::IndexMap;
use onecall_backends::{
    BackendName, Backends, Call, CallError, CallerId, CallerToken, Question, Takes,
};
use onecall_engine::event::{Lost, Outcome};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::Timestamp;
use onecall_engine::inquiry::{Inquiry, Way};
use onecall_engine::world::{Asker, ToolCall, World};
use onecall_mcp::{
    CallAnswer, Exact, RpcError, ShapeError, code, meta, read_leniently, wanted_pages,
};
use serde_json::{Map, Value, json};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;

#[derive(Clone, Debug)]
pub(crate) struct LiveWorld {
    pub(crate) backends: Backends,
    pub(crate) trace: Trace,
    pub(crate) calls: Arc<BackendCalls>,
    /// Whose connection is used where a backend keeps one for each client; else the run has its own.
    pub(crate) caller: Option<CallerId>,
    /// What the caller showed. A run that goes on in another process has none.
    pub(crate) token: Option<CallerToken>,
    /// Somebody can answer what a tool asks, since the run is stored.
    pub(crate) takes_questions: bool,
}

impl World for LiveWorld {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome> {
        let world = self.clone();
        Box::pin(async move {
            let backend = BackendName::from(call.tool.backend.as_str());
            let asker = call.asker.clone();
            let is_retry = call.id.attempt > 0;
            let own = || caller_id(call.run.as_str());
            let caller = world.caller.unwrap_or_else(own);
            let mut request = request_of(call);
            world.trace.write(&mut request.meta);
            request.caller = Some(caller);
            request.token = world.token;
            if !world.takes_questions {
                let calling = world.backends.call(&backend, request);
                return outcome(world.calls.counted(&backend, is_retry, calling).await);
            }
            let (sink, questions) = mpsc::channel(QUESTIONS_MAX);
            request.takes = Takes::ALL;
            request.asker = Some(sink);
            let calling = world.backends.call(&backend, request);
            let calling = pin!(world.calls.counted(&backend, is_retry, calling));
            outcome(answering(calling, &asker, questions).await)
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

fn request_of(call: ToolCall) -> Call {
    let timeout = call.deadline.map(|deadline| deadline.since(now()));
    let mut request = Call::new(
        call.tool.original.clone(),
        Arc::unwrap_or_clone(call.arguments),
    )
    .with_key(&call.key);
    let meta = &mut request.meta;
    meta.insert(meta::RUN.to_owned(), Value::from(call.run.as_str()));
    meta.insert(meta::STEP.to_owned(), Value::from(call.step));
    // The decider owns the deadline of the step; this one only keeps a lost timer from leaking a call. What the
    // backend's own time-out cuts short is cut short there.
    request.timeout = timeout.map(|timeout| timeout + Duration::from_secs(1));
    // A call that could not be sent tells so just before the decider, who cannot know, takes it for one in flight. A
    // repetition is left to the decider: what the one before did may be unknown.
    let is_first = call.id.attempt == 0;
    request.unsent_timeout = timeout.filter(|_| is_first).map(shown);
    if let Some(carried) = call.carried {
        let answers = carried.answers.iter();
        let answers = answers.map(|(key, answer)| (key.clone(), answer.clone().into()));
        request.input_responses = Some(answers.collect());
        request.request_state.clone_from(&carried.state);
    }
    request
}

/// What is left of a time-out, as its file wrote it.
fn shown(left: Duration) -> Duration {
    let hundredths = left.as_millis().div_ceil(10);
    Duration::from_millis(
        u64::try_from(hundredths)
            .unwrap_or(u64::MAX)
            .saturating_mul(10),
    )
}

/// Makes a call, and puts what its tool asks meanwhile to the run.
async fn answering<T>(
    mut calling: Pin<&mut impl Future<Output = T>>,
    asker: &Asker,
    mut questions: mpsc::Receiver<Box<Question>>,
) -> T {
    // Few calls ask; only they pay for keeping their questions.
    let first = tokio::select! {
        biased;
        answer = &mut calling => return answer,
        Some(question) = questions.recv() => question,
    };
    let mut asked = FuturesUnordered::new();
    asked.push(put(asker, *first));
    loop {
        tokio::select! {
            answer = &mut calling => return answer,
            Some(question) = questions.recv() => asked.push(put(asker, *question)),
            Some(()) = asked.next(), if !asked.is_empty() => {}
        }
    }
}

/// A question that the run does not take is refused by dropping its reply.
async fn put(asker: &Asker, question: Question) {
    let request = json!({ "method": question.method, "params": question.params.value() });
    if let Some(answer) = asker.ask(request).await {
        let _ = question.reply.send(Ok(answer.into()));
    }
}

fn outcome(answer: Result<CallAnswer, CallError>) -> Outcome {
    match answer {
        // The tool has acted: a result that no value can hold must not look like a call to make again.
        Ok(CallAnswer::Complete(result)) => match read_leniently(result.raw().get()) {
            Ok(output) => Outcome::Returned(Arc::new(Value::Object(output))),
            Err(error) => {
                let fault = ShapeError::NotJson(error.to_string());
                definite(Code::TransportProtocol, fault.to_string())
            }
        },
        Ok(CallAnswer::InputRequired(asked)) => Outcome::Asks(Arc::new(Inquiry {
            requests: values(&asked.requests),
            state: asked.request_state,
            way: Way::Repeated,
        })),
        Ok(CallAnswer::Task(_)) => definite(Code::TransportProtocol, "the tool left a task behind"),
        Err(CallError::Rpc { error, .. }) if error.code == code::URL_ELICITATION => {
            consent(&error).unwrap_or_else(|| definite(Code::ToolProtocol, error.to_string()))
        }
        Err(error) => failed(&error),
    }
}

/// A server of 2025-11-25 that wants pages visited before the call is made again.
fn consent(error: &RpcError) -> Option<Outcome> {
    let requests = wanted_pages(error);
    (!requests.is_empty()).then(|| {
        Outcome::Asks(Arc::new(Inquiry {
            requests: values(&requests),
            state: None,
            way: Way::Consent,
        }))
    })
}

/// A run is asked, and answers, in values: that is what it keeps.
fn values(requests: &IndexMap<String, Exact>) -> Map<String, Value> {
    let requests = requests.iter();
    requests
        .map(|(key, request)| (key.clone(), request.value().clone()))
        .collect()
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
        | CallError::TooManyCallers { .. }
        | CallError::NoCaller { .. }
        | CallError::Malformed { .. }
        | CallError::Stopped => definite(code_of(error), text),
    }
}

/// The code of a call that failed for certain.
pub(crate) fn code_of(error: &CallError) -> Code {
    match error {
        CallError::UnknownOutcome { .. } | CallError::Timeout { sent: true, .. } => {
            Code::UnknownOutcomeUnanswered
        }
        CallError::Timeout { sent: false, .. } => Code::TimeoutStep,
        CallError::Rpc { error, .. } => Code::of_protocol_error(error.code),
        CallError::Denied { .. } | CallError::NoCaller { .. } => Code::DeniedCall,
        CallError::Limit { .. } => Code::LimitResult,
        CallError::Malformed { .. } => Code::TransportProtocol,
        CallError::ArgumentsTooLong { .. } => Code::LimitArguments,
        CallError::UnknownBackend(_)
        | CallError::Unavailable { .. }
        | CallError::TooManyCallers { .. }
        | CallError::Stopped => Code::TransportUnavailable,
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    #[test]
    fn a_result_that_no_value_can_hold_is_a_result() {
        let text = r#"{"content":[{"type":"text","text":"a \ud800 b"}],"n":1e999}"#;
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let Outcome::Returned(result) = outcome(Ok(CallAnswer::from_raw(raw).unwrap())) else {
            panic!("the call is not answered")
        };
        assert_eq!(result["content"][0]["text"], "a \u{fffd} b");
        assert_eq!(result["n"], f64::MAX);
    }

    #[test]
    fn what_was_sent_and_not_answered_is_unknown() {
        let backend = || BackendName::from("b");
        let lost = CallError::UnknownOutcome {
            backend: backend(),
            reason: "reset".to_owned(),
        };
        let after = Duration::from_secs(1);
        let late = |sent| CallError::Timeout {
            backend: backend(),
            after,
            sent,
        };
        assert!(matches!(failed(&lost), Outcome::Unknown(_)));
        assert!(matches!(failed(&late(true)), Outcome::Unknown(_)));
        assert!(matches!(failed(&late(false)), Outcome::Failed { .. }));
    }
}
