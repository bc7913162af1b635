//! Clients that keep a connection open and must be told when a list changes.

use crate::{offers, tools};
use onecall_mcp::{Exact, method};
use onecall_runtime::runtime::Runtime;
use rmcp::service::{Peer, RoleServer};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
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

/// Lists that clients were given last, as digests.
#[derive(Debug, Default)]
struct Given {
    prompts: Option<u64>,
    resources: Option<u64>,
    templates: Option<u64>,
}

/// The connections of handshake clients, and counts that rise with every change of a list.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    peers: Arc<Mutex<Vec<Peer<RoleServer>>>>,
    given: Arc<Mutex<Given>>,
    changes: watch::Sender<Changes>,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self {
            peers: Arc::default(),
            given: Arc::default(),
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

    /// Remembers a list that a client is given, so that the next change can be told from none.
    pub(crate) fn gave(&self, name: &str, entries: &[Exact]) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match name {
            method::PROMPTS_LIST => &mut given.prompts,
            method::RESOURCES_LIST => &mut given.resources,
            method::RESOURCE_TEMPLATES_LIST => &mut given.templates,
            _ => return,
        };
        *kept = Some(digest(entries));
    }

    /// Whether a list that is said to have changed differs from what clients were given. Of one that nobody was given
    /// that is not known, so it counts as changed.
    async fn differs(&self, runtime: &Runtime, names: &[&str]) -> bool {
        let mut differs = false;
        for name in names {
            let before = {
                let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
                match *name {
                    method::PROMPTS_LIST => given.prompts,
                    method::RESOURCES_LIST => given.resources,
                    _ => given.templates,
                }
            };
            let Some(before) = before else {
                differs |= names.len() == 1 || *name == method::RESOURCES_LIST;
                continue;
            };
            let entries = offers::listed(runtime, name).await;
            differs |= digest(&entries) != before;
            self.gave(name, &entries);
        }
        differs
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
                if latest.prompts != seen.prompts && self.differs(&runtime, &PROMPTS).await {
                    now.prompts += 1;
                }
                if latest.resources != seen.resources && self.differs(&runtime, &RESOURCES).await {
                    now.resources += 1;
                }
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

/// The lists whose change is told as one.
const PROMPTS: [&str; 1] = [method::PROMPTS_LIST];
const RESOURCES: [&str; 2] = [method::RESOURCES_LIST, method::RESOURCE_TEMPLATES_LIST];

fn digest(entries: &[Exact]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for entry in entries {
        entry.text().hash(&mut hasher);
    }
    hasher.finish()
}
