//! The driver: it parks, drops calls nobody wants, folds what happens at once into one append, and a panic in
//! one run ends that run only. The clock is paused, so nothing here waits.

use crate::evaluator::Arguments;
use crate::plan::{call, plan, question};
use crate::world::{Blind, Clockwork, Remembers, Tool};
use onecall_engine::decide::Input;
use onecall_engine::driver::{Stopped, Surroundings, drive};
use onecall_engine::evaluate::{Evaluator, PlanEvaluator};
use onecall_engine::event::{Answer, AnswerAction, End};
use onecall_engine::failure::Code;
use onecall_engine::identity::RunId;
use onecall_engine::journal::JournalError;
use onecall_engine::state::State;
use onecall_workflow::plan::Plan;
use onecall_workflow::policy::Durability;
use onecall_workflow::scope::Scope;
use onecall_workflow::step::Step;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) struct Setting {
    pub(crate) world: Arc<Clockwork>,
    pub(crate) journal: Arc<Remembers>,
    input: Value,
    sender: mpsc::Sender<Input>,
    inputs: Option<mpsc::Receiver<Input>>,
}

impl Setting {
    pub(crate) fn new(tools: &[(&'static str, Tool)]) -> Self {
        let (sender, inputs) = mpsc::channel(64);
        Self {
            world: Clockwork::new(tools),
            journal: Arc::default(),
            input: json!({}),
            sender,
            inputs: Some(inputs),
        }
    }

    pub(crate) fn drive(
        &mut self,
        plan: Arc<Plan>,
        evaluator: Arc<dyn Evaluator>,
    ) -> impl Future<Output = Result<Stopped, JournalError>> + use<> {
        let surroundings = Surroundings {
            world: Arc::clone(&self.world) as _,
            evaluator,
            journal: Some(Arc::clone(&self.journal) as _),
            durability: Durability::Async,
            observer: Arc::new(Blind),
            parks: true,
        };
        let start = Input::Start {
            input: Arc::new(self.input.clone()),
            seed: 1,
        };
        let state = State::new(RunId::new("run"), plan);
        drive(
            state,
            vec![start],
            self.inputs.take().unwrap(),
            surroundings,
        )
    }

    pub(crate) async fn run(&mut self, steps: Vec<Step>) -> Stopped {
        self.drive(plan(steps), Arc::new(PlanEvaluator::default()))
            .await
            .unwrap()
    }
}

pub(crate) fn end_of(stopped: Stopped) -> End {
    match stopped {
        Stopped::Ended(state) => state.end.unwrap(),
        Stopped::Parked { .. } | Stopped::Abandoned => panic!("the run did not end: {stopped:?}"),
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_chain_appends_once_a_step() {
    let mut setting = Setting::new(&[("a", Tool::Answers(SECOND)), ("b", Tool::Answers(SECOND))]);
    let stopped = setting.run(vec![call("a", &[]), call("b", &["a"])]).await;
    assert!(matches!(end_of(stopped), End::Completed { .. }));
    assert_eq!(
        setting.journal.kinds(),
        vec![
            vec!["run_started", "attempt_started"],
            vec!["attempt_ended", "step_ended", "attempt_started"],
            vec!["attempt_ended", "step_ended", "run_ended"],
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_happens_at_once_is_one_append() {
    let names = ["a", "b", "c", "d"];
    let tools = names.map(|name| (name, Tool::Answers(SECOND)));
    let mut setting = Setting::new(&tools);
    let steps = names.map(|name| call(name, &[])).to_vec();
    let stopped = setting.run(steps).await;
    assert!(matches!(end_of(stopped), End::Completed { .. }));
    let appends = setting.journal.kinds();
    assert_eq!(appends.len(), 2, "{appends:?}");
    let ends = appends[1].iter().filter(|kind| **kind == "step_ended");
    assert_eq!(ends.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_person_is_parked_after_ten_seconds() {
    let mut setting = Setting::new(&[]);
    let started = Instant::now();
    let stopped = setting.run(vec![question("q", &[])]).await;
    assert!(
        matches!(stopped, Stopped::Parked { due: None }),
        "{stopped:?}"
    );
    assert_eq!(started.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_large_run_that_waits_for_a_person_is_parked_at_once() {
    let mut setting = Setting::new(&[]);
    setting.input = json!({ "text": "x".repeat(100_000) });
    let started = Instant::now();
    let stopped = setting.run(vec![question("q", &[])]).await;
    assert!(
        matches!(stopped, Stopped::Parked { due: None }),
        "{stopped:?}"
    );
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_run_with_a_call_in_flight_is_not_parked() {
    let hour = Duration::from_hours(1);
    let mut setting = Setting::new(&[("a", Tool::Answers(hour))]);
    let started = Instant::now();
    let stopped = setting.run(vec![call("a", &[])]).await;
    assert!(matches!(end_of(stopped), End::Completed { .. }));
    assert_eq!(started.elapsed(), hour);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_keeps_a_run_from_being_parked() {
    let mut setting = Setting::new(&[("a", Tool::Answers(SECOND))]);
    let sender = setting.sender.clone();
    let answering = async move {
        tokio::time::sleep(5 * SECOND).await;
        let answer = Answer {
            action: AnswerAction::Accept,
            content: None,
            defaulted: false,
        };
        let (step, round) = (0, None);
        let input = Input::Answer {
            step,
            round,
            answer,
        };
        sender.send(input).await.unwrap();
    };
    let steps = vec![question("q", &[]), call("a", &["q"])];
    let (stopped, ()) = tokio::join!(setting.run(steps), answering);
    assert!(matches!(end_of(stopped), End::Completed { .. }));
}

#[tokio::test(start_paused = true)]
async fn calls_nobody_wants_are_dropped() {
    let mut setting = Setting::new(&[
        ("slow", Tool::Never),
        ("late", Tool::Answers(60 * SECOND)),
        ("bad", Tool::Fails(SECOND)),
    ]);
    let started = Instant::now();
    let steps = vec![call("slow", &[]), call("late", &[]), call("bad", &[])];
    let stopped = setting.run(steps).await;
    let End::Failed { failure, .. } = end_of(stopped) else {
        panic!("the run did not fail");
    };
    assert_eq!(failure.code, Code::ToolError);
    assert_eq!(started.elapsed(), SECOND);
    assert_eq!(setting.world.calls.load(Ordering::SeqCst), 3);
    assert_eq!(setting.world.dropped.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_call_is_dropped_while_the_run_goes_on() {
    let mut setting = Setting::new(&[("slow", Tool::Never), ("b", Tool::Answers(60 * SECOND))]);
    let mut slow = call("slow", &[]);
    slow.timeout = Some(2 * SECOND);
    slow.on_error = onecall_workflow::policy::OnError::CONTINUE;
    let driving = tokio::spawn(setting.drive(
        plan(vec![slow, call("b", &[])]),
        Arc::new(PlanEvaluator::default()),
    ));
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(setting.world.dropped.load(Ordering::SeqCst), 1);
    assert!(matches!(
        end_of(driving.await.unwrap().unwrap()),
        End::Completed { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_handle_is_gone_is_abandoned() {
    let mut setting = Setting::new(&[("slow", Tool::Never)]);
    let slow = plan(vec![call("slow", &[])]);
    let driving = tokio::spawn(setting.drive(slow, Arc::new(PlanEvaluator::default())));
    tokio::time::sleep(SECOND).await;
    let Setting { sender, world, .. } = setting;
    drop(sender);
    assert!(matches!(
        driving.await.unwrap().unwrap(),
        Stopped::Abandoned
    ));
    assert_eq!(world.dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_world_is_a_lost_answer() {
    let mut setting = Setting::new(&[("a", Tool::Panics)]);
    let stopped = setting.run(vec![call("a", &[])]).await;
    // The call may have been sent, so a person decides.
    assert!(matches!(stopped, Stopped::Parked { .. }), "{stopped:?}");
    assert!(setting.journal.kinds()[1].contains(&"held"));
}

/// Panics over the arguments of the second step.
fn panicking() -> Arc<dyn Evaluator> {
    Arc::new(Arguments(|scope: &dyn Scope| {
        let is_first = scope.step("a").is_none_or(|step| step.status == "pending");
        assert!(is_first, "a fault in the evaluator");
    }))
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_one_run_ends_that_run_only() {
    let tools = [("a", Tool::Answers(SECOND)), ("b", Tool::Answers(SECOND))];
    let steps = || plan(vec![call("a", &[]), call("b", &["a"])]);
    let mut bad = Setting::new(&tools);
    let mut good = Setting::new(&tools);
    let bad_run = bad.drive(steps(), panicking());
    let good_run = good.drive(steps(), Arc::new(PlanEvaluator::default()));
    let (bad_end, good_end) = tokio::join!(bad_run, good_run);
    assert!(matches!(end_of(good_end.unwrap()), End::Completed { .. }));
    let End::Failed { failure, partial } = end_of(bad_end.unwrap()) else {
        panic!("the run did not fail");
    };
    assert_eq!(failure.code, Code::InternalFault);
    assert_eq!(
        *partial,
        json!({ "output": {}, "steps": { "a": "cancelled", "b": "pending" } })
    );
    // The store has its end, after what it had.
    let appends = bad.journal.kinds();
    assert_eq!(appends.last().unwrap().last(), Some(&"run_ended"));
}
