//! The last tool list of each backend, kept in the store, so that a server starts with what it knew when it stopped.
//! A list belongs to the backend as it is reached: another program under the same name starts unknown.

use crate::content::Content;
use crate::identity::Identities;
use crate::limits::TOOLS_KEPT_MAX;
use crate::world::chain;
use onecall_backends::{BackendName, ToolLists};
use onecall_engine::journal::Journal;
use onecall_mcp::{Exact, Tool, ToolPage};
use serde_json::value::RawValue;
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
            // A value of the store would not keep every digit, so each tool is kept as a text.
            let texts: Vec<&str> = tools.iter().map(|tool| tool.exact().text()).collect();
            let list = json!({ "texts": texts });
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
    let Some(texts) = list.get("texts") else {
        // As releases before kept them.
        return Some(ToolPage::from_value(list).ok()?.tools.into());
    };
    let tool = |text: &Value| {
        let raw: &RawValue = serde_json::from_str(text.as_str()?).ok()?;
        Tool::from_exact(Exact::from_raw(raw).ok()?).ok()
    };
    texts.as_array()?.iter().map(tool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_an_older_release_is_read_and_texts_keep_every_digit() {
        let old = tools(json!({ "tools": [{ "name": "a" }] })).unwrap();
        assert_eq!(old[0].name(), "a");
        let text = r#"{"n":123456789012345678901234567890,"name":"a","e":1e400,"f":1.10}"#;
        let kept = tools(json!({ "texts": [text] })).unwrap();
        assert_eq!(kept[0].exact().text(), text);
        assert_eq!(tools(json!({ "texts": ["{"] })), None);
    }
}
