//! Our own limits end a run, each with its code.

use super::plan::{call, plan};
use onecall_engine::decide::{Input, decide};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{End, Outcome};
use onecall_engine::failure::Code;
use onecall_engine::identity::{RunId, Slot, Timestamp};
use onecall_engine::limits::Limits;
use onecall_engine::state::State;
use onecall_workflow::limits::Bounds;
use serde_json::json;
use std::sync::Arc;

fn started(names: &[&str]) -> State {
    let steps = names.iter().map(|name| call(name, &[])).collect();
    let mut state = State::new(RunId::new("run"), plan(steps));
    let input = Arc::new(json!({}));
    feed(&mut state, Input::Start { input, seed: 0 });
    state
}

const LIMITS: Limits = Limits {
    events: 200,
    data_bytes: 40_000,
    question: None,
    expression: Bounds {
        text_bytes: 1_000,
        operations: 1_000,
    },
};

fn feed(state: &mut State, input: Input) {
    let evaluator = PlanEvaluator { limits: LIMITS };
    decide(state, Timestamp::from_millis(1), input, &evaluator);
}

fn code(state: &State) -> Option<Code> {
    match &state.end {
        Some(End::Failed { failure, .. }) => Some(failure.code),
        _ => None,
    }
}

#[test]
fn a_run_ends_when_it_holds_too_much_data() {
    let names = ["a", "b", "c", "d", "e"];
    let mut state = started(&names);
    let quarter = usize::try_from(LIMITS.data_bytes / 4).unwrap() - 1_000;
    let text = "x".repeat(quarter);
    let result = Arc::new(json!({ "structuredContent": { "text": text } }));
    for step in 0..5 {
        assert_eq!(state.end, None);
        let outcome = Outcome::Returned(Arc::clone(&result));
        let call = Slot::of_step(step).attempt(0);
        feed(&mut state, Input::Ended { call, outcome });
    }
    assert_eq!(code(&state), Some(Code::LimitData));
    assert!(state.calls.is_empty());
}

#[test]
fn a_run_ends_when_it_has_too_many_events() {
    let mut state = started(&["a"]);
    while state.end.is_none() {
        assert!(state.events <= LIMITS.events);
        // An answer nobody waits for is noted, which is an event.
        let call = Slot::of_step(0).attempt(7);
        let outcome = Outcome::Returned(Arc::new(json!({})));
        feed(&mut state, Input::Ended { call, outcome });
    }
    assert_eq!(code(&state), Some(Code::LimitEvents));
    assert!(state.calls.is_empty());
}
