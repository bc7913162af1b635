//! The last tool list of each backend, kept in the store, so that a server starts with what it knew when it stopped.
//! A list belongs to the backend as it is reached: another program under the same name starts unknown.

use crate::identity::Identities;
use crate::limits::TOOLS_KEPT_MAX;
use crate::runtime::Content;
use crate::world::chain;
use onecall_backends::{BackendName, ToolLists};
use onecall_engine::journal::Journal;
use onecall_mcp::{Tool, ToolPage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) type Kept = BTreeMap<BackendName, Arc<[Tool]>>;

/// What the store has of these backends. A store that cannot be read is as good as an empty one.
pub(crate) async fn load(journal: &dyn Journal, identities: &Identities) -> Kept {
    let mut kept = Kept::new();
    for (backend, name) in identities
        .iter()
        .map(|(backend, own)| (backend, key(backend, own)))
    {
        match journal.kept(&name).await {
            Ok(Some(list)) => kept.extend(tools(list).map(|tools| (backend.clone(), tools))),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%backend, error = chain(&error), "cannot read the last tool list");
            }
        }
    }
    kept
}

/// What has been written to the store, so that nothing is written twice.
#[derive(Default)]
pub(crate) struct Stored(BTreeMap<String, Arc<[Tool]>>);

impl Stored {
    /// Keeps the lists that differ from those kept before.
    pub(crate) async fn update(
        &mut self,
        journal: &dyn Journal,
        content: &Content,
        live: &ToolLists,
    ) {
        for (backend, tools) in &live.lists {
            let Some(identity) = content.identities.get(backend) else {
                continue;
            };
            let key = key(backend, identity);
            let before = self.0.get(&key).or(content.kept.get(backend));
            if before == Some(tools) || tools.len() > TOOLS_KEPT_MAX {
                continue;
            }
            let list = json!({ "tools": tools.iter().map(Tool::to_value).collect::<Vec<_>>() });
            if let Err(error) = journal.keep(&key, &list).await {
                tracing::warn!(%backend, error = chain(&error), "cannot keep the tool list");
            }
            self.0.insert(key, Arc::clone(tools));
        }
    }
}

fn key(backend: &BackendName, identity: &str) -> String {
    format!("catalog/{backend}/{identity}")
}

fn tools(list: Value) -> Option<Arc<[Tool]>> {
    Some(ToolPage::from_value(list).ok()?.tools.into())
}
