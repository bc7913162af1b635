//! Any bytes as a run and what happens to it, for the fuzzer: nothing breaks the decider, and folding is exact.

use super::scenario::Scenario;
use onecall_engine::decide::{Input, decide};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{Answer, AnswerAction, Event, Lost, Outcome, Resolution};
use onecall_engine::evolve::evolve;
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::{RunId, Slot, Timestamp};
use onecall_engine::inquiry::{Inquiry, Way};
use onecall_engine::state::State;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Feeds a run with what the bytes say: two for the workflow, then four for each input. The fault, if any.
pub fn feed(bytes: &[u8]) -> Option<String> {
    let (workflow, inputs) = bytes.split_first_chunk::<2>()?;
    let scenario = Scenario::roll(5, u64::from(u16::from_le_bytes(*workflow)));
    let fresh = || State::new(RunId::new("run"), Arc::clone(&scenario.plan));
    let mut state = fresh();
    let mut now = Timestamp::from_millis(1_785_231_000_000);
    let start = Input::Start {
        input: Arc::clone(&scenario.input),
        seed: 1,
    };
    let mut events = decide(&mut state, now, start, &PlanEvaluator::default());
    for input in inputs.as_chunks::<4>().0 {
        now = now.plus(Duration::from_millis(u64::from(input[3]) * 97));
        events.extend(decide(
            &mut state,
            now,
            read(*input),
            &PlanEvaluator::default(),
        ));
    }
    let stored = serde_json::to_string(&events).ok()?;
    let stored: Vec<Event> = match serde_json::from_str(&stored) {
        Ok(stored) => stored,
        Err(error) => return Some(format!("what was stored cannot be read: {error}")),
    };
    let mut folded = fresh();
    for event in &stored {
        evolve(&mut folded, event);
    }
    (folded.image() != state.image()).then(|| "folding gives another state".to_owned())
}

fn read([kind, place, word, _]: [u8; 4]) -> Input {
    let slot = Slot {
        step: u32::from(place % 8),
        item: (place >= 128).then_some(u32::from(place / 8 % 8)),
    };
    match kind % 8 {
        0..=2 => Input::Ended {
            call: slot.attempt(u32::from(word / 64)),
            outcome: outcome(word),
        },
        3 => Input::Answer {
            step: slot.step,
            round: (word >= 128).then_some(u32::from(word % 4)),
            answer: answer(word),
        },
        4 => Input::Time,
        5 => Input::Resume,
        6 => Input::Resolve {
            slot,
            resolution: match word % 3 {
                0 => Resolution::Retry,
                1 => Resolution::Fail,
                _ => Resolution::Result(json!({ "content": [], "value": word })),
            },
        },
        _ if word > 250 => Input::Cancel {
            reason: "enough".to_owned(),
        },
        _ => Input::CallAsks {
            call: slot.attempt(u32::from(word / 64)),
            key: (word % 4).to_string(),
            request: request(word),
        },
    }
}

/// What a tool asks; some of it nobody can answer.
fn request(word: u8) -> Value {
    let method = if word % 16 == 3 {
        "roots/list"
    } else {
        "elicitation/create"
    };
    let schema = json!({ "type": "object", "properties": { "value": { "type": "boolean" } } });
    json!({ "method": method, "params": { "message": "?", "requestedSchema": schema } })
}

fn outcome(word: u8) -> Outcome {
    match word % 8 {
        0 if word >= 192 => Outcome::Asks(Arc::new(Inquiry {
            requests: [("k".to_owned(), request(word))].into_iter().collect(),
            state: Some("s".to_owned()),
            way: if word.is_multiple_of(16) {
                Way::Repeated
            } else {
                Way::Consent
            },
        })),
        0..=2 => Outcome::Returned(Arc::new(json!({ "structuredContent": { "value": word } }))),
        3 => Outcome::Returned(Arc::new(json!({ "isError": true, "content": [] }))),
        4 => Outcome::Returned(Arc::new(json!("no result at all"))),
        5 => Outcome::Failed {
            failure: Failure::new(Code::TransportUnavailable, "no"),
            result: None,
        },
        6 => Outcome::Unknown(Lost::Connection {
            reason: "reset".to_owned(),
        }),
        _ => Outcome::Unknown(Lost::Cancelled),
    }
}

fn answer(word: u8) -> Answer {
    let (action, content) = match word % 5 {
        0 => (AnswerAction::Accept, Some(json!({ "value": true }))),
        1 => (AnswerAction::Accept, Some(json!("odd"))),
        2 => (AnswerAction::Decline, None),
        3 => (AnswerAction::Cancel, None),
        _ => (AnswerAction::Timeout, None),
    };
    Answer {
        action,
        content,
        defaulted: false,
    }
}
