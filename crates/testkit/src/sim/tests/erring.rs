//! A journal goes on under a build whose evaluator always errs, up to the next thing it must evaluate: what was
//! decided is not evaluated again.

use super::fold;
use crate::sim::harness::{Disturbance, perform};
use crate::sim::scenario::Scenario;
use onecall_engine::decide::{Input, decide};
use onecall_engine::evaluate::{Evaluator, PlanEvaluator};
use onecall_engine::event::{Event, Outcome, What};
use onecall_engine::evolve::evolve;
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::{RunId, Slot, Timestamp};
use onecall_engine::journal::Phase;
use onecall_engine::state::State;
use onecall_workflow::coerce::Coercer;
use onecall_workflow::expression::{Expression, JqProgram, ValueTemplate};
use onecall_workflow::name::BackendName;
use onecall_workflow::output::{Absent, Produced};
use onecall_workflow::plan::{BoundTool, Plan, Repeatable};
use onecall_workflow::scope::Scope;
use onecall_workflow::step::{Action, Call, Condition, Each, Need, Step};
use onecall_workflow::workflow::{OutputProperties, Workflow};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An evaluator that can do nothing.
#[derive(Debug)]
struct Erring;

fn broken<T>() -> Result<T, Failure> {
    Err(Failure::new(Code::ExpressionFailed, "evaluated"))
}

impl Evaluator for Erring {
    fn condition(&self, _: &Condition, _: &dyn Scope) -> Result<bool, Failure> {
        broken()
    }
    fn arguments(&self, _: &Call, _: Option<&BoundTool>, _: &dyn Scope) -> Result<Value, Failure> {
        broken()
    }
    fn misfit(&self, _: &BoundTool, _: &Value) -> Option<String> {
        None
    }
    fn items(&self, _: &Each, _: &dyn Scope) -> Result<Vec<Value>, Failure> {
        broken()
    }
    fn transform(&self, _: &JqProgram, _: &Value, _: &Value) -> Result<Value, Failure> {
        broken()
    }
    fn message(&self, _: &Expression, _: &dyn Scope) -> Result<String, Failure> {
        broken()
    }
    fn answer(&self, _: Option<&Value>, _: Option<Value>) -> Result<Option<Value>, String> {
        Err("evaluated".to_owned())
    }
    fn properties(
        &self,
        _: &OutputProperties,
        _: &dyn Scope,
        _: Absent,
    ) -> Result<Produced, Failure> {
        broken()
    }
    fn filled(&self, _: &str, _: &ValueTemplate, _: &dyn Scope) -> Result<Value, Failure> {
        broken()
    }
}

/// What was in flight is called again with the arguments and the key that were stored, what had ended stays as
/// it was; nothing of it is evaluated.
#[test]
fn a_journal_resumes_under_an_evaluator_that_always_errs() {
    let mut repeated = 0;
    for number in 0..300 {
        let scenario = Scenario::roll(3, number);
        let whole = perform(&scenario, &Disturbance::default(), None);
        for stored in 1..whole.events.len() {
            let events = &whole.events[..stored];
            let mut state = fold(&scenario, events);
            let before: Vec<String> = ended(&state);
            let open: BTreeMap<Slot, (Arc<Value>, String)> = state
                .calls
                .iter()
                .map(|(id, call)| (id.slot(), (Arc::clone(&call.arguments), call.key.clone())))
                .collect();
            let now = events.last().map(|event| event.at).unwrap_or_default();
            let decided = decide(&mut state, now, Input::Resume, &Erring);
            for event in &decided {
                if let What::AttemptStarted {
                    call,
                    arguments,
                    key,
                    ..
                } = &event.what
                {
                    let stored = open.get(&call.slot());
                    assert_eq!(stored, Some(&(Arc::clone(arguments), key.clone())));
                    repeated += 1;
                }
            }
            let after = ended(&state);
            for (before, after) in before.iter().zip(&after) {
                assert!(before.is_empty() || before == after, "{before}\n{after}");
            }
        }
    }
    assert!(repeated > 100, "only {repeated} calls were repeated");
}

/// Each step that has ended, as text; nothing for the others.
fn ended(state: &State) -> Vec<String> {
    let show = |step: &onecall_engine::state::StepState| {
        if step.status.0.is_ended() {
            format!("{step:?}")
        } else {
            String::new()
        }
    };
    state.steps.iter().map(show).collect()
}

fn step(name: &str, needs: &[&str], idempotent: bool) -> Step {
    let call = Call {
        idempotent,
        ..Call::plain("backend.tool")
    };
    Step {
        needs: needs.iter().map(|need| Need::plain(*need)).collect(),
        ..Step::plain(name, Action::Call(call))
    }
}

fn plan(steps: Vec<Step>) -> Arc<Plan> {
    let tool = Arc::new(BoundTool {
        backend: BackendName::new("backend"),
        original: "tool".to_owned(),
        input: Coercer::new(Value::Bool(true)),
        output_schema: None,
        repeatable: Repeatable::No,
    });
    let tools = vec![Some(tool); steps.len()];
    Arc::new(Plan::plain(Workflow::plain("resumed", steps), tools))
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
        step("one", &[], true),
        step("two", &["one"], true),
        step("three", &["two"], false),
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
    let resumed = decide(&mut state, at(2), Input::Resume, &Erring);
    let kinds: Vec<&str> = resumed.iter().map(|event| event.what.kind()).collect();
    assert_eq!(kinds, ["attempt_ended", "attempt_started"]);
    assert!(state.calls.contains_key(&Slot::of_step(1).attempt(1)));

    let ended = decide(&mut state, at(3), returned(1, 1), &Erring);
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
