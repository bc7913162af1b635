//! Waking a run: what was in flight is lost, what only waking up begins is not.

use crate::plan::{call, plan, question};
use onecall_engine::decide::{Input, decide};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{Event, Kept, KeptStep, Outcome, Output, What};
use onecall_engine::identity::{RunId, Slot, Timestamp};
use onecall_engine::limits::CRASH_REPEATS_MAX;
use onecall_engine::state::State;
use onecall_workflow::step::{Action, Step};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn start(steps: Vec<Step>) -> State {
    let mut state = State::new(RunId::new("run"), plan(steps));
    let input = Arc::new(json!({}));
    feed(&mut state, 0, Input::Start { input, seed: 1 });
    state
}

fn feed(state: &mut State, seconds: u64, input: Input) -> Vec<Event> {
    decide(
        state,
        Timestamp::from_millis(seconds * 1_000),
        input,
        &PlanEvaluator::default(),
    )
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.what.kind()).collect()
}

#[test]
fn a_call_that_waking_up_decides_on_was_never_sent() {
    let mut asks = question("asks", &[]);
    asks.timeout = Some(Duration::from_secs(14));
    if let Action::Ask(ask) = &mut asks.action {
        ask.default_response = Some(json!({}));
    }
    let mut state = start(vec![asks, call("writes", &["asks"])]);
    let events = feed(&mut state, 20, Input::Resume);
    assert_eq!(
        kinds(&events),
        ["question_answered", "step_ended", "attempt_started"]
    );
    assert_eq!(state.calls.len(), 1);
    assert!(state.held.is_empty());
}

#[test]
fn time_without_a_process_does_not_count_against_a_repeated_call() {
    let mut reads = call("reads", &[]);
    reads.timeout = Some(Duration::from_secs(5));
    if let Action::Call(call) = &mut reads.action {
        call.idempotent = true;
    }
    let mut state = start(vec![reads]);
    let events = feed(&mut state, 3_600, Input::Resume);
    assert_eq!(kinds(&events), ["attempt_ended", "attempt_started"]);
    let late = feed(&mut state, 3_606, Input::Time);
    assert_eq!(kinds(&late), ["attempt_ended", "step_ended", "run_ended"]);
}

#[test]
fn a_call_that_kills_its_process_again_and_again_is_held() {
    let mut reads = call("reads", &[]);
    if let Action::Call(call) = &mut reads.action {
        call.idempotent = true;
    }
    let mut state = start(vec![reads]);
    for _ in 0..CRASH_REPEATS_MAX {
        feed(&mut state, 1, Input::Resume);
        assert_eq!(state.calls.len(), 1);
    }
    let events = feed(&mut state, 1, Input::Resume);
    assert_eq!(kinds(&events), ["attempt_ended", "held"]);
    assert!(state.held.contains_key(&Slot::of_step(0)));
}

#[test]
fn an_unusable_answer_keeps_the_key_of_the_call() {
    use onecall_engine::failure::{Code, Failure};
    use onecall_workflow::policy::{OnError, Retry, RetryOn, Then};
    let mut writes = call("writes", &[]);
    let retry = Retry {
        times: 5,
        delay: Duration::from_secs(1),
        on: RetryOn::Retryable,
    };
    writes.on_error = OnError {
        retry: Some(retry),
        then: Then::Abort,
    };
    let mut state = start(vec![writes]);
    let key = |state: &State| state.calls.values().next().unwrap().key.clone();
    let first = key(&state);
    let end = |state: &mut State, code: Code, at: u64| {
        let call = *state.calls.keys().next().unwrap();
        let failure = Failure::new(code, "no");
        let outcome = Outcome::Failed {
            failure,
            result: None,
        };
        feed(state, at, Input::Ended { call, outcome });
        let events = feed(state, at + 100, Input::Time);
        assert!(matches!(events[0].what, What::AttemptStarted { .. }));
    };
    end(&mut state, Code::LimitResult, 1);
    assert_eq!(key(&state), first);
    end(&mut state, Code::ToolError, 200);
    assert_ne!(key(&state), first);
}

#[test]
fn a_repeated_run_rests_until_it_is_taken_up_and_keeps_what_it_was_given() {
    let steps = vec![
        call("one", &[]),
        call("two", &["one"]),
        call("three", &["two"]),
    ];
    let mut state = State::new(RunId::new("again"), plan(steps));
    let result = Arc::new(json!({ "content": [], "structuredContent": { "n": 1 } }));
    let kept = Kept {
        run: RunId::new("first"),
        steps: vec![KeptStep {
            step: 0,
            output: Output::Structured,
            result: Some(Arc::clone(&result)),
        }],
    };
    let input = Arc::new(json!({}));
    let begin = Input::Repeat {
        input,
        seed: 1,
        kept,
    };
    assert_eq!(kinds(&feed(&mut state, 0, begin.clone())), ["run_started"]);
    assert!(state.calls.is_empty());
    assert_eq!(state.step(0).output.get(), Some(&json!({ "n": 1 })));
    assert!(feed(&mut state, 1, begin).is_empty(), "a run begins once");
    let events = feed(&mut state, 3_600, Input::Resume);
    assert_eq!(kinds(&events), ["attempt_started"]);
    assert_eq!(state.calls.keys().next().map(|call| call.step), Some(1));
    assert_eq!(state.step(0).work.attempts, 0);
}
