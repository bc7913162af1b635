//! Lists other than tools: resources, resource templates, prompts. Read when first wanted, kept until the server
//! tells of a change or its word on how long they last runs out. Entries stay as received. A list is read once for all
//! who want it, and read on when nobody waits any more.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use onecall_mcp::limits::{PAGES_MAX, TOOLS_MAX};
use onecall_mcp::{Exact, ListPage, ShapeError, method};
use serde_json::json;
use tokio::time::Instant;

use crate::error::CallError;
use crate::limits::{LIST_BYTES_MAX, LIST_KEPT_DEFAULT, LIST_KEPT_MAX};
use crate::slot::Slot;

type Entries = Arc<[Exact]>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    Resources,
    ResourceTemplates,
    Prompts,
}

impl ListKind {
    pub const ALL: [Self; 3] = [Self::Resources, Self::ResourceTemplates, Self::Prompts];

    /// The key of an entry that tells it from the others.
    pub fn key(self) -> &'static str {
        match self {
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
            Self::Prompts => "name",
        }
    }

    /// The method, the key of the result, and the capability that offers them.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Resources => (method::RESOURCES_LIST, "resources", "resources"),
            Self::ResourceTemplates => (
                method::RESOURCE_TEMPLATES_LIST,
                "resourceTemplates",
                "resources",
            ),
            Self::Prompts => (method::PROMPTS_LIST, "prompts", "prompts"),
        }
    }
}

/// The lists of one backend, as last read.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    kept: Mutex<[Kept; 3]>,
}

#[derive(Debug, Default)]
struct Kept {
    /// How often the list was said to have changed.
    changes: u64,
    list: Option<Read>,
    /// The one that is being read.
    reading: Option<Reading>,
}

#[derive(Debug)]
struct Read {
    entries: Entries,
    /// The count of changes before it was read.
    as_of: u64,
    until: Instant,
}

/// A list on its way, for any number of those who want it.
#[derive(Clone, Debug)]
struct Reading {
    as_of: u64,
    since: Instant,
    outcome: Shared<BoxFuture<'static, Result<Entries, CallError>>>,
}

impl Lists {
    /// The list has changed, or may have.
    pub(crate) fn changed(&self, kinds: &[ListKind]) {
        let mut kept = self.lock();
        for kind in kinds {
            kept[*kind as usize].changes += 1;
        }
    }

    /// The list as last read, however long ago.
    fn last(&self, kind: ListKind) -> Option<Entries> {
        let kept = self.lock();
        let list = kept[kind as usize].list.as_ref();
        list.map(|read| Arc::clone(&read.entries))
    }

    fn changes(&self, kind: ListKind) -> u64 {
        self.lock()[kind as usize].changes
    }

    fn put(&self, kind: ListKind, read: Read) {
        self.lock()[kind as usize].list = Some(read);
    }

    fn lock(&self) -> MutexGuard<'_, [Kept; 3]> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The list of one kind, read anew where what is kept no longer holds.
pub(crate) async fn read(slot: &Arc<Slot>, kind: ListKind) -> Result<Entries, CallError> {
    match wanted(slot, kind) {
        Ok(entries) => Ok(entries),
        Err(reading) => reading.outcome.await,
    }
}

/// The same within a time that begins with the reading or the connection, whoever began it: a backend that takes long
/// is waited for once, and one that has failed is not waited for. Until it is there the list stands as last read.
pub(crate) async fn read_soon(slot: &Arc<Slot>, kind: ListKind, patience: Duration) -> Entries {
    let reading = match wanted(slot, kind) {
        Ok(entries) => return entries,
        Err(reading) => reading,
    };
    let patience = patience.saturating_sub(reading.since.elapsed());
    let patience = slot.left_of(patience);
    let outcome = if patience.is_zero() {
        reading.outcome.now_or_never()
    } else {
        let waited = tokio::time::timeout(patience, reading.outcome).await;
        waited.ok()
    };
    match outcome {
        Some(Ok(entries)) => return entries,
        Some(Err(error)) => {
            let backend = &slot.target.options.name;
            tracing::debug!(%backend, %error, ?kind, "a list cannot be read");
        }
        None => {}
    }
    slot.lists.last(kind).unwrap_or_default()
}

/// The list as it is kept, or the reading that will give it.
fn wanted(slot: &Arc<Slot>, kind: ListKind) -> Result<Entries, Reading> {
    let mut kept = slot.lists.lock();
    let own = &mut kept[kind as usize];
    let now = Instant::now();
    let is_fresh = |read: &&Read| read.as_of == own.changes && now < read.until;
    if let Some(read) = own.list.as_ref().filter(is_fresh) {
        return Ok(Arc::clone(&read.entries));
    }
    // One that began before the last change may not show it.
    let is_current =
        |reading: &&Reading| reading.as_of == own.changes && reading.outcome.peek().is_none();
    if let Some(reading) = own.reading.as_ref().filter(is_current) {
        return Err(reading.clone());
    }
    let task = tokio::spawn(read_now(Arc::clone(slot), kind));
    let outcome = async { task.await.unwrap_or(Err(CallError::Stopped)) };
    let reading = Reading {
        as_of: own.changes,
        since: now,
        outcome: outcome.boxed().shared(),
    };
    own.reading = Some(reading.clone());
    Err(reading)
}

async fn read_now(slot: Arc<Slot>, kind: ListKind) -> Result<Entries, CallError> {
    let (_, _, capability) = kind.words();
    let client = slot.client().await?;
    let as_of = slot.lists.changes(kind);
    let is_offered = client.agreement.capabilities.get(capability).is_some();
    let (entries, lasts) = if is_offered {
        fetch(&slot, kind).await?
    } else {
        (Vec::new(), None)
    };
    let default = if !is_offered || client.tells(capability) {
        LIST_KEPT_MAX
    } else {
        LIST_KEPT_DEFAULT
    };
    let entries: Entries = entries.into();
    let read = Read {
        entries: Arc::clone(&entries),
        as_of,
        until: Instant::now() + lasts.unwrap_or(default).min(LIST_KEPT_MAX),
    };
    slot.lists.put(kind, read);
    Ok(entries)
}

/// All pages, and how long the server says they last.
async fn fetch(slot: &Slot, kind: ListKind) -> Result<(Vec<Exact>, Option<Duration>), CallError> {
    let (method, key, _) = kind.words();
    let malformed = |fault| CallError::Malformed {
        backend: slot.target.options.name.clone(),
        fault,
    };
    let mut entries = Vec::new();
    let mut lasts: Option<Duration> = None;
    let mut bytes = 0;
    let mut cursors: HashSet<String> = HashSet::new();
    let mut cursor: Option<String> = None;
    for number in 1.. {
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let raw = slot.request(method, params.into(), None).await?;
        bytes += raw.get().len();
        let page = ListPage::from_raw(&raw, key).map_err(malformed)?;
        for entry in page.entries {
            match entry {
                Ok(entry) => entries.push(entry),
                Err(fault) => {
                    let backend = &slot.target.options.name;
                    tracing::warn!(%backend, "an entry of the list of {key} is left out: {fault}");
                }
            }
        }
        let too_many = |what, limit| Err(malformed(ShapeError::TooMany { what, limit }));
        if entries.len() > TOOLS_MAX {
            return too_many("entries", TOOLS_MAX);
        }
        if bytes > LIST_BYTES_MAX {
            return too_many("bytes in one list", LIST_BYTES_MAX);
        }
        let ttl = page.ttl_ms.map(Duration::from_millis);
        lasts = lasts.into_iter().chain(ttl).min();
        let Some(next) = page.next_cursor else {
            break;
        };
        if number == PAGES_MAX || !cursors.insert(next.clone()) {
            let backend = &slot.target.options.name;
            tracing::warn!(%backend, "the list of {key} is cut: it leads back or goes on after {PAGES_MAX} pages");
            break;
        }
        cursor = Some(next);
    }
    Ok((entries, lasts))
}
