//! Connections that each serve one caller, for backends with `session: per-client`. Bounded in
//! number; idle ones are given up.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use tokio::time::Instant;

use crate::call::CallerId;
use crate::limits::{CALLER_IDLE, CALLERS_MAX};
use crate::slot::Slot;

#[derive(Default)]
pub(crate) struct Callers {
    open: Mutex<IndexMap<CallerId, Own>>,
}

struct Own {
    slot: Arc<Slot>,
    used: Instant,
}

impl Callers {
    /// The caller's own connection, made where there is none.
    pub(crate) fn slot(&self, caller: &CallerId, make: impl FnOnce() -> Arc<Slot>) -> Arc<Slot> {
        let now = Instant::now();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = open.get_mut(caller) {
            own.used = now;
            return Arc::clone(&own.slot);
        }
        let is_stale = |own: &Own| {
            own.slot.in_flight() == 0 && now.saturating_duration_since(own.used) > CALLER_IDLE
        };
        let mut leaving: Vec<_> = Vec::new();
        open.retain(|_, own| {
            let stays = !is_stale(own);
            if !stays {
                leaving.push(Arc::clone(&own.slot));
            }
            stays
        });
        if open.len() >= CALLERS_MAX {
            let oldest = (0..open.len()).min_by_key(|&index| open[index].used);
            let oldest = oldest.and_then(|index| open.shift_remove_index(index));
            leaving.extend(oldest.map(|(_, own)| own.slot));
        }
        for slot in leaving {
            tokio::spawn(async move { slot.shutdown().await });
        }
        let slot = make();
        open.insert(
            caller.clone(),
            Own {
                slot: Arc::clone(&slot),
                used: now,
            },
        );
        slot
    }

    pub(crate) fn forget(&self, caller: &CallerId) -> Option<Arc<Slot>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.shift_remove(caller).map(|own| own.slot)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Slot>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().map(|own| Arc::clone(&own.slot)).collect()
    }
}
