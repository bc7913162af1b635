//! A store that a test looks through: something may happen before each request reaches it.

use futures::future::BoxFuture;
use onecall_engine::event::Event;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Append, Command, Filter, Journal, JournalError, NewRun, OpenRun, Order, StoredPlan, StoredRun,
    Summary,
};
use serde_json::Value;
use std::fmt::Debug;

type Answer<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

/// What happens before a request of this name.
pub(crate) trait Hook: Debug + Send + Sync {
    fn before(&self, request: &'static str) -> BoxFuture<'static, Result<(), JournalError>>;

    /// The request states this time.
    fn at(&self, _request: &'static str, _now: Timestamp) {}
}

#[derive(Debug)]
pub(crate) struct Through<J, H> {
    pub(crate) store: J,
    pub(crate) hook: H,
}

impl<J: Journal, H: Hook> Through<J, H> {
    fn after<'a, T: 'a>(&self, request: &'static str, answer: Answer<'a, T>) -> Answer<'a, T> {
        let before = self.hook.before(request);
        Box::pin(async move {
            before.await?;
            answer.await
        })
    }
}

impl<J: Journal, H: Hook> Journal for Through<J, H> {
    fn create(&self, run: NewRun, events: Vec<Event>) -> Answer<'_, ()> {
        self.after("create", self.store.create(run, events))
    }
    fn append(&self, append: Append) -> Answer<'_, ()> {
        self.after("append", self.store.append(append))
    }
    fn load<'a>(&'a self, run: &'a RunId) -> Answer<'a, Option<StoredRun>> {
        self.after("load", self.store.load(run))
    }
    fn list(&self, filter: Filter) -> Answer<'_, Vec<Summary>> {
        self.after("list", self.store.list(filter))
    }
    fn open_runs(&self, now: Timestamp) -> Answer<'_, Vec<OpenRun>> {
        self.hook.at("open_runs", now);
        self.after("open_runs", self.store.open_runs(now))
    }
    fn rebind<'a>(&'a self, run: &'a RunId, plan: StoredPlan, now: Timestamp) -> Answer<'a, bool> {
        self.hook.at("rebind", now);
        self.after("rebind", self.store.rebind(run, plan, now))
    }
    fn claimable(&self, now: Timestamp) -> Answer<'_, Vec<RunId>> {
        self.hook.at("claimable", now);
        self.after("claimable", self.store.claimable(now))
    }
    fn claim<'a>(&'a self, run: &'a RunId, now: Timestamp) -> Answer<'a, Option<StoredRun>> {
        self.hook.at("claim", now);
        self.after("claim", self.store.claim(run, now))
    }
    fn park<'a>(&'a self, run: &'a RunId, due: Option<Timestamp>) -> Answer<'a, ()> {
        self.after("park", self.store.park(run, due))
    }
    fn heartbeat(&self, now: Timestamp) -> Answer<'_, ()> {
        self.hook.at("heartbeat", now);
        self.after("heartbeat", self.store.heartbeat(now))
    }
    fn tell(&self, command: Command) -> Answer<'_, ()> {
        self.after("tell", self.store.tell(command))
    }
    fn commands(&self, now: Timestamp) -> Answer<'_, Vec<Command>> {
        self.hook.at("commands", now);
        self.after("commands", self.store.commands(now))
    }
    fn give_back<'a>(&'a self, run: &'a RunId) -> Answer<'a, ()> {
        self.after("give_back", self.store.give_back(run))
    }
    fn told<'a>(&'a self, run: &'a RunId) -> Answer<'a, Vec<Order>> {
        self.after("told", self.store.told(run))
    }
    fn secret(&self, purpose: &str) -> [u8; 32] {
        self.store.secret(purpose)
    }
    fn keep<'a>(&'a self, name: &'a str, value: &'a Value) -> Answer<'a, ()> {
        self.after("keep", self.store.keep(name, value))
    }
    fn kept<'a>(&'a self, name: &'a str) -> Answer<'a, Option<Value>> {
        self.after("kept", self.store.kept(name))
    }
    fn maintain(&self, now: Timestamp) -> Answer<'_, bool> {
        self.hook.at("maintain", now);
        self.after("maintain", self.store.maintain(now))
    }
}
