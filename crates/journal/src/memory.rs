//! The journal in memory, for `--ephemeral` and for tests: the same semantics as a store on disk, several
//! openers included. It ends with the process.

mod state;

use crate::open::Retention;
use crate::seal::{SealKey, Sealer};
use futures::future::BoxFuture;
use onecall_engine::event::Event;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Append, Command, Filter, Journal, JournalError, NewRun, OpenRun, Order, StoredPlan, StoredRun,
    Summary,
};
use onecall_workflow::policy::Durability;
use serde_json::Value;
use state::{Addition, HeldRun, Lines, State};
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
        Box::pin(async move {
            if run.durability == Durability::None {
                return Ok(());
            }
            let events = Lines::new(&events)?;
            self.store.lock().create(self.epoch, run, events)
        })
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            if append.durability == Durability::None {
                return Ok(());
            }
            let (addition, events) = Addition::split(append);
            let events = Lines::new(&events)?;
            self.store.lock().append(self.epoch, addition, events)
        })
    }

    fn load<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        Box::pin(async move {
            let held = self.store.lock().load(run);
            held.map(HeldRun::read).transpose()
        })
    }

    fn list(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, JournalError>> {
        self.answer(move |state, _| Ok(state.list(&filter)))
    }

    fn open_runs(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<OpenRun>, JournalError>> {
        self.answer(move |state, epoch| Ok(state.open_runs(epoch, now)))
    }

    fn bytes(&self) -> BoxFuture<'_, Result<u64, JournalError>> {
        self.answer(move |state, _| Ok(state.bytes()))
    }

    fn rebind<'a>(
        &'a self,
        run: &'a RunId,
        plan: StoredPlan,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, JournalError>> {
        self.answer(move |state, epoch| state.rebind(epoch, run, plan, now))
    }

    fn claimable(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<RunId>, JournalError>> {
        self.answer(move |state, epoch| Ok(state.claimable(epoch, now)))
    }

    fn claim<'a>(
        &'a self,
        run: &'a RunId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        Box::pin(async move {
            let held = self.store.lock().claim(self.epoch, run, now)?;
            held.map(HeldRun::read).transpose()
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::samples::{answer, append, at, ending, new_run, note};
    use onecall_engine::journal::Order;

    const ROOM: u64 = 60_000;

    fn small() -> MemoryJournal {
        let store = MemoryStore::new(Retention {
            bytes_max: ROOM,
            ..Retention::default()
        });
        store.open(at(0), Duration::from_secs(10))
    }

    fn held(journal: &MemoryJournal) -> u64 {
        journal.store.lock().bytes()
    }

    #[tokio::test]
    async fn the_oldest_finished_runs_make_room() {
        let journal = small();
        for number in 0..200 {
            let name = format!("run-{number}");
            let events = vec![note("x".repeat(1_000))];
            journal.create(new_run(&name), events).await.unwrap();
            journal.append(ending(&name, 1, number)).await.unwrap();
            assert!(held(&journal) <= ROOM);
        }
        let kept = journal.list(Filter::default()).await.unwrap();
        assert_eq!(kept[0].id.as_str(), "run-199");
        assert!((20..60).contains(&kept.len()), "{}", kept.len());
        assert!(journal.load(&RunId::new("run-0")).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_large_answer_makes_room_like_an_event() {
        let journal = small();
        journal.create(new_run("asks"), vec![]).await.unwrap();
        for number in 0..100 {
            let name = format!("run-{number}");
            let events = vec![note("x".repeat(1_000))];
            journal.create(new_run(&name), events).await.unwrap();
            journal.append(ending(&name, 1, number)).await.unwrap();
        }
        let mut large = answer("asks", "a");
        let Order::Answer { content, .. } = &mut large.what else {
            unreachable!("it is an answer");
        };
        *content = Some("x".repeat(20_000).into());
        journal.tell(large.clone()).await.unwrap();
        journal.tell(large.clone()).await.unwrap();
        let full = journal.tell(large).await.unwrap_err();
        assert!(matches!(full, JournalError::OpenRunsFull { .. }), "{full}");
    }

    #[tokio::test]
    async fn open_runs_are_never_removed_and_leave_no_room_for_new_ones() {
        let journal = small();
        let mut number = 0;
        let refused = loop {
            let name = format!("run-{number}");
            let events = vec![note("x".repeat(1_000))];
            match journal.create(new_run(&name), events).await {
                Ok(()) => number += 1,
                Err(error) => break error,
            }
        };
        assert!(
            matches!(refused, JournalError::OpenRunsFull { .. }),
            "{refused}"
        );
        // The last quarter is theirs, up to its end.
        let grow = |size: usize| append("run-0", 1, vec![note("x".repeat(size))]);
        let full = journal.append(grow(30_000)).await;
        assert!(
            matches!(full, Err(JournalError::OpenRunsFull { .. })),
            "{full:?}"
        );
        journal.append(grow(5_000)).await.unwrap();
        let open = journal.open_runs(at(0)).await.unwrap();
        assert_eq!(open.len(), number);
        // One that ends makes room for the next, even if its end is large.
        let mut end = ending("run-0", 2, 9);
        end.events = vec![note("x".repeat(30_000))];
        journal.append(end).await.unwrap();
        journal.create(new_run("next"), vec![]).await.unwrap();
        assert!(held(&journal) <= ROOM);
    }
}
