//! A journal goes on under a build whose evaluator always errs, up to the next thing it must evaluate: what was
//! decided is not evaluated again.

use crate::plan::{call, plan};
use onecall_engine::decide::{Input, decide};
use onecall_engine::evaluate::{Evaluator, PlanEvaluator};
use onecall_engine::event::{Event, Outcome, What};
use onecall_engine::evolve::evolve;
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::{RunId, Slot, Timestamp};
use onecall_engine::journal::Phase;
use onecall_engine::state::State;
use onecall_workflow::expression::{Expression, JqProgram, ValueTemplate};
use onecall_workflow::output::{Absent, Produced};
use onecall_workflow::plan::{BoundTool, Plan};
use onecall_workflow::scope::Scope;
use onecall_workflow::step::{Action, Call, Condition, Each, Step};
use onecall_workflow::workflow::OutputProperties;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Debug)]
struct Errs;

fn fault<T>() -> Result<T, Failure> {
    Err(Failure::new(Code::ExpressionFailed, "this build cannot"))
}

impl Evaluator for Errs {
    fn condition(&self, _: &Condition, _: &dyn Scope) -> Result<bool, Failure> {
        fault()
    }
    fn arguments(&self, _: &Call, _: &BoundTool, _: &dyn Scope) -> Result<Value, Failure> {
        fault()
    }
    fn misfit(&self, _: &BoundTool, _: &Value) -> Option<String> {
        None
    }
    fn items(&self, _: &Each, _: &dyn Scope) -> Result<Vec<Value>, Failure> {
        fault()
    }
    fn message(&self, _: &Expression, _: &dyn Scope) -> Result<String, Failure> {
        fault()
    }
    fn answer(&self, _: Option<&Value>, _: Option<Value>) -> Result<Option<Value>, String> {
        Err("this build cannot".to_owned())
    }
    fn properties(
        &self,
        _: &OutputProperties,
        _: &dyn Scope,
        _: Absent,
    ) -> Result<Produced, Failure> {
        fault()
    }
    fn filled(&self, _: &str, _: &ValueTemplate, _: &dyn Scope) -> Result<Value, Failure> {
        fault()
    }
    fn transform(&self, _: &JqProgram, _: &Value, _: &Value) -> Result<Value, Failure> {
        fault()
    }
}

fn repeatable(name: &str, needs: &[&str]) -> Step {
    let mut step = call(name, needs);
    if let Action::Call(call) = &mut step.action {
        call.idempotent = true;
    }
    step
}

fn returned(step: u32, attempt: u32) -> Input {
    Input::Ended {
        call: Slot::of_step(step).attempt(attempt),
        outcome: Outcome::Returned(Arc::new(json!({ "content": [] }))),
    }
}

/// The run as another process reads it: through the text of its events.
fn read_back(plan: Arc<Plan>, events: &[Event]) -> State {
    let text = serde_json::to_string(events).unwrap();
    let events: Vec<Event> = serde_json::from_str(&text).unwrap();
    let mut state = State::new(RunId::new("run"), plan);
    for event in &events {
        evolve(&mut state, event);
    }
    state
}

#[test]
fn a_run_goes_on_under_an_evaluator_that_always_errs_up_to_its_next_decision() {
    let plan = plan(vec![
        repeatable("one", &[]),
        repeatable("two", &["one"]),
        call("three", &["two"]),
    ]);
    let at = Timestamp::from_millis;
    let mut first = State::new(RunId::new("run"), Arc::clone(&plan));
    let input = Arc::new(json!({}));
    let start = Input::Start { input, seed: 1 };
    let mut events = decide(&mut first, at(0), start, &PlanEvaluator::default());
    events.extend(decide(
        &mut first,
        at(1),
        returned(0, 0),
        &PlanEvaluator::default(),
    ));

    let mut state = read_back(plan, &events);
    assert_eq!(state.image(), first.image());
    let resumed = decide(&mut state, at(2), Input::Resume, &Errs);
    let kinds: Vec<&str> = resumed.iter().map(|event| event.what.kind()).collect();
    assert_eq!(kinds, ["attempt_ended", "attempt_started"]);
    assert!(state.calls.contains_key(&Slot::of_step(1).attempt(1)));

    let ended = decide(&mut state, at(3), returned(1, 1), &Errs);
    let completed = |what: &What| {
        matches!(
            what,
            What::StepEnded {
                step: 1,
                failure: None,
                ..
            }
        )
    };
    assert!(
        ended.iter().any(|event| completed(&event.what)),
        "{ended:?}"
    );
    let mark = state.mark();
    let failure = mark.failure.as_deref();
    assert_eq!(
        (mark.phase, failure),
        (Phase::Failed, Some("expression.failed"))
    );
}
