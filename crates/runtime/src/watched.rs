//! The journal with a memory of its last failure to write, so that readiness can say that the store is unusable and why.
//! It forwards every call unchanged.

use crate::world::chain;
use futures::future::BoxFuture;
use onecall_engine::event::Event;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Append, Command, Filter, Journal, JournalError, NewRun, OpenRun, Order, StoredPlan, StoredRun,
    Summary,
};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why the store cannot be written now, as far as is known.
#[derive(Debug, Default)]
pub(crate) struct StoreHealth(Mutex<Option<String>>);

impl StoreHealth {
    pub(crate) fn reason(&self) -> Option<String> {
        self.lock().clone()
    }

    /// Remembers a failure of the store itself. A success proves nothing: a small write may fit in a store that has no
    /// room for anything else.
    fn note<T>(&self, written: &Result<T, JournalError>) {
        let Err(
            error @ (JournalError::Full(_)
            | JournalError::ReadOnly(_)
            | JournalError::TooNew { .. }
            | JournalError::Store { .. }),
        ) = written
        else {
            return;
        };
        *self.lock() = Some(chain(error));
    }

    /// The store was tried and can be written.
    pub(crate) fn clear(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) health: Arc<StoreHealth>,
}

impl Watched {
    async fn wrote<T>(
        &self,
        writing: BoxFuture<'_, Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        let written = writing.await;
        self.health.note(&written);
        written
    }
}

impl Journal for Watched {
    fn create(&self, run: NewRun, events: Vec<Event>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.wrote(self.journal.create(run, events)))
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.wrote(self.journal.append(append)))
    }

    fn load<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        self.journal.load(run)
    }

    fn plan<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<StoredPlan>, JournalError>> {
        self.journal.plan(run)
    }

    fn list(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, JournalError>> {
        self.journal.list(filter)
    }

    fn open_runs(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<OpenRun>, JournalError>> {
        self.journal.open_runs(now)
    }

    fn rebind<'a>(
        &'a self,
        run: &'a RunId,
        plan: StoredPlan,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, JournalError>> {
        self.journal.rebind(run, plan, now)
    }

    fn bytes(&self) -> BoxFuture<'_, Result<u64, JournalError>> {
        self.journal.bytes()
    }

    fn claimable(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<RunId>, JournalError>> {
        self.journal.claimable(now)
    }

    fn claim<'a>(
        &'a self,
        run: &'a RunId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        self.journal.claim(run, now)
    }

    fn park<'a>(
        &'a self,
        run: &'a RunId,
        due: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        self.journal.park(run, due)
    }

    fn heartbeat(&self, now: Timestamp) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.wrote(self.journal.heartbeat(now)))
    }

    fn tell(&self, command: Command) -> BoxFuture<'_, Result<(), JournalError>> {
        self.journal.tell(command)
    }

    fn commands(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<Command>, JournalError>> {
        self.journal.commands(now)
    }

    fn give_back<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        self.journal.give_back(run)
    }

    fn told<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Order>, JournalError>> {
        self.journal.told(run)
    }

    fn keep<'a>(
        &'a self,
        name: &'a str,
        value: &'a Value,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(self.wrote(self.journal.keep(name, value)))
    }

    fn kept<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Value>, JournalError>> {
        self.journal.kept(name)
    }

    fn secret(&self, purpose: &str) -> [u8; 32] {
        self.journal.secret(purpose)
    }

    fn maintain(&self, now: Timestamp) -> BoxFuture<'_, Result<bool, JournalError>> {
        self.journal.maintain(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_the_store_itself_are_remembered() {
        let health = StoreHealth::default();
        let run = RunId::new("r");
        health.note::<()>(&Err(JournalError::Fenced { run }));
        assert_eq!(health.reason(), None);
        health.note::<()>(&Err(JournalError::Full("disk is full".into())));
        let full = "the store has no room left: disk is full";
        assert_eq!(health.reason().as_deref(), Some(full));
        health.note(&Ok(()));
        assert_eq!(health.reason().as_deref(), Some(full));
        health.note::<()>(&Err(JournalError::ReadOnly("attempt to write".into())));
        assert!(
            health
                .reason()
                .unwrap()
                .starts_with("the store is read-only")
        );
        health.clear();
        assert_eq!(health.reason(), None);
    }
}
