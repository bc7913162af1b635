//! Lists other than tools: resources, resource templates, prompts. Read when first wanted, kept until the server
//! tells of a change or its word on how long they last runs out. Entries stay as received.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_mcp::limits::{PAGES_MAX, TOOLS_MAX};
use onecall_mcp::{ShapeError, method};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::error::CallError;
use crate::limits::{LIST_KEPT_DEFAULT, LIST_KEPT_MAX};
use crate::slot::Slot;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    Resources,
    ResourceTemplates,
    Prompts,
}

impl ListKind {
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
}

#[derive(Debug)]
struct Read {
    entries: Arc<[Value]>,
    /// The count of changes before it was read.
    as_of: u64,
    until: Instant,
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
    pub(crate) fn last(&self, kind: ListKind) -> Option<Arc<[Value]>> {
        let kept = self.lock();
        let list = kept[kind as usize].list.as_ref();
        list.map(|read| Arc::clone(&read.entries))
    }

    fn fresh(&self, kind: ListKind) -> Option<Arc<[Value]>> {
        let kept = self.lock();
        let Kept { changes, list } = &kept[kind as usize];
        let is_fresh = |read: &&Read| read.as_of == *changes && Instant::now() < read.until;
        let list = list.as_ref().filter(is_fresh);
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
pub(crate) async fn read(slot: &Slot, kind: ListKind) -> Result<Arc<[Value]>, CallError> {
    if let Some(entries) = slot.lists.fresh(kind) {
        return Ok(entries);
    }
    let (_, _, capability) = kind.words();
    let capabilities = slot.capabilities().await?;
    let as_of = slot.lists.changes(kind);
    let (entries, lasts) = match capabilities.get(capability) {
        None => (Vec::new(), None),
        Some(_) => fetch(slot, kind).await?,
    };
    let tells = capabilities
        .get(capability)
        .is_none_or(|own| own.get("listChanged") == Some(&Value::Bool(true)));
    let default = if tells {
        LIST_KEPT_MAX
    } else {
        LIST_KEPT_DEFAULT
    };
    let entries: Arc<[Value]> = entries.into();
    let read = Read {
        entries: Arc::clone(&entries),
        as_of,
        until: Instant::now() + lasts.unwrap_or(default).min(LIST_KEPT_MAX),
    };
    slot.lists.put(kind, read);
    Ok(entries)
}

/// All pages, and how long the server says they last.
async fn fetch(slot: &Slot, kind: ListKind) -> Result<(Vec<Value>, Option<Duration>), CallError> {
    let (method, key, _) = kind.words();
    let malformed = |fault| CallError::Malformed {
        backend: slot.target.options.name.clone(),
        fault,
    };
    let mut entries = Vec::new();
    let mut lasts: Option<Duration> = None;
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES_MAX {
        let params = cursor
            .as_ref()
            .map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let raw = slot.request(method, params).await?;
        let mut page: Value = serde_json::from_str(raw.get())
            .map_err(|error| malformed(ShapeError::NotJson(error.to_string())))?;
        let Some(Value::Array(listed)) = page.get_mut(key).map(Value::take) else {
            let what = format!("`{key}` of the list result");
            return Err(malformed(ShapeError::Wrong {
                what,
                wanted: "an array",
            }));
        };
        entries.extend(listed);
        if entries.len() > TOOLS_MAX {
            return Err(malformed(ShapeError::TooMany {
                what: "entries",
                limit: TOOLS_MAX,
            }));
        }
        let ttl = page.get("ttlMs").and_then(Value::as_u64);
        let ttl = ttl.map(Duration::from_millis);
        lasts = lasts.into_iter().chain(ttl).min();
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(next) if cursor.as_deref() != Some(next) => cursor = Some(next.to_owned()),
            _ => break,
        }
    }
    Ok((entries, lasts))
}
