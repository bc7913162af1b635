//! Properties of the decider over the simulator's workflows: no order of inputs breaks it, folding is exact,
//! and what was decided is never evaluated again.

mod erring;

use super::dice::Dice;
use super::feed::feed;
use super::path::critical_path;
use super::scenario::Scenario;
use onecall_engine::decide::{Input, decide};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{Answer, AnswerAction, Event, Lost, Outcome, Resolution, What};
use onecall_engine::evolve::evolve;
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::{CallId, RunId, Slot, Timestamp};
use onecall_engine::state::State;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

fn fresh(scenario: &Scenario) -> State {
    State::new(RunId::new("run"), Arc::clone(&scenario.plan))
}

fn fold(scenario: &Scenario, events: &[Event]) -> State {
    let mut state = fresh(scenario);
    for event in events {
        evolve(&mut state, event);
    }
    state
}

/// Steps and items are few, so that inputs often meet something that is there; some are not there at all.
fn slots() -> impl Strategy<Value = Slot> {
    let item = prop_oneof![Just(None), (0_u32..7).prop_map(Some)];
    (0_u32..8, item).prop_map(|(step, item)| Slot { step, item })
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Returned(Arc::new(json!({
            "content": [], "structuredContent": { "value": 1 },
        })))),
        Just(Outcome::Returned(Arc::new(json!("no result at all")))),
        Just(Outcome::Returned(Arc::new(json!({ "isError": true })))),
        Just(Outcome::Failed {
            failure: Failure::new(Code::TransportUnavailable, "no"),
            result: None,
        }),
        Just(Outcome::Unknown(Lost::Crash)),
        Just(Outcome::Unknown(Lost::Cancelled)),
        Just(Outcome::Unknown(Lost::Connection {
            reason: "reset".to_owned()
        })),
    ]
}

fn inputs() -> impl Strategy<Value = Input> {
    let call = (slots(), 0_u32..4).prop_map(|(slot, attempt)| slot.attempt(attempt));
    let content = prop_oneof![
        Just(None),
        Just(Some(json!({ "value": true }))),
        Just(Some(json!(3)))
    ];
    let action = prop_oneof![
        Just(AnswerAction::Accept),
        Just(AnswerAction::Decline),
        Just(AnswerAction::Cancel),
        Just(AnswerAction::Timeout),
    ];
    let round = prop_oneof![Just(None), (0_u32..3).prop_map(Some)];
    let answer = (0_u32..8, round, action, content).prop_map(|(step, round, action, content)| {
        let defaulted = false;
        Input::Answer {
            step,
            round,
            answer: Answer {
                action,
                content,
                defaulted,
            },
        }
    });
    let resolution = prop_oneof![
        Just(Resolution::Retry),
        Just(Resolution::Fail),
        Just(Resolution::Result(json!({ "value": 1 }))),
    ];
    prop_oneof![
        6 => (call, outcomes()).prop_map(|(call, outcome)| Input::Ended { call, outcome }),
        3 => answer,
        2 => Just(Input::Time),
        2 => (slots(), resolution).prop_map(|(slot, resolution)| Input::Resolve { slot, resolution }),
        1 => Just(Input::Resume),
        1 => Just(Input::Start { input: Arc::new(json!({})), seed: 1 }),
        1 => Just(Input::Cancel { reason: "enough".to_owned() }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_order_of_inputs_breaks_the_decider(
        number in 0_u64..2_000,
        is_started in prop::bool::weighted(0.9),
        inputs in prop::collection::vec((0_u64..30_000, inputs()), 0..40),
    ) {
        let scenario = Scenario::roll(9, number);
        let mut state = fresh(&scenario);
        let mut events = Vec::new();
        let mut now = Timestamp::from_millis(1_785_231_000_000);
        if is_started {
            let start = Input::Start { input: Arc::clone(&scenario.input), seed: 1 };
            events.extend(decide(&mut state, now, start, &PlanEvaluator::default()));
        }
        for (later, input) in inputs {
            // Clocks go back now and then.
            now = Timestamp::from_micros(now.as_micros() + 1_000 * later - 5_000_000 * u64::from(later % 7 == 0));
            events.extend(decide(&mut state, now, input, &PlanEvaluator::default()));
        }
        prop_assert_eq!(fold(&scenario, &events).image(), state.image());
        let stored = serde_json::to_string(&events).unwrap();
        let read: Vec<Event> = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(fold(&scenario, &read).image(), state.image());
        let ends = events.iter().filter(|event| matches!(event.what, What::RunEnded { .. })).count();
        prop_assert!(ends <= 1);
    }
}

/// What the fuzzer does, on a few thousand inputs of dice.
#[test]
fn any_bytes_are_a_run_that_holds() {
    for number in 0..3_000 {
        let mut dice = Dice::of(&[17, number]);
        let bytes: Vec<u8> = (0..dice.below(200))
            .map(|_| dice.next().to_le_bytes()[0])
            .collect();
        assert_eq!(feed(&bytes), None, "{bytes:?}");
    }
}

/// Steps start when their own needs have ended: a run takes as long as its longest chain, to the microsecond.
#[test]
fn a_run_takes_its_critical_path() {
    for number in 0..200 {
        let path = critical_path(number);
        assert_eq!(path.took, path.longest, "{number}");
    }
}

#[test]
fn ids_of_calls_are_what_slots_say() {
    let slot = Slot {
        step: 1,
        item: Some(2),
    };
    let call = CallId {
        step: 1,
        item: Some(2),
        attempt: 3,
    };
    assert_eq!(slot.attempt(3), call);
    assert_eq!(call.slot(), slot);
}
