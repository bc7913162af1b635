//! Commands that the store hands out while it cannot be used for a moment.

use crate::world::{ASKS, LEASE, PATIENCE, options, server};
use futures::future::BoxFuture;
use onecall_engine::event::{AnswerAction, Event};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Append, Command, Filter, Journal, JournalError, NewRun, Order, StoredRun, Summary,
};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::questions::{Answered, Given};
use onecall_runtime::runtime::Runtime;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

type Told<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

/// A store whose next claim fails, if told so.
#[derive(Debug)]
struct Failing {
    store: Arc<dyn Journal>,
    fails: AtomicBool,
}

impl Journal for Failing {
    fn create(&self, run: NewRun, events: Vec<Event>) -> Told<'_, ()> {
        self.store.create(run, events)
    }
    fn append(&self, append: Append) -> Told<'_, ()> {
        self.store.append(append)
    }
    fn load<'a>(&'a self, run: &'a RunId) -> Told<'a, Option<StoredRun>> {
        self.store.load(run)
    }
    fn list(&self, filter: Filter) -> Told<'_, Vec<Summary>> {
        self.store.list(filter)
    }
    fn claimable(&self, now: Timestamp) -> Told<'_, Vec<RunId>> {
        self.store.claimable(now)
    }
    fn claim<'a>(&'a self, run: &'a RunId, now: Timestamp) -> Told<'a, Option<StoredRun>> {
        if self.fails.swap(false, Ordering::SeqCst) {
            let error = JournalError::Full("no space left on device".into());
            return Box::pin(std::future::ready(Err(error)));
        }
        self.store.claim(run, now)
    }
    fn park<'a>(&'a self, run: &'a RunId, due: Option<Timestamp>) -> Told<'a, ()> {
        self.store.park(run, due)
    }
    fn heartbeat(&self, now: Timestamp) -> Told<'_, ()> {
        self.store.heartbeat(now)
    }
    fn tell(&self, command: Command) -> Told<'_, ()> {
        self.store.tell(command)
    }
    fn commands(&self, now: Timestamp) -> Told<'_, Vec<Command>> {
        self.store.commands(now)
    }
    fn give_back<'a>(&'a self, run: &'a RunId) -> Told<'a, ()> {
        self.store.give_back(run)
    }
    fn told<'a>(&'a self, run: &'a RunId) -> Told<'a, Vec<Order>> {
        self.store.told(run)
    }
    fn secret(&self, purpose: &str) -> [u8; 32] {
        self.store.secret(purpose)
    }
    fn keep<'a>(&'a self, name: &'a str, value: &'a Value) -> Told<'a, ()> {
        self.store.keep(name, value)
    }
    fn kept<'a>(&'a self, name: &'a str) -> Told<'a, Option<Value>> {
        self.store.kept(name)
    }
}

#[tokio::test]
async fn an_answer_outlives_a_store_that_has_no_room_for_a_moment() {
    let store = MemoryStore::new(Retention::default());
    let first: Arc<dyn Journal> = Arc::new(store.open(now(), LEASE));
    let runtime = Runtime::start(options(server(ASKS), Arc::clone(&first)));
    let runtime = runtime.await.unwrap();
    let reply = runtime.call(Request::new("ask", json!({}))).await;
    let Reply::Started(mut handle) = reply else {
        panic!("{reply:?}");
    };
    handle.rest().await;
    let run = handle.id.clone();
    drop(handle);
    runtime.shutdown(PATIENCE).await;
    first.park(&run, None).await.unwrap();
    drop((runtime, first));

    let failing = Arc::new(Failing {
        store: Arc::new(store.open(now(), LEASE)),
        fails: AtomicBool::new(true),
    });
    let journal: Arc<dyn Journal> = Arc::<Failing>::clone(&failing);
    let runtime = Runtime::start(options(server(ASKS), journal))
        .await
        .unwrap();
    let given = Given {
        step: "sure".to_owned(),
        round: None,
        action: AnswerAction::Accept,
        content: Some(json!({})),
    };
    let answered = runtime.answer(&run, given).await.unwrap();
    assert_eq!(answered, Answered::Taken);
    assert!(!failing.fails.load(Ordering::SeqCst));
    runtime.shutdown(Duration::ZERO).await;
}
