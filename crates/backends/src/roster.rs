//! What all backends of a pool tell: lists of tools, changes of other lists, updates of resources. It outlives a
//! renewal of the pool; only entries that are current are heard.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_mcp::Tool;
use onecall_workflow::name::BackendName;
use tokio::sync::{broadcast, watch};
use tokio_util::task::TaskTracker;

use crate::limits::UPDATES_MAX;
use crate::news::Changes;
use crate::slot::{Publish, Told};

/// The tools of every backend that has been listed, in the order of the configuration.
#[derive(Clone, Debug, Default)]
pub struct ToolLists {
    /// Rises with every change.
    pub version: u64,
    pub lists: Vec<(BackendName, Arc<[Tool]>)>,
}

/// A backend says that a resource has another content now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUpdate {
    pub backend: BackendName,
    pub uri: Arc<str>,
    /// The parameters of `notifications/resources/updated`, as received.
    pub params: Arc<str>,
}

pub(crate) struct Roster {
    /// The entries that are heard, in the order of the configuration.
    current: Mutex<Vec<(BackendName, u64)>>,
    pub(crate) lists: watch::Sender<Arc<ToolLists>>,
    pub(crate) changes: watch::Sender<Changes>,
    pub(crate) updates: broadcast::Sender<Arc<ResourceUpdate>>,
    /// Connections that nobody holds any more and that have not ended yet.
    pub(crate) ending: TaskTracker,
}

impl Default for Roster {
    fn default() -> Self {
        Self {
            current: Mutex::default(),
            lists: watch::Sender::default(),
            changes: watch::Sender::default(),
            updates: broadcast::Sender::new(UPDATES_MAX),
            ending: TaskTracker::new(),
        }
    }
}

impl Roster {
    /// Hears these entries from now on, whose tools are known as far as given.
    pub(crate) fn replace(
        &self,
        entries: Vec<(BackendName, u64)>,
        known: Vec<(BackendName, Arc<[Tool]>)>,
    ) {
        let mut current = self.lock();
        let is_same = *current == entries;
        *current = entries;
        self.lists.send_modify(|lists| {
            *lists = Arc::new(ToolLists {
                version: lists.version + 1,
                lists: known,
            });
        });
        self.changes.send_modify(|seen| {
            seen.tools += 1;
            // The same connections still have the same to tell.
            if !is_same {
                seen.resources += 1;
                seen.prompts += 1;
            }
        });
    }

    /// Takes what one entry tells to whoever wants to know.
    fn hear(&self, name: &BackendName, id: u64, told: Told) {
        let current = self.lock();
        if !current.contains(&(name.clone(), id)) {
            return;
        }
        match told {
            Told::Tools(tools) => {
                self.put(name, tools, &current);
                self.changes.send_modify(|seen| seen.tools += 1);
            }
            Told::Resources => self.changes.send_modify(|seen| seen.resources += 1),
            Told::Prompts => self.changes.send_modify(|seen| seen.prompts += 1),
            Told::Updated(updated) => {
                // Nobody may be listening.
                let _ = self.updates.send(Arc::new(ResourceUpdate {
                    backend: name.clone(),
                    uri: updated.uri,
                    params: updated.params,
                }));
            }
        }
    }

    /// Puts one backend's list into its place among the others.
    fn put(&self, name: &BackendName, tools: Arc<[Tool]>, current: &[(BackendName, u64)]) {
        let place = |of: &BackendName| current.iter().position(|(name, _)| name == of);
        self.lists.send_modify(|lists| {
            let mut next = ToolLists::clone(lists);
            next.version += 1;
            next.lists.retain(|(other, _)| other != name);
            next.lists.push((name.clone(), tools));
            next.lists.sort_by_key(|(name, _)| place(name));
            *lists = Arc::new(next);
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(BackendName, u64)>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a slot tells goes to the roster under this name and id.
pub(crate) fn publisher(roster: Arc<Roster>, name: BackendName, id: u64) -> Publish {
    Arc::new(move |told| roster.hear(&name, id, told))
}
