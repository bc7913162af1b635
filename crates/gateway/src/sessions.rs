//! Clients that keep a connection open and must be told when the tool list changes.

use crate::tools;
use onecall_runtime::runtime::Runtime;
use rmcp::service::{Peer, RoleServer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The connections of handshake clients, and a count that rises with every change of the list.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    peers: Arc<Mutex<Vec<Peer<RoleServer>>>>,
    changes: watch::Sender<u64>,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self {
            peers: Arc::default(),
            changes: watch::Sender::new(0),
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

    /// Changes of the list from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Tells every client when what they can see of the list has changed.
    pub(crate) async fn follow(self, runtime: Runtime, stop: CancellationToken) {
        let mut published = runtime.published();
        let mut known = tools::definitions(&published.borrow_and_update());
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = published.changed() => if changed.is_err() { return },
            }
            let fresh = tools::definitions(&published.borrow_and_update());
            if fresh == known {
                continue;
            }
            known = fresh;
            self.changes.send_modify(|count| *count += 1);
            self.tell().await;
        }
    }

    async fn tell(&self) {
        let peers: Vec<_> = {
            let mut peers = self.lock();
            peers.retain(|peer| !peer.is_transport_closed());
            peers.clone()
        };
        let told = peers.iter().map(Peer::notify_tool_list_changed);
        // A client that has gone in the meantime is pruned next time.
        futures::future::join_all(told).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Peer<RoleServer>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
