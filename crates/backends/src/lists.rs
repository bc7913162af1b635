//! Lists other than tools: resources, resource templates, prompts. Entries stay as received.

use onecall_mcp::limits::{PAGES_MAX, TOOLS_MAX};
use onecall_mcp::{ShapeError, method};
use serde_json::{Value, json};

use crate::error::CallError;
use crate::slot::Slot;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    Resources,
    ResourceTemplates,
    Prompts,
}

impl ListKind {
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

pub(crate) async fn read(slot: &Slot, kind: ListKind) -> Result<Vec<Value>, CallError> {
    let (method, key, capability) = kind.words();
    if slot.capabilities().await?.get(capability).is_none() {
        return Ok(Vec::new());
    }
    let malformed = |fault| CallError::Malformed {
        backend: slot.target.options.name.clone(),
        fault,
    };
    let mut entries = Vec::new();
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
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(next) if cursor.as_deref() != Some(next) => cursor = Some(next.to_owned()),
            _ => break,
        }
    }
    Ok(entries)
}
