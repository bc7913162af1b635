//! Where deciding happens: large evaluations leave the async threads, small ones do not; a panic in the first
//! decision ends the run; a failure that is continued is logged.

use crate::driver::{Setting, end_of};
use crate::evaluator::Arguments;
use crate::plan::{call, plan};
use crate::world::Tool;
use onecall_engine::decide::Input;
use onecall_engine::driver::begin;
use onecall_engine::evaluate::{Evaluator, PlanEvaluator};
use onecall_engine::event::End;
use onecall_engine::failure::Code;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::state::State;
use onecall_workflow::policy::OnError;
use onecall_workflow::scope::Scope;
use serde_json::json;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span;

const PATIENCE: Duration = Duration::from_mins(1);

/// The evaluation of one run lasts until the other run has ended, on the only async thread there is.
#[tokio::test]
async fn a_large_evaluation_does_not_hold_up_other_runs() {
    let (let_go, waiting) = mpsc::channel::<()>();
    let waiting = Mutex::new(waiting);
    let slow = Arguments(move |scope: &dyn Scope| {
        if scope
            .step("a")
            .is_some_and(|step| step.status == "completed")
        {
            waiting.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        }
    });
    let steps = || plan(vec![call("a", &[]), call("b", &["a"])]);
    let mut large = Setting::new(&[("a", Tool::Large), ("b", Tool::Answers(Duration::ZERO))]);
    let at_once = Tool::Answers(Duration::ZERO);
    let mut small = Setting::new(&[("a", at_once), ("b", at_once)]);
    let large = tokio::spawn(large.drive(steps(), Arc::new(slow)));
    let small = small
        .drive(steps(), Arc::new(PlanEvaluator::default()))
        .await;
    assert!(matches!(end_of(small.unwrap()), End::Completed { .. }));
    let_go.send(()).unwrap();
    let end = end_of(large.await.unwrap().unwrap());
    assert!(matches!(end, End::Completed { .. }), "{end:?}");
}

fn thread_of_first_decision(input: serde_json::Value) -> impl Future<Output = ThreadId> {
    let seen: Arc<Mutex<Option<ThreadId>>> = Arc::default();
    let noting = Arc::clone(&seen);
    let evaluator: Arc<dyn Evaluator> = Arc::new(Arguments(move |_: &dyn Scope| {
        *noting.lock().unwrap() = Some(thread::current().id());
    }));
    async move {
        let mut state = State::new(RunId::new("run"), plan(vec![call("a", &[])]));
        let input = Input::Start {
            input: Arc::new(input),
            seed: 0,
        };
        begin(&mut state, Timestamp::default(), input, &evaluator).await;
        assert_eq!(state.calls.len(), 1);
        let seen = *seen.lock().unwrap();
        seen.unwrap()
    }
}

#[tokio::test]
async fn only_large_evaluations_leave_the_thread() {
    let own = thread::current().id();
    assert_eq!(thread_of_first_decision(json!({ "text": "x" })).await, own);
    let large = json!({ "text": "x".repeat(65 * 1024) });
    assert_ne!(thread_of_first_decision(large).await, own);
}

#[tokio::test]
async fn a_panic_in_the_first_decision_ends_the_run() {
    let evaluator: Arc<dyn Evaluator> = Arc::new(Arguments(|_: &dyn Scope| {
        panic!("a fault in the evaluator")
    }));
    let mut state = State::new(RunId::new("run"), plan(vec![call("a", &[])]));
    let input = Input::Start {
        input: Arc::new(json!({})),
        seed: 0,
    };
    begin(&mut state, Timestamp::default(), input, &evaluator).await;
    let Some(End::Failed { failure, .. }) = &state.end else {
        panic!("the run did not fail");
    };
    assert_eq!(failure.code, Code::InternalFault);
}

/// Remembers the fields of every warning.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_continued_is_logged() {
    let warnings = Warnings::default();
    let guard = tracing::subscriber::set_default(warnings.clone());
    let second = Duration::from_secs(1);
    let mut setting = Setting::new(&[("a", Tool::Fails(second)), ("b", Tool::Fails(second))]);
    let mut continued = call("a", &[]);
    continued.on_error = OnError::CONTINUE;
    let steps = plan(vec![continued, call("b", &["a"])]);
    let stopped = setting
        .drive(steps, Arc::new(PlanEvaluator::default()))
        .await;
    assert!(matches!(end_of(stopped.unwrap()), End::Failed { .. }));
    drop(guard);
    let warnings = warnings.0.lock().unwrap();
    // The step that aborts is in the result; only the other is in the log.
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in ["step=\"a\"", "attempt=1", "code=tool.error"] {
        assert!(warnings[0].contains(part), "{}", warnings[0]);
    }
}
