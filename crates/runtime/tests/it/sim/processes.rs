//! One scene: two processes on one store, what happens to them, and what must hold at the end.

use super::callers::{End, Scene, caller, person, remover, watcher};
use super::outside::{Counted, Link, Script};
use crate::through::Through;
use crate::world::{LEASE, kept_as, options, server};
use onecall_config::settings::Server;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Filter, Journal, Phase};
use onecall_engine::world::World as _;
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::runs::standing_of;
use onecall_runtime::runtime::{Outside, Runtime};
use onecall_runtime::tend::fold;
use onecall_testkit::sim::dice::Dice;
use onecall_workflow::policy::Durability;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// For so long the scene is disturbed.
const DISTURBED: Duration = Duration::from_mins(4);

/// Afterwards everything ends within this time.
const CALM: Duration = Duration::from_hours(2);

const URL: &str = "http://127.0.0.1:9/mcp";

/// The workflows: one for each delay between attempts, and those that ask, are held or loop.
pub(super) const TOOLS: &[&str] = &[
    "again0", "again1", "again2", "again3", "again4", "again2", "again3", "asks", "asks", "held",
    "loop",
];

/// From far below the time after which a run is parked to far above it.
const DELAYS: [&str; 5] = ["20ms", "4s", "12s", "25s", "3m"];

/// What has happened in some scenes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    runs: u64,
    parks: u64,
    restarts: u64,
    reloads: u64,
    lost_leases: u64,
    failing: u64,
    ended: u64,
    refused: u64,
    lost: u64,
    removed: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.parks += other.parks;
        self.restarts += other.restarts;
        self.reloads += other.reloads;
        self.lost_leases += other.lost_leases;
        self.failing += other.failing;
        self.ended += other.ended;
        self.refused += other.refused;
        self.lost += other.lost;
        self.removed += other.removed;
    }

    pub(super) fn has_seen_everything(&self) -> bool {
        [
            self.parks,
            self.restarts,
            self.reloads,
            self.lost_leases,
            self.failing,
            self.ended,
            self.removed,
        ]
        .into_iter()
        .all(|count| count >= 10)
    }
}

/// A process: it has one runtime after the other.
pub(super) struct Process {
    store: MemoryStore,
    script: Arc<Script>,
    durability: Durability,
    link: Link,
    pub(super) current: watch::Sender<Runtime>,
}

impl Process {
    async fn new(
        store: &MemoryStore,
        script: &Arc<Script>,
        durability: Durability,
        dice: Dice,
    ) -> Self {
        let link = Link::new(dice);
        let first = start(store, script, durability, &link).await;
        Self {
            store: store.clone(),
            script: Arc::clone(script),
            durability,
            link,
            current: watch::Sender::new(first),
        }
    }

    pub(super) fn runtime(&self) -> Runtime {
        self.current.borrow().clone()
    }

    pub(super) fn keeps(&self) -> bool {
        self.durability != Durability::None
    }

    async fn restart(&self) {
        self.runtime().shutdown(Duration::ZERO).await;
        let next = start(&self.store, &self.script, self.durability, &self.link).await;
        self.current.send_replace(next);
    }
}

/// A store that fails just now is tried again.
async fn start(
    store: &MemoryStore,
    script: &Arc<Script>,
    durability: Durability,
    link: &Link,
) -> Runtime {
    loop {
        let journal = Through {
            store: store.open(script.now(), LEASE),
            hook: link.clone(),
        };
        let mut options = options(config(0), Arc::new(journal));
        options.outside = Some(Outside {
            world: Arc::<Script>::clone(script),
            bits: script.bits(),
        });
        options.durability = durability;
        match Runtime::start(options).await {
            Ok(runtime) => return runtime,
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

/// The files, in one version or another.
fn config(version: u64) -> Server {
    let again = DELAYS.iter().enumerate().map(|(index, delay)| {
        format!(
            r"
- name: again{index}
  description: Fails and is tried again, version {version}.
  parameters: {{ type: object, properties: {{}} }}
  steps:
  - {{ id: stumble, tool: math.safe, onError: {{ action: retry, retryCount: 3, retryDelay: {delay} }} }}
  - {{ id: after, tool: math.safe, dependsOn: [stumble] }}"
        )
    });
    let again: String = again.collect();
    server(&format!(
        r#"
name: test
groupRef: group
incomingAuth: {{ type: anonymous }}
outgoingAuth: {{ source: inline }}
backends:
- {{ name: math, url: "{URL}", transport: streamable-http }}
aggregation:
  conflictResolution: prefix
  conflictResolutionConfig: {{ prefixFormat: "{{workload}}_" }}
compositeTools:{again}
- name: asks
  description: Asks between two calls, version {version}.
  parameters: {{ type: object, properties: {{}} }}
  steps:
  - {{ id: before, tool: math.safe, onError: {{ action: continue }} }}
  - {{ id: sure, type: elicitation, message: Sure?, timeout: 24h, dependsOn: [before] }}
  - {{ id: after, tool: math.safe, dependsOn: [sure] }}
- name: held
  description: Makes a call that must not be made twice.
  parameters: {{ type: object, properties: {{}} }}
  steps:
  - {{ id: once, tool: math.careful }}
- name: loop
  description: Tries every item of a list again.
  parameters: {{ type: object, properties: {{}} }}
  steps:
  - id: all
    type: forEach
    collection: '["a", "b", "c"]'
    itemVar: letter
    maxParallel: 2
    step:
      id: each
      type: tool
      tool: math.safe
      onError: {{ action: retry, retryCount: 3, retryDelay: 15s }}
"#
    ))
}

/// The tools of the backend, as an earlier process has stored them: nothing is ever connected.
async fn keep_tools(journal: &dyn Journal) {
    let tool = |name: &str, is_safe: bool| {
        json!({
            "name": name,
            "inputSchema": { "type": "object", "properties": {} },
            "annotations": { "idempotentHint": is_safe, "readOnlyHint": false },
        })
        .to_string()
    };
    let list = json!({ "texts": [tool("safe", true), tool("careful", false)] });
    journal.keep(&kept_as(URL), &list).await.unwrap();
}

pub(super) async fn scene(seed: u64) -> Tally {
    let mut dice = Dice::new(seed);
    let script = Arc::new(Script::new(seed));
    // A small store keeps no finished run.
    let is_small = dice.chance(40);
    let mut retention = Retention::default();
    if is_small {
        retention.runs_max = 0;
    }
    let store = MemoryStore::new(retention);
    let people = store.open(script.now(), LEASE);
    keep_tools(&people).await;
    let durability = match dice.below(8) {
        0 => Durability::None,
        _ => Durability::Async,
    };
    let mut processes = Vec::new();
    for number in 0..=dice.below(2) {
        let dice = Dice::of(&[seed, 2, number]);
        processes.push(Process::new(&store, &script, durability, dice).await);
    }
    let scene = Arc::new(Scene::new(processes, script, Box::new(people), is_small));
    let mut callers = Vec::new();
    for number in 0..6 + dice.below(6) {
        let task = caller(Arc::clone(&scene), Dice::of(&[seed, 3, number]));
        callers.push(spawn(format!("caller {number}"), task));
    }
    let mut others = Vec::new();
    for number in 0..dice.below(4) {
        let task = watcher(Arc::clone(&scene), Dice::of(&[seed, 4, number]));
        others.push(spawn(format!("watcher {number}"), task));
    }
    if is_small {
        let task = remover(Arc::clone(&scene), Dice::of(&[seed, 6]));
        others.push(spawn("the remover".to_owned(), task));
    }
    let bookkeeper = bookkeeper(Arc::clone(&scene), Dice::of(&[seed, 7]));
    others.push(spawn("the bookkeeper".to_owned(), bookkeeper));
    let people = person(Arc::clone(&scene), Dice::of(&[seed, 5]));
    others.push(spawn("the person".to_owned(), people));
    let mut tally = Tally::default();
    let disturbing = disturb(&scene, &mut dice, &mut tally);
    let _ = timeout(DISTURBED, disturbing).await;
    calm(&scene);
    ends(&scene, callers, &mut tally).await;
    everything_has_ended(&scene).await;
    nothing_is_counted(&scene).await;
    for other in others {
        if other.is_finished() {
            other.await.unwrap();
        } else {
            other.abort();
        }
    }
    for process in &scene.processes {
        tally.parks += process.link.parked();
        let leaving = process.runtime();
        let leaving = leaving.shutdown(Duration::from_secs(1));
        timeout(Duration::from_mins(1), leaving)
            .await
            .expect("a server that leaves has left");
    }
    tally.runs = scene.runs.lock().unwrap().len() as u64;
    tally
}

fn spawn<T: Send + 'static>(
    name: String,
    task: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    tokio::spawn(Counted::new(name, task))
}

/// Does to the processes what the world does to them.
async fn disturb(scene: &Scene, dice: &mut Dice, tally: &mut Tally) {
    let mut version = 0;
    loop {
        sleep(Duration::from_millis(dice.below(20_000))).await;
        let index = usize::try_from(dice.below(scene.processes.len() as u64)).unwrap();
        let process = &scene.processes[index];
        match dice.below(10) {
            0..4 => {
                let seconds = dice.pick(&[1, 9, 11, 14, 40]);
                process.link.cut(true);
                sleep(Duration::from_secs(seconds)).await;
                process.link.cut(false);
                tally.lost_leases += u64::from(seconds > LEASE.as_secs());
            }
            4..6 => {
                process.link.fail(true);
                sleep(Duration::from_millis(dice.below(12_000))).await;
                process.link.fail(false);
                tally.failing += 1;
            }
            6..8 => {
                version += 1;
                process.runtime().reload(config(version)).await.unwrap();
                tally.reloads += 1;
            }
            _ => {
                process.restart().await;
                tally.restarts += 1;
            }
        }
    }
}

/// Ends all disturbances.
fn calm(scene: &Scene) {
    scene.script.is_calm.store(true, Ordering::SeqCst);
    for process in &scene.processes {
        process.link.cut(false);
        process.link.fail(false);
    }
}

/// Every caller gets an end, and it is the one that is stored.
async fn ends(scene: &Scene, callers: Vec<JoinHandle<End>>, tally: &mut Tally) {
    for (number, caller) in callers.into_iter().enumerate() {
        let Ok(ended) = timeout(CALM, caller).await else {
            panic!("caller {number} gets no end; open: {:?}", open(scene).await);
        };
        let end = ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        match end {
            End::Result(run, result) => {
                tally.ended += 1;
                if !scene.processes[0].keeps() {
                    continue;
                }
                let Some(stored) = scene.store.load(&run).await.unwrap() else {
                    assert!(scene.is_small, "{run} is gone");
                    continue;
                };
                let stored = standing_of(&fold(&run, &stored).unwrap()).result;
                assert_eq!(Some(&*result), stored.as_deref(), "of run {run}");
            }
            End::Refused => tally.refused += 1,
            End::Lost => tally.lost += 1,
            End::Removed => tally.removed += 1,
        }
    }
}

async fn open(scene: &Scene) -> Vec<(RunId, Phase)> {
    let filter = Filter {
        phases: vec![Phase::Running, Phase::Waiting, Phase::Held],
        ..Filter::default()
    };
    let open = scene.store.list(filter).await.unwrap();
    open.into_iter().map(|run| (run.id, run.phase)).collect()
}

/// No run is forgotten, whether its caller waits or not.
async fn everything_has_ended(scene: &Scene) {
    let ended = async {
        while !open(scene).await.is_empty() {
            sleep(Duration::from_secs(1)).await;
        }
    };
    let ended = timeout(CALM, ended).await;
    assert!(
        ended.is_ok(),
        "runs that nobody moves on: {:?}",
        open(scene).await
    );
}

/// Looks all the time whether each process counts the runs that it drives.
async fn bookkeeper(scene: Arc<Scene>, mut dice: Dice) {
    loop {
        sleep(Duration::from_millis(1 + dice.below(500))).await;
        for process in &scene.processes {
            let (counted, live) = process.runtime().counted_and_live();
            let uncounted: Vec<_> = live.difference(&counted).collect();
            assert!(uncounted.is_empty(), "not counted: {uncounted:?}");
        }
    }
}

/// No process counts or drives a run that has ended. The count is corrected from the store once a minute.
async fn nothing_is_counted(scene: &Scene) {
    let within = Duration::from_secs(90);
    for process in &scene.processes {
        let nothing = async {
            let mut left = process.runtime().counted_and_live();
            while !(left.0.is_empty() && left.1.is_empty()) {
                sleep(Duration::from_millis(100)).await;
                left = process.runtime().counted_and_live();
            }
        };
        let nothing = timeout(within, nothing).await;
        let left = process.runtime().counted_and_live();
        assert!(nothing.is_ok(), "counted and live: {left:?}");
    }
}
