//! Answers that must not be shown: of the workflow's questions and of a tool's own, after a resume and in a new run.

use super::*;
use crate::runs::{channels, standing_of};
use onecall_engine::driver::Observer as _;
use onecall_engine::event::{Answer, AnswerAction};
use onecall_engine::evolve::evolve;
use onecall_engine::identity::{RunId, Slot, Timestamp};
use onecall_engine::inquiry::AskedBy;
use onecall_workflow::step::{Ask, Call};
use onecall_workflow::workflow::Workflow;
use serde_json::json;

const PIN: &str = "pin-90210";

fn asks_for_pin() -> Value {
    json!({ "type": "object", "properties": { "pin": { "type": "string", "writeOnly": true } } })
}

fn ask() -> Step {
    let ask = Ask {
        schema: Some(asks_for_pin()),
        ..Ask::plain("the pin?")
    };
    Step::plain("ask", Action::Ask(ask))
}

fn call() -> Step {
    Step::plain("call", Action::Call(Call::plain("backend.tool")))
}

fn plan(steps: Vec<Step>) -> Arc<Plan> {
    let tools = vec![None; steps.len()];
    Arc::new(Plan::plain(Workflow::plain("w", steps), tools))
}

fn started(kept: Option<Kept>) -> What {
    What::RunStarted {
        input: Arc::new(json!({})),
        seed: 1,
        deadline: None,
        kept,
    }
}

/// The first step, or its tool, asks for a pin and is given it.
fn asked_and_answered(by: Option<AskedBy>) -> [What; 2] {
    let asked = What::QuestionAsked {
        step: 0,
        round: 0,
        message: "the pin?".to_owned(),
        schema: Some(Arc::new(asks_for_pin())),
        deadline: None,
        by,
        url: None,
    };
    let answer = Answer {
        action: AnswerAction::Accept,
        content: Some(json!({ "pin": PIN })),
        defaulted: false,
    };
    let answered = What::QuestionAnswered {
        step: 0,
        round: 0,
        answer,
        sent: None,
    };
    [asked, answered]
}

fn of_tool() -> AskedBy {
    let key = "k".to_owned();
    AskedBy { item: None, key }
}

fn event(what: What) -> Event {
    let at = Timestamp::from_millis(1_000);
    Event { at, what }
}

fn folded(plan: Arc<Plan>, events: impl IntoIterator<Item = What>) -> State {
    let mut state = State::new(RunId::new("run"), plan);
    for what in events {
        evolve(&mut state, &event(what));
    }
    state
}

fn held() -> What {
    What::Held {
        slot: Slot::of_step(0),
        reason: format!("`{PIN}` was reset"),
    }
}

#[test]
fn an_answer_is_covered_after_a_resume() {
    for (step, by) in [(ask(), None), (call(), Some(of_tool()))] {
        let events = [started(None)].into_iter().chain(asked_and_answered(by));
        let state = folded(plan(vec![step]), events.chain([held()]));
        assert_eq!(standing_of(&state).held, ["`•••` was reset"]);
        let mut masker = Masker::of_state(&state).unwrap();
        let mut later = event(What::Note {
            text: format!("with {PIN}"),
        });
        masker.cover_event(&mut later);
        let text = "with •••".to_owned();
        assert_eq!(later.what, What::Note { text });
    }
}

#[test]
fn watchers_do_not_see_what_only_a_tool_marked() {
    for joins_at in 0..3 {
        let mut state = folded(plan(vec![call()]), [started(None)]);
        let channels = channels(&state, None);
        let mut seen = None;
        let all = asked_and_answered(Some(of_tool()))
            .into_iter()
            .chain([held()]);
        let mut told = Vec::new();
        for (index, what) in all.enumerate() {
            if index == joins_at {
                seen = Some(channels.live.seen.subscribe());
            }
            let event = event(what);
            evolve(&mut state, &event);
            channels.telling.saw(&state, &[event]);
            let batch = seen.as_mut().map(|seen| seen.try_recv().unwrap());
            told.extend(batch.iter().flat_map(|batch| batch.events.clone()));
        }
        let text = format!("{told:?}");
        assert!(text.contains("•••") && !text.contains(PIN), "{text}");
        let standing = channels.live.standing.borrow().clone();
        assert_eq!(standing.held, ["`•••` was reset"]);
    }
}

#[test]
fn an_answer_kept_from_an_earlier_run_is_covered() {
    let output = json!({ "action": "accept", "content": { "pin": PIN } });
    let kept = Kept {
        run: RunId::new("earlier"),
        steps: vec![KeptStep {
            step: 0,
            output: Output::Value(Arc::new(output)),
            result: None,
        }],
    };
    let plan = plan(vec![ask(), call()]);
    let state = folded(Arc::clone(&plan), [started(Some(kept.clone())), held()]);
    assert_eq!(standing_of(&state).held, ["`•••` was reset"]);
    let mut first = event(started(Some(kept)));
    Masker::new(plan).cover_event(&mut first);
    let text = format!("{first:?}");
    assert!(text.contains("•••") && !text.contains(PIN), "{text}");
}
