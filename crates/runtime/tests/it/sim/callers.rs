//! Those who call, watch, answer and cancel, in the ways of the front ends.

use super::outside::Script;
use super::processes::{Process, TOOLS};
use onecall_engine::event::{AnswerAction, Resolution};
use onecall_engine::identity::{RunId, Slot};
use onecall_engine::journal::{Command, Filter, Journal, Order, Phase};
use onecall_engine::world::World as _;
use onecall_runtime::calls::{Moved, Reply, Request};
use onecall_runtime::questions::{Follower, Given, LookError};
use onecall_runtime::runs::{Standing, standing_of};
use onecall_runtime::tend::fold;
use onecall_testkit::sim::dice::Dice;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// What all actors share.
pub(super) struct Scene {
    pub(super) processes: Vec<Process>,
    pub(super) script: Arc<Script>,
    /// The store as people with a terminal reach it.
    pub(super) store: Box<dyn Journal>,
    pub(super) runs: Mutex<Vec<RunId>>,
    /// The store removes runs soon after they have ended.
    pub(super) is_small: bool,
}

impl Scene {
    pub(super) fn new(
        processes: Vec<Process>,
        script: Arc<Script>,
        store: Box<dyn Journal>,
        is_small: bool,
    ) -> Self {
        Self {
            processes,
            script,
            store,
            runs: Mutex::default(),
            is_small,
        }
    }

    fn process(&self, dice: &mut Dice) -> &Process {
        let index = dice.below(self.processes.len() as u64);
        &self.processes[usize::try_from(index).unwrap()]
    }

    /// A run that somebody has started.
    fn run(&self, dice: &mut Dice) -> Option<RunId> {
        let runs = self.runs.lock().unwrap();
        (!runs.is_empty()).then(|| dice.pick(&runs))
    }

    async fn tell(&self, run: &RunId, what: Order) {
        let run = run.clone();
        // It may have ended, or its inbox may be full.
        let _ = self.store.tell(Command { run, what }).await;
    }
}

/// What a caller came to.
pub(super) enum End {
    Result(RunId, Arc<Value>),
    /// The run could not be stored.
    Refused,
    /// The run was not stored and ended with its process.
    Lost,
    /// The store was too small to keep its end until the caller came for it.
    Removed,
}

/// Calls, follows the run, leaves, comes back, answers, until the run has ended.
pub(super) async fn caller(scene: Arc<Scene>, mut dice: Dice) -> End {
    sleep(Duration::from_millis(dice.below(60_000))).await;
    let mut process = scene.process(&mut dice);
    let mut current = process.current.subscribe();
    let runtime = current.borrow_and_update().clone();
    // What is not stored can neither be answered nor decided.
    let tools = if process.keeps() { TOOLS } else { &TOOLS[..7] };
    let mut request = Request::new(dice.pick(tools), json!({}));
    request.watches = dice.chance(50);
    let handle = match runtime.call(request).await {
        Reply::Started(handle) => handle,
        Reply::Result(_) => return End::Refused,
        other => panic!("{other:?}"),
    };
    let run = handle.id.clone();
    scene.runs.lock().unwrap().push(run.clone());
    let mut follower = Follower::new(runtime, handle);
    loop {
        tokio::task::yield_now().await;
        let patience = dice.pick(&[100, 5_000, 11_000, 60_000, 600_000]);
        let moved = tokio::select! {
            biased;
            moved = follower.moved() => Some(moved),
            () = sleep(Duration::from_millis(patience)) => follower.come_back().map(Moved::Rests),
            changed = current.changed() => { changed.unwrap(); None }
        };
        match moved {
            Some(Moved::Events(_)) => {}
            Some(Moved::Rests(standing)) => match standing.result.clone() {
                Some(result) if is_gone(&result) => return gone(&scene, process, &run),
                Some(result) => return End::Result(run, result),
                None if standing.rests() => act(&scene, process, &standing, &mut dice).await,
                None => panic!("{run} rests as {:?}", standing.phase),
            },
            // It goes, and comes back later, perhaps to another process on the same store.
            None => {
                if process.keeps() && dice.chance(30) {
                    process = scene.process(&mut dice);
                }
                drop(follower);
                sleep(Duration::from_millis(dice.below(3_000))).await;
                current = process.current.subscribe();
                match attach(process, &run).await {
                    Some(attached) => follower = attached,
                    None => return gone(&scene, process, &run),
                }
            }
        }
        if dice.chance(2) {
            follower.cancel("no longer wanted").await;
        }
    }
}

/// The result only says that the real one is lost.
fn is_gone(result: &Value) -> bool {
    let text = result["content"][0]["text"].as_str();
    text.is_some_and(|text| text.contains("is no longer stored"))
}

/// The end of a caller whose run is not stored any more.
fn gone(scene: &Scene, process: &Process, run: &RunId) -> End {
    match process.keeps() {
        false => End::Lost,
        true if scene.is_small => End::Removed,
        true => panic!("{run} is gone"),
    }
}

async fn attach(process: &Process, run: &RunId) -> Option<Follower> {
    loop {
        match process.runtime().attach(run).await {
            Ok(follower) => return Some(follower),
            Err(LookError::Store(_)) => sleep(Duration::from_secs(1)).await,
            Err(LookError::UnknownRun(_)) => return None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What a client does for a run that rests.
async fn act(scene: &Scene, process: &Process, standing: &Standing, dice: &mut Dice) {
    let run = &standing.run;
    if let Some(held) = standing.held.first() {
        sleep(Duration::from_millis(dice.below(20_000))).await;
        return scene.tell(run, decision(standing, &held.name, dice)).await;
    }
    let Some(asked) = standing.questions.first() else {
        panic!("{run} rests as {:?} and needs nobody", standing.phase);
    };
    let runtime = process.runtime();
    match dice.below(6) {
        0..3 => {
            sleep(Duration::from_millis(dice.below(30_000))).await;
            let given = Given {
                step: asked.step.clone(),
                round: Some(asked.round),
                action: AnswerAction::Accept,
                content: Some(json!({})),
            };
            // Somebody else may have been first, or the store may fail.
            let _ = runtime.answer(run, given).await;
        }
        3 => scene.tell(run, answer(&asked.step)).await,
        _ => {
            let settled = runtime.settles(run, &asked.step, asked.round);
            let _ = timeout(Duration::from_millis(dice.below(30_000)), settled).await;
        }
    }
}

fn answer(step: &str) -> Order {
    Order::Answer {
        step: step.to_owned(),
        round: None,
        action: AnswerAction::Accept,
        content: Some(json!({})),
    }
}

fn decision(standing: &Standing, name: &str, dice: &mut Dice) -> Order {
    let step = standing.steps.iter().position(|step| step == name);
    Order::Resolve {
        slot: Slot::of_step(u32::try_from(step.unwrap()).unwrap()),
        resolution: match dice.below(3) {
            0 => Resolution::Retry,
            1 => Resolution::Fail,
            _ => Resolution::Result(json!({ "content": [] })),
        },
    }
}

/// Watches runs of others as a client that listens does, and leaves in the middle.
pub(super) async fn watcher(scene: Arc<Scene>, mut dice: Dice) {
    while !scene.script.is_calm() {
        sleep(Duration::from_millis(dice.below(8_000))).await;
        let Some(run) = scene.run(&mut dice) else {
            continue;
        };
        let runtime = scene.process(&mut dice).runtime();
        let Ok(mut follower) = runtime.attach(&run).await else {
            continue;
        };
        for _ in 0..dice.below(20) {
            tokio::task::yield_now().await;
            let Ok(standing) = runtime.standing(&run).await else {
                break;
            };
            if standing.result.is_some() {
                break;
            }
            let patience = Duration::from_millis(1 + dice.below(40_000));
            match standing.questions.first() {
                Some(asked) => {
                    let settled = runtime.settles(&run, &asked.step, asked.round);
                    let _ = timeout(patience, settled).await;
                }
                None if standing.rests() => sleep(patience).await,
                None => drop(timeout(patience, follower.moved()).await),
            }
        }
        if dice.chance(10) {
            follower.cancel("a watcher has cancelled").await;
        }
    }
}

/// Removes finished runs all the time, as a store does that has room for open ones only.
pub(super) async fn remover(scene: Arc<Scene>, mut dice: Dice) {
    loop {
        sleep(Duration::from_millis(1 + dice.below(1_500))).await;
        let now = scene.script.now();
        while scene.store.maintain(now).await.unwrap() {}
    }
}

/// Answers and decides at a terminal: now and then at first, and everything in the end.
pub(super) async fn person(scene: Arc<Scene>, mut dice: Dice) {
    loop {
        sleep(Duration::from_secs(2)).await;
        if !scene.script.is_calm() && dice.chance(90) {
            continue;
        }
        let filter = Filter {
            phases: vec![Phase::Waiting, Phase::Held],
            ..Filter::default()
        };
        for summary in scene.store.list(filter).await.unwrap() {
            let Some(stored) = scene.store.load(&summary.id).await.unwrap() else {
                continue;
            };
            let mut standing = standing_of(&fold(&summary.id, &stored).unwrap());
            let told = scene.store.told(&summary.id).await.unwrap();
            standing.leave_out_answered(&told);
            for asked in &standing.questions {
                scene.tell(&summary.id, answer(&asked.step)).await;
            }
            for held in &standing.held {
                let decision = decision(&standing, &held.name, &mut dice);
                scene.tell(&summary.id, decision).await;
            }
        }
    }
}
