//! The history of a run whose calls were lost: what is held, what people decided, what was used up.

use super::*;
use onecall_engine::event::Lost;
use onecall_engine::identity::RunId;
use onecall_engine::journal::Phase;
use onecall_workflow::expression::Expression;
use onecall_workflow::plan::Plan;
use onecall_workflow::policy::Durability;
use onecall_workflow::step::{Action, Call, Each, Shape, Step};
use onecall_workflow::stored::write_plan;
use onecall_workflow::workflow::Workflow;
use serde_json::json;
use std::sync::Arc;

/// A loop over two items.
fn plan() -> Plan {
    let body = Step::plain("body", Action::Call(Call::plain("backend.tool")));
    let each = Each {
        items: Expression::text("[]"),
        item_name: "item".to_owned(),
        parallel_max: 2,
        iterations_max: 2,
        output: Shape::Report,
        ends_at_failure: false,
        body: Box::new(body),
    };
    let steps = vec![Step::plain("l", Action::Each(each))];
    Plan::plain(Workflow::plain("w", steps), vec![None])
}

fn slot(item: u32) -> Slot {
    Slot {
        step: 0,
        item: Some(item),
    }
}

fn sent(item: u32, attempt: u32) -> What {
    What::AttemptStarted {
        call: slot(item).attempt(attempt),
        arguments: Arc::new(json!({})),
        key: "k".to_owned(),
        deadline: None,
        carried: None,
    }
}

/// Both calls die with their process.
fn lost() -> Vec<What> {
    let started = What::RunStarted {
        input: Arc::new(json!({})),
        seed: 1,
        deadline: None,
        kept: None,
    };
    let items = What::ItemsAre {
        step: 0,
        items: Arc::new(vec![json!("a"), json!("b")]),
        deadline: None,
    };
    let mut events = vec![started, items, sent(0, 0), sent(1, 0)];
    for item in 0..2 {
        events.push(What::AttemptEnded {
            call: slot(item).attempt(0),
            outcome: Outcome::Unknown(Lost::Crash),
        });
        events.push(What::Held {
            slot: slot(item),
            reason: "nobody knows".to_owned(),
        });
    }
    events
}

fn stored(events: Vec<What>) -> StoredRun {
    let (plan, plan_hash) = write_plan(&plan());
    let at = Timestamp::from_millis(1_000);
    StoredRun {
        summary: Summary {
            phase: Phase::Held,
            ..Summary::new(RunId::new("r1"), "w", at)
        },
        plan: plan.into(),
        plan_hash,
        durability: Durability::Async,
        events: events.into_iter().map(|what| Event { at, what }).collect(),
    }
}

#[test]
fn a_held_loop_says_which_items_are_held() {
    let history = of(&stored(lost())).unwrap();
    let step = &history.steps[0];
    assert_eq!(step.reason.as_deref(), Some("held: l[0], l[1]"));
    let item = &step.items[1];
    assert_eq!(item.reason.as_deref(), Some("held: nobody knows"));
}

#[test]
fn what_people_decided_is_told_in_words_and_every_call_counts() {
    let mut events = lost();
    for (item, resolution) in [
        (0, Resolution::Retry),
        (1, Resolution::Result(json!({ "n": 1 }))),
    ] {
        let slot = slot(item);
        events.push(What::HeldResolved { slot, resolution });
    }
    events.push(sent(0, 1));
    let history = of(&stored(events)).unwrap();
    assert_eq!(
        history.notes,
        [
            "the held call of `l[0]` was made again by a person",
            "the held call of `l[1]` was given its result by a person"
        ]
    );
    assert_eq!(history.used.calls, 3);
}

#[test]
fn what_has_not_ended_lasts_until_it_is_looked_at() {
    let later = Timestamp::from_millis(61_000);
    let history = at(&stored(lost()), later).unwrap();
    assert_eq!(history.until, later);
    assert_eq!(history.steps[0].spent.wait_us, 60_000_000);
}
