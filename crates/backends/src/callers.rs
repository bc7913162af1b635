//! Connections that each serve one caller, for backends with `session: per-client`. Bounded in
//! number; those without calls are given up after a while, or for a caller who has none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use indexmap::IndexMap;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::call::CallerId;
use crate::limits::{CALLER_IDLE, CALLERS_MAX};
use crate::slot::Slot;

#[derive(Default)]
pub(crate) struct Callers {
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    open: IndexMap<CallerId, Own>,
    /// A task waits for connections to become stale.
    is_swept: bool,
    /// Connections that were given up and have not ended yet.
    ending: TaskTracker,
}

struct Own {
    slot: Arc<Slot>,
    calls: usize,
    used: Instant,
}

/// All connections are busy with calls of other callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyCallers;

/// A caller's connection while a call uses it.
pub(crate) struct Lease {
    pub(crate) slot: Arc<Slot>,
    caller: CallerId,
    table: Weak<Mutex<Table>>,
    /// It serves this one call and ends with it.
    is_sole: bool,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(table) = self.table.upgrade() else {
            return;
        };
        let mut table = lock(&table);
        if self.is_sole {
            if let Some(own) = table.open.shift_remove(&self.caller) {
                end(&table.ending, own.slot);
            }
            return;
        }
        let own = table.open.get_mut(&self.caller);
        // The caller may have been forgotten and have come back.
        if let Some(own) = own.filter(|own| Arc::ptr_eq(&own.slot, &self.slot)) {
            own.calls -= 1;
            own.used = Instant::now();
        }
    }
}

impl Callers {
    /// Connections that are given up end in `ending`.
    pub(crate) fn new(ending: TaskTracker) -> Self {
        let table = Table {
            ending,
            ..Table::default()
        };
        Self {
            table: Arc::new(Mutex::new(table)),
        }
    }

    /// The caller's own connection, made where there is none.
    pub(crate) fn lease(
        &self,
        caller: &CallerId,
        make: impl FnOnce() -> Arc<Slot>,
    ) -> Result<Lease, TooManyCallers> {
        let mut table = lock(&self.table);
        if !table.open.contains_key(caller) {
            if table.open.len() >= CALLERS_MAX {
                table.give_one_up()?;
            }
            let own = Own {
                slot: make(),
                calls: 0,
                used: Instant::now(),
            };
            table.open.insert(caller.clone(), own);
            if !std::mem::replace(&mut table.is_swept, true) {
                tokio::spawn(sweep(Arc::downgrade(&self.table)));
            }
        }
        let own = &mut table.open[caller];
        own.calls += 1;
        Ok(Lease {
            slot: Arc::clone(&own.slot),
            caller: caller.clone(),
            table: Arc::downgrade(&self.table),
            is_sole: false,
        })
    }

    /// A connection for one call of somebody who is not known.
    pub(crate) fn lease_once(
        &self,
        make: impl FnOnce() -> Arc<Slot>,
    ) -> Result<Lease, TooManyCallers> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let nobody = CallerId(format!("one call {number}").into());
        let mut lease = self.lease(&nobody, make)?;
        lease.is_sole = true;
        Ok(lease)
    }

    pub(crate) fn forget(&self, caller: &CallerId) -> Option<Arc<Slot>> {
        let own = lock(&self.table).open.shift_remove(caller);
        own.map(|own| own.slot)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Slot>> {
        let table = lock(&self.table);
        table
            .open
            .values()
            .map(|own| Arc::clone(&own.slot))
            .collect()
    }
}

impl Table {
    /// Makes a place: the connection that has been idle for the longest time leaves.
    fn give_one_up(&mut self) -> Result<(), TooManyCallers> {
        let idle = (0..self.open.len()).filter(|&index| self.open[index].calls == 0);
        let oldest = idle.min_by_key(|&index| self.open[index].used);
        let (_, own) = oldest
            .and_then(|index| self.open.shift_remove_index(index))
            .ok_or(TooManyCallers)?;
        end(&self.ending, own.slot);
        Ok(())
    }

    /// Ends what has been idle for too long.
    fn give_stale_up(&mut self) {
        let now = Instant::now();
        self.open.retain(|_, own| {
            let stays = own.calls > 0 || own.used + CALLER_IDLE > now;
            if !stays {
                end(&self.ending, Arc::clone(&own.slot));
            }
            stays
        });
    }

    /// When the next connection can have become stale.
    fn next_stale(&self) -> Option<Instant> {
        let now = Instant::now();
        let since = |own: &Own| if own.calls > 0 { now } else { own.used };
        self.open
            .values()
            .map(since)
            .min()
            .map(|at| at + CALLER_IDLE)
    }
}

/// Ends a connection in the background; whoever waits for `ending` waits for its child too.
pub(crate) fn end(ending: &TaskTracker, slot: Arc<Slot>) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        ending.spawn_on(async move { slot.shutdown().await }, &runtime);
    }
}

/// Gives stale connections up, until there are none at all.
async fn sweep(table: Weak<Mutex<Table>>) {
    while let Some(strong) = table.upgrade() {
        let next = {
            let mut table = lock(&strong);
            table.give_stale_up();
            let next = table.next_stale();
            table.is_swept = next.is_some();
            next
        };
        drop(strong);
        let Some(next) = next else { return };
        tokio::time::sleep_until(next).await;
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Target;
    use crate::options::{BackendOptions, ClientInfo};

    /// A connection that is never asked for.
    fn slot() -> Arc<Slot> {
        let target = Target::new(BackendOptions::stdio("b", "none", &[])).unwrap();
        let client = ClientInfo {
            name: "test".to_owned(),
            version: "1".to_owned(),
        };
        Slot::start(target, &client, true, Arc::new(|_| {}))
    }

    fn lease(callers: &Callers, number: usize) -> Result<Lease, TooManyCallers> {
        callers.lease(&CallerId(number.to_string().into()), slot)
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_connection_is_never_given_up() {
        let callers = Callers::default();
        let lease = |number| lease(&callers, number);
        let mut busy: Vec<_> = (0..CALLERS_MAX).map(|n| lease(n).unwrap()).collect();
        assert_eq!(lease(CALLERS_MAX).err(), Some(TooManyCallers));
        let idle = Arc::clone(&busy.remove(7).slot);
        let newcomer = lease(CALLERS_MAX).unwrap();
        assert!(callers.all().iter().all(|slot| !Arc::ptr_eq(slot, &idle)));
        assert!(Arc::ptr_eq(&lease(0).unwrap().slot, &busy[0].slot));
        drop(newcomer);
        assert_eq!(callers.all().len(), CALLERS_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_leaves_though_nobody_comes() {
        let callers = Callers::default();
        for _ in 0..2 {
            let idle = lease(&callers, 1).unwrap();
            let busy = lease(&callers, 2).unwrap();
            tokio::time::sleep(CALLER_IDLE * 2).await;
            let given_up = Arc::clone(&idle.slot);
            drop(idle);
            tokio::time::sleep(CALLER_IDLE / 2).await;
            assert_eq!(callers.all().len(), 2);
            tokio::time::sleep(CALLER_IDLE).await;
            assert_eq!(callers.all().len(), 1);
            assert!(given_up.client().await.is_err());
            drop(busy);
            tokio::time::sleep(CALLER_IDLE * 2).await;
            assert!(callers.all().is_empty());
        }
    }
}
