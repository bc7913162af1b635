//! Encoding and decoding: exact for every value, also for long, deep and misleading ones.

mod golden;

use super::*;
use crate::seal::{SealKey, Sealer};
use onecall_engine::event::{Outcome, What};
use onecall_engine::identity::{CallId, RunId};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn returned(value: Value) -> Event {
    Event {
        at: Timestamp::from_millis(5),
        what: What::AttemptEnded {
            call: CallId {
                step: 1,
                item: None,
                attempt: 0,
            },
            outcome: Outcome::Returned(Arc::new(value)),
        },
    }
}

fn check(events: &[Event]) -> Encoded {
    let run = RunId::new("a");
    let sealer = Sealer::new(SealKey::from([7; 32]));
    let sealed = check_with(events, Some(sealer.of(&run)), sealer.of(&run));
    assert!(is_sealed(&sealed.lines) || events.is_empty());
    let encoded = check_with(events, None, sealer.of(&run));
    assert!(!is_sealed(&encoded.lines));
    encoded
}

fn check_with(events: &[Event], seal: Option<Seal<'_>>, opens: Seal<'_>) -> Encoded {
    let encoded = encode(events, seal).unwrap();
    let store: BTreeMap<Hash, Vec<u8>> = encoded
        .values
        .iter()
        .map(|value| (value.hash, value.body.clone()))
        .collect();
    let decoded = decode::<DecodeError>(FORM, &encoded.lines, opens, &mut |hash| {
        Ok(store.get(&hash).cloned())
    })
    .unwrap();
    assert_eq!(decoded, events);
    encoded
}

#[test]
fn short_events_are_encoded_the_same_way_on_both_roads() {
    let events = [returned(json!({"a": [1, 2.5, null, "x\ny"]}))];
    assert_eq!(
        encode_short(&events, None).unwrap().lines,
        check(&events).lines
    );
}

#[test]
fn a_long_text_stands_apart_once_and_its_surroundings_stay() {
    let text = "x".repeat(INLINE_BYTES_MAX + 1);
    let value = json!({"content": [{"type": "text", "text": text}], "a~/b": {"same": text}});
    let event = returned(value);
    assert!(encode_short(std::slice::from_ref(&event), None).is_none());
    let encoded = check(&[event.clone(), event]);
    assert!(encoded.lines.len() < 1_000);
    assert_eq!(encoded.values.len(), 4);
    assert!(
        encoded
            .values
            .iter()
            .all(|value| value.hash == encoded.values[0].hash)
    );
}

#[test]
fn many_short_parts_that_are_long_together_stand_apart_as_one() {
    let items: Vec<Value> = (0..20_000).map(|index| json!({"n": index})).collect();
    let encoded = check(&[returned(json!({"items": items}))]);
    assert_eq!(encoded.values.len(), 1);
}

#[test]
fn long_parts_inside_long_parts_are_found_again() {
    let long = "y".repeat(INLINE_BYTES_MAX + 1);
    let items: Vec<Value> = (0..20_000).map(|index| json!(index)).collect();
    let encoded = check(&[returned(
        json!([{"items": [items.clone(), items], "long": long}, 7]),
    )]);
    assert!(encoded.values.len() >= 3);
}

#[test]
fn a_value_that_looks_like_a_reference_is_a_value() {
    let long = "z".repeat(INLINE_BYTES_MAX + 1);
    let fake = json!({"rest": null, "parts": [{"at": "", "hash": "00"}]});
    check(&[returned(fake.clone())]);
    check(&[returned(json!({"fake": fake, "long": long}))]);
}

#[test]
fn depth_beyond_the_limit_for_outside_text_is_read_back() {
    let mut value = json!("bottom");
    for _ in 0..400 {
        value = json!([value]);
    }
    check(&[returned(value)]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let mut nothing = |_| Ok(None);
    let run = RunId::new("a");
    let sealer = Sealer::new(SealKey::from([7; 32]));
    let seal = sealer.of(&run);
    let fault = decode::<DecodeError>(9, b"", seal, &mut nothing).unwrap_err();
    assert!(fault.to_string().contains("form 9"), "{fault}");
    let fault = decode::<DecodeError>(FORM, b"{\"at\":1}\n", seal, &mut nothing).unwrap_err();
    assert!(fault.to_string().contains("event 0"), "{fault}");
    let encoded = encode(&[returned(json!("x".repeat(INLINE_BYTES_MAX + 1)))], None).unwrap();
    let fault = decode::<DecodeError>(FORM, &encoded.lines, seal, &mut nothing).unwrap_err();
    assert!(
        matches!(fault, DecodeError::Missing { index: 0 }),
        "{fault}"
    );
    let sealed = encode(&[returned(json!(1))], Some(seal)).unwrap();
    let other = Sealer::new(SealKey::from([8; 32]));
    let fault = decode::<DecodeError>(FORM, &sealed.lines, other.of(&run), &mut nothing);
    let fault = fault.unwrap_err().to_string();
    assert_eq!(
        fault,
        "event 0 is sealed with another key than that of this store"
    );
}
