//! Clients that keep a connection open and must be told when a list changes.

use crate::tools;
use onecall_runtime::runtime::Runtime;
use rmcp::service::{Peer, RoleServer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How often each list has changed, as far as clients can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
    pub(crate) resources: u64,
}

/// The connections of handshake clients, and counts that rise with every change of a list.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    peers: Arc<Mutex<Vec<Peer<RoleServer>>>>,
    changes: watch::Sender<Changes>,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self {
            peers: Arc::default(),
            changes: watch::Sender::default(),
        }
    }

    pub(crate) fn add(&self, peer: Peer<RoleServer>) {
        let mut peers = self.lock();
        peers.retain(|peer| !peer.is_transport_closed());
        peers.push(peer);
    }

    pub(crate) fn count(&self) -> usize {
        let mut peers = self.lock();
        peers.retain(|peer| !peer.is_transport_closed());
        peers.len()
    }

    /// Changes of the lists from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<Changes> {
        self.changes.subscribe()
    }

    /// Tells every client when what they can see of a list has changed.
    pub(crate) async fn follow(self, runtime: Runtime, stop: CancellationToken) {
        let mut published = runtime.published();
        let mut others = runtime.list_changes();
        let mut known = tools::definitions(&published.borrow_and_update());
        let mut seen = *others.borrow_and_update();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = published.changed() => if changed.is_err() { return },
                changed = others.changed() => if changed.is_err() { return },
            }
            let mut now = *self.changes.borrow();
            let before = now;
            let fresh = tools::definitions(&published.borrow_and_update());
            if fresh != known {
                known = fresh;
                now.tools += 1;
            }
            let latest = *others.borrow_and_update();
            if runtime.shows_backends() {
                now.prompts += u64::from(latest.prompts != seen.prompts);
                now.resources += u64::from(latest.resources != seen.resources);
            }
            seen = latest;
            if now != before {
                self.changes.send_replace(now);
                self.tell(before, now).await;
            }
        }
    }

    async fn tell(&self, before: Changes, now: Changes) {
        let peers: Vec<_> = {
            let mut peers = self.lock();
            peers.retain(|peer| !peer.is_transport_closed());
            peers.clone()
        };
        // A client that has gone in the meantime is pruned next time.
        let told = peers.iter().map(|peer| async move {
            if now.tools != before.tools {
                let _ = peer.notify_tool_list_changed().await;
            }
            if now.prompts != before.prompts {
                let _ = peer.notify_prompt_list_changed().await;
            }
            if now.resources != before.resources {
                let _ = peer.notify_resource_list_changed().await;
            }
        });
        futures::future::join_all(told).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Peer<RoleServer>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
