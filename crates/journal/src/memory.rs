//! The journal in memory, for `--ephemeral` and for tests: the same semantics as a store on disk, several
//! openers included. It ends with the process.

mod state;

use crate::open::Retention;
use crate::seal::{SealKey, Sealer};
use futures::future::BoxFuture;
use onecall_engine::event::Event;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Append, Command, Filter, Journal, JournalError, NewRun, Order, StoredRun, Summary,
};
use onecall_workflow::policy::Durability;
use serde_json::Value;
use state::State;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A store in memory. It is shared by all openers that were opened on it.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    /// Nothing of it reaches a disk; only its secrets are asked for.
    sealer: Arc<Sealer>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Retention::default())
    }
}

impl MemoryStore {
    pub fn new(retention: Retention) -> Self {
        Self {
            state: Arc::new(Mutex::new(State::new(retention))),
            sealer: Arc::new(Sealer::new(SealKey::random())),
        }
    }

    /// A new owner over this store. Dropping it leaves its runs to the others.
    pub fn open(&self, now: Timestamp, lease: Duration) -> MemoryJournal {
        let epoch = self.lock().join(now, lease);
        MemoryJournal {
            store: self.clone(),
            epoch,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere cannot leave a change half done: each change checks first and then writes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One owner of a store in memory.
#[derive(Debug)]
pub struct MemoryJournal {
    store: MemoryStore,
    epoch: u64,
}

impl MemoryJournal {
    fn answer<'a, T, F>(&'a self, act: F) -> BoxFuture<'a, Result<T, JournalError>>
    where
        T: Send + 'a,
        F: FnOnce(&mut State, u64) -> Result<T, JournalError> + Send + 'a,
    {
        Box::pin(async move { act(&mut self.store.lock(), self.epoch) })
    }
}

impl Drop for MemoryJournal {
    fn drop(&mut self) {
        self.store.lock().leave(self.epoch);
    }
}

impl Journal for MemoryJournal {
    fn create(&self, run: NewRun, events: Vec<Event>) -> BoxFuture<'_, Result<(), JournalError>> {
        self.answer(move |state, epoch| match run.durability {
            Durability::None => Ok(()),
            Durability::Async | Durability::Sync => state.create(epoch, run, events),
        })
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), JournalError>> {
        self.answer(move |state, epoch| match append.durability {
            Durability::None => Ok(()),
            Durability::Async | Durability::Sync => state.append(epoch, append),
        })
    }

    fn load<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        self.answer(move |state, _| Ok(state.load(run)))
    }

    fn list(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, JournalError>> {
        self.answer(move |state, _| Ok(state.list(&filter)))
    }

    fn claimable(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<RunId>, JournalError>> {
        self.answer(move |state, epoch| Ok(state.claimable(epoch, now)))
    }

    fn claim<'a>(
        &'a self,
        run: &'a RunId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        self.answer(move |state, epoch| state.claim(epoch, run, now))
    }

    fn park<'a>(
        &'a self,
        run: &'a RunId,
        due: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        self.answer(move |state, epoch| state.park(epoch, run, due))
    }

    fn heartbeat(&self, now: Timestamp) -> BoxFuture<'_, Result<(), JournalError>> {
        self.answer(move |state, epoch| {
            state.heartbeat(epoch, now);
            Ok(())
        })
    }

    fn tell(&self, command: Command) -> BoxFuture<'_, Result<(), JournalError>> {
        self.answer(move |state, _| state.tell(command))
    }

    fn commands(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<Command>, JournalError>> {
        self.answer(move |state, epoch| Ok(state.commands(epoch, now)))
    }

    fn give_back<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        self.answer(move |state, epoch| {
            state.give_back(epoch, run);
            Ok(())
        })
    }

    fn told<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Order>, JournalError>> {
        self.answer(move |state, _| Ok(state.told(run)))
    }

    fn keep<'a>(
        &'a self,
        name: &'a str,
        value: &'a Value,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        self.answer(move |state, _| {
            state.keep(name, value);
            Ok(())
        })
    }

    fn kept<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Value>, JournalError>> {
        self.answer(move |state, _| Ok(state.kept(name)))
    }

    fn secret(&self, purpose: &str) -> [u8; 32] {
        self.store.sealer.secret(purpose)
    }

    fn maintain(&self, now: Timestamp) -> BoxFuture<'_, Result<bool, JournalError>> {
        self.answer(move |state, _| Ok(state.maintain(now)))
    }
}
