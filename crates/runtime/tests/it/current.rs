//! Runs that repeat another with the present definition: they begin once their workflow is served, and end before that
//! if they are cancelled or cannot begin.

use crate::logged::Logged;
use crate::through::{Hook, Through};
use crate::world::{ASKS, LEASE, PATIENCE, options, server};
use futures::future::BoxFuture;
use onecall_config::settings::Server;
use onecall_engine::event::{Event, What};
use onecall_engine::identity::RunId;
use onecall_engine::journal::{
    Append, Command, Journal, JournalError, Mark, NewRun, Order, Phase, StoredRun,
};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;

fn store() -> MemoryStore {
    MemoryStore::new(Retention::default())
}

async fn runtime(server: Server, journal: Arc<dyn Journal>) -> Runtime {
    Runtime::start(options(server, journal)).await.unwrap()
}

/// A run of `ask` in the store, cancelled or still waiting.
async fn asked(store: &MemoryStore, is_cancelled: bool) -> StoredRun {
    let journal: Arc<dyn Journal> = Arc::new(store.open(now(), LEASE));
    let runtime = runtime(server(ASKS), Arc::clone(&journal)).await;
    let reply = runtime.call(Request::new("ask", json!({}))).await;
    let Reply::Started(mut handle) = reply else {
        panic!("{reply:?}");
    };
    handle.rest().await;
    if is_cancelled {
        handle.cancel("enough").await;
        handle.result().await.unwrap();
    }
    runtime.shutdown(PATIENCE).await;
    journal.load(&handle.id).await.unwrap().unwrap()
}

fn id() -> RunId {
    RunId::new("new")
}

/// A run that is to repeat `old`, as the command makes it.
async fn wanted(store: &MemoryStore, like: &StoredRun, old: &RunId) {
    let journal = store.open(now(), LEASE);
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let run = NewRun {
        plan_hash: like.plan_hash.clone(),
        plan: Arc::clone(&like.plan),
        labels: BTreeMap::from([label("dev.onecall/definition", "current")]),
        retry_of: Some(old.clone()),
        ..NewRun::new(id(), "ask", now())
    };
    journal.create(run, Vec::new()).await.unwrap();
    journal.park(&id(), Some(now())).await.unwrap();
}

async fn cancel(store: &MemoryStore) {
    let what = Order::Cancel {
        reason: "not now".to_owned(),
    };
    let command = Command { run: id(), what };
    store.open(now(), LEASE).tell(command).await.unwrap();
}

/// Waits until the run has come to this.
async fn until(runtime: &Runtime, phase: Phase) -> StoredRun {
    let reached = async {
        loop {
            let stored = runtime.journal().load(&id()).await.unwrap().unwrap();
            let has_begun = !stored.events.is_empty();
            if has_begun && stored.summary.phase == phase {
                return stored;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.unwrap()
}

/// Counts requests, fails some and holds some up.
#[derive(Clone, Debug)]
struct Meddler {
    failing: Arc<Mutex<Vec<&'static str>>>,
    held: Option<(&'static str, Arc<Semaphore>)>,
    panics: Option<&'static str>,
    seen: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

impl Meddler {
    fn new(failing: &[&'static str], held: Option<&'static str>) -> Self {
        Self {
            failing: Arc::new(Mutex::new(failing.to_vec())),
            held: held.map(|request| (request, Arc::new(Semaphore::new(0)))),
            panics: None,
            seen: Arc::default(),
        }
    }

    fn count(&self, request: &str) -> usize {
        self.seen.lock().unwrap().get(request).copied().unwrap_or(0)
    }

    async fn until(&self, request: &str, count: usize) {
        let reached = async {
            while self.count(request) < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.unwrap();
    }
}

impl Hook for Meddler {
    fn before(&self, request: &'static str) -> BoxFuture<'static, Result<(), JournalError>> {
        *self.seen.lock().unwrap().entry(request).or_default() += 1;
        assert_ne!(self.panics, Some(request), "told to");
        let mut failing = self.failing.lock().unwrap();
        let fails = failing.iter().position(|own| *own == request);
        if let Some(fails) = fails {
            failing.remove(fails);
        }
        let held = self.held.clone().filter(|(own, _)| *own == request);
        Box::pin(async move {
            if let Some((_, gate)) = held {
                let _open = gate.acquire().await.unwrap();
            }
            match fails {
                Some(_) => Err(JournalError::Full("no space left on device".into())),
                None => Ok(()),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_run_whose_workflow_is_not_served() {
    let store = store();
    let old = asked(&store, true).await;
    wanted(&store, &old, &old.summary.id).await;
    cancel(&store).await;
    let runtime = runtime(Server::default(), Arc::new(store.open(now(), LEASE))).await;
    let ended = until(&runtime, Phase::Cancelled).await;
    let is_asked = |event: &Event| matches!(event.what, What::CancelAsked { .. });
    assert!(ended.events.iter().any(is_asked), "{ended:?}");
    assert!(runtime.journal().told(&id()).await.unwrap().is_empty());
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_comes_while_the_run_begins_is_not_lost() {
    let store = store();
    let old = asked(&store, true).await;
    wanted(&store, &old, &old.summary.id).await;
    let meddler = Meddler::new(&[], Some("rebind"));
    let journal = Through {
        store: store.open(now(), LEASE),
        hook: meddler.clone(),
    };
    let runtime = runtime(server(ASKS), Arc::new(journal)).await;
    meddler.until("rebind", 1).await;
    cancel(&store).await;
    let rounds = meddler.count("commands");
    meddler.until("commands", rounds + 3).await;
    let (_, gate) = meddler.held.as_ref().unwrap();
    gate.add_permits(10);
    // Before the run is parked, which hands lost commands out again.
    let soon = Duration::from_secs(5);
    let cancelled = tokio::time::timeout(soon, until(&runtime, Phase::Cancelled));
    cancelled.await.unwrap();
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_begin_is_parked_once_the_store_takes_it() {
    let store = store();
    let old = asked(&store, true).await;
    wanted(&store, &old, &old.summary.id).await;
    let meddler = Meddler::new(&["rebind", "park", "park"], None);
    let journal = Through {
        store: store.open(now(), LEASE),
        hook: meddler.clone(),
    };
    let runtime = runtime(server(ASKS), Arc::new(journal)).await;
    meddler.until("park", 3).await;
    let later = now().plus(Duration::from_secs(9));
    tokio::time::sleep(Duration::from_millis(20)).await;
    let due = runtime.journal().claimable(later).await.unwrap();
    assert_eq!(due, [id()]);
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_beginning_panics_is_not_lost() {
    let store = store();
    let old = asked(&store, true).await;
    wanted(&store, &old, &old.summary.id).await;
    let meddler = Meddler {
        panics: Some("rebind"),
        ..Meddler::new(&[], None)
    };
    let journal = Through {
        store: store.open(now(), LEASE),
        hook: meddler.clone(),
    };
    let runtime = runtime(server(ASKS), Arc::new(journal)).await;
    meddler.until("park", 1).await;
    let later = now().plus(Duration::from_secs(9));
    let due = runtime.journal().claimable(later).await.unwrap();
    assert_eq!(due, [id()]);
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_can_be_neither_held_nor_parked_is_tried_again() {
    let store = store();
    let meddler = Meddler::new(&[], None);
    let journal = Through {
        store: store.open(now(), LEASE),
        hook: meddler.clone(),
    };
    let runtime = runtime(Server::default(), Arc::new(journal)).await;
    *meddler.failing.lock().unwrap() = vec!["append", "park"];
    let dead = store.open(now(), LEASE);
    let run = NewRun {
        plan_hash: "h".to_owned(),
        plan: r#"{"ir":99}"#.into(),
        ..NewRun::new(id(), "w", now())
    };
    let what = What::Note {
        text: "x".to_owned(),
    };
    let event = Event { at: now(), what };
    dead.create(run, vec![event]).await.unwrap();
    drop(dead);
    until(&runtime, Phase::Held).await;
    assert!(meddler.count("park") >= 2);
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_workflow_is_not_served_is_logged_once_and_left_alone() {
    let logged = Logged::of("onecall_runtime::repeated");
    let _logging = tracing::subscriber::set_default(logged.clone());
    let store = store();
    let old = asked(&store, true).await;
    wanted(&store, &old, &old.summary.id).await;
    let meddler = Meddler::new(&[], None);
    let journal = Through {
        store: store.open(now(), LEASE),
        hook: meddler.clone(),
    };
    let runtime = runtime(Server::default(), Arc::new(journal)).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(logged.lines().len(), 1, "{:?}", logged.lines());
    assert_eq!(meddler.count("claim"), 0);
    runtime.reload(server(ASKS)).await.unwrap();
    until(&runtime, Phase::Waiting).await;
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_repeated_is_named_with_its_own_reason() {
    let gone = RunId::new("gone");
    let broken = RunId::new("broken");
    for (is_cancelled, other, why) in [
        (true, Some(gone), "run `gone`, which it repeats, is not in"),
        (true, Some(broken), "the stored run cannot be read"),
        (false, None, "has not ended (it is waiting)"),
    ] {
        let store = store();
        let like = asked(&store, is_cancelled).await;
        add_broken(&store).await;
        let old = other.unwrap_or_else(|| like.summary.id.clone());
        wanted(&store, &like, &old).await;
        let runtime = runtime(server(ASKS), Arc::new(store.open(now(), LEASE))).await;
        let failed = until(&runtime, Phase::Failed).await;
        let last = format!("{:?}", failed.events.last().unwrap());
        assert!(last.contains(why), "{last}");
        runtime.shutdown(Duration::ZERO).await;
    }
}

/// A run that has ended and whose plan no build reads.
async fn add_broken(store: &MemoryStore) {
    let journal = store.open(now(), LEASE);
    let run = NewRun {
        plan_hash: "h".to_owned(),
        plan: r#"{"ir":99}"#.into(),
        ..NewRun::new(RunId::new("broken"), "ask", now())
    };
    let append = Append {
        run: run.id.clone(),
        first: 0,
        events: Vec::new(),
        durability: run.durability,
        mark: Mark {
            phase: Phase::Failed,
            due: None,
            failure: None,
        },
        at: now(),
    };
    journal.create(run, Vec::new()).await.unwrap();
    journal.append(append).await.unwrap();
}
