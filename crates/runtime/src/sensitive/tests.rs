//! Values that must not be shown: answers to the workflow's questions and to a tool's own, and what a tool gave, in
//! whichever event they come.

use super::*;
use crate::runs::{channels, standing_of};
use onecall_engine::driver::Observer as _;
use onecall_engine::event::{Answer, AnswerAction, KeptStep, Status};
use onecall_engine::evolve::evolve;
use onecall_engine::failure::Code;
use onecall_engine::identity::{RunId, Slot, Timestamp};
use onecall_engine::inquiry::AskedBy;
use onecall_workflow::expression::Expression;
use onecall_workflow::plan::{BoundTool, Repeatable};
use onecall_workflow::step::{Ask, Call, Each, Shape};
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
        assert_eq!(standing_of(&state).held[0].reason, "`•••` was reset");
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
        assert_eq!(standing.held[0].reason, "`•••` was reset");
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
    assert_eq!(standing_of(&state).held[0].reason, "`•••` was reset");
    let mut first = event(started(Some(kept)));
    Masker::new(plan).cover_event(&mut first);
    let text = format!("{first:?}");
    assert!(text.contains("•••") && !text.contains(PIN), "{text}");
}

/// A plan whose only tool marks `pin` in what it is given and in what it gives.
fn guarded(step: Step) -> Arc<Plan> {
    let tool = BoundTool {
        backend: "backend".into(),
        original: "tool".to_owned(),
        input: Coercer::new(asks_for_pin()),
        output_schema: Some(asks_for_pin()),
        repeatable: Repeatable::No,
    };
    let tools = vec![Some(Arc::new(tool))];
    Arc::new(Plan::plain(Workflow::plain("w", vec![step]), tools))
}

fn given(value: Value) -> What {
    What::HeldResolved {
        slot: Slot::of_step(0),
        resolution: Resolution::Result(value),
    }
}

fn step_ended(output: Value) -> What {
    What::StepEnded {
        step: 0,
        status: Status::Completed,
        output: Output::Value(Arc::new(output)),
        defaulted: false,
        failure: None,
        reason: None,
    }
}

#[test]
fn what_a_tool_marks_is_covered_in_every_event() {
    let result = json!({ "content": [], "structuredContent": { "pin": PIN } });
    let failed = What::AttemptEnded {
        call: Slot::of_step(0).attempt(0),
        outcome: Outcome::Failed {
            failure: Failure::new(Code::ToolError, format!("not {PIN}")),
            result: Some(Arc::new(result.clone())),
        },
    };
    let mocked = What::Mocked {
        step: 0,
        arguments: Some(Arc::new(json!({ "pin": PIN }))),
    };
    for what in [
        failed,
        mocked,
        given(result.clone()),
        given(json!({ "pin": PIN })),
        step_ended(json!({ "pin": PIN })),
        step_ended(result),
    ] {
        let told = What::Note {
            text: format!("it was {PIN}"),
        };
        let mut stored = [event(what), event(told)];
        let mut masker = Masker::new(guarded(call()));
        for event in &mut stored {
            masker.cover_event(event);
        }
        let text = format!("{stored:?}");
        assert!(text.contains("it was •••") && !text.contains(PIN), "{text}");
    }
}

#[test]
fn outputs_of_a_loop_are_covered_item_by_item() {
    for shape in [Shape::Report, Shape::Plain] {
        let each = Each {
            items: Expression::text("[]"),
            item_name: "item".to_owned(),
            parallel_max: 1,
            iterations_max: 1,
            output: shape,
            ends_at_failure: false,
            body: Box::new(call()),
        };
        let each = Step::plain("loop", Action::Each(each));
        let output = match shape {
            Shape::Report => json!({ "iterations": [{ "output": { "pin": PIN } }] }),
            Shape::Plain => json!([{ "pin": PIN }]),
        };
        let mut ended = event(step_ended(output));
        Masker::new(guarded(each)).cover_event(&mut ended);
        let text = format!("{ended:?}");
        assert!(text.contains("•••") && !text.contains(PIN), "{text}");
    }
}

#[test]
fn what_a_person_gave_is_covered_after_a_resume() {
    let output = json!({ "pin": PIN });
    let events = [started(None), held(), given(output.clone())];
    let events = events.into_iter().chain([step_ended(output), held()]);
    let state = folded(guarded(call()), events);
    assert_eq!(standing_of(&state).held[0].reason, "`•••` was reset");
}
