//! What a server tells outside of answers: lists that changed, resources that were updated. Each transport feeds
//! one of these; `slot` reads it.

use std::sync::Arc;

use onecall_mcp::method;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::limits::UPDATES_MAX;

/// How often a server has said that each of its lists changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub tools: u64,
    /// Resources and resource templates.
    pub resources: u64,
    pub prompts: u64,
}

#[derive(Debug)]
pub(crate) struct News {
    changes: watch::Sender<Changes>,
    updated: broadcast::Sender<Arc<str>>,
    /// How many change streams the server has acknowledged.
    acknowledged: watch::Sender<u64>,
}

impl News {
    pub(crate) fn new() -> Self {
        Self {
            changes: watch::Sender::default(),
            updated: broadcast::Sender::new(UPDATES_MAX),
            acknowledged: watch::Sender::default(),
        }
    }

    /// Takes a notification; those that are no news are passed over.
    pub(crate) fn take(&self, name: &str, params: &Value) {
        match name {
            method::TOOLS_CHANGED => self.changes.send_modify(|seen| seen.tools += 1),
            method::RESOURCES_CHANGED => self.changes.send_modify(|seen| seen.resources += 1),
            method::PROMPTS_CHANGED => self.changes.send_modify(|seen| seen.prompts += 1),
            method::LISTEN_ACKNOWLEDGED => self.acknowledged.send_modify(|count| *count += 1),
            method::RESOURCE_UPDATED => {
                if let Some(uri) = params.get("uri").and_then(Value::as_str) {
                    // Nobody may be listening.
                    let _ = self.updated.send(uri.into());
                }
            }
            _ => {}
        }
    }

    /// The server may be another one now.
    pub(crate) fn all_changed(&self) {
        self.changes.send_modify(|seen| {
            seen.tools += 1;
            seen.resources += 1;
            seen.prompts += 1;
        });
    }

    pub(crate) fn changes(&self) -> watch::Receiver<Changes> {
        self.changes.subscribe()
    }

    pub(crate) fn updated(&self) -> broadcast::Receiver<Arc<str>> {
        self.updated.subscribe()
    }

    pub(crate) fn acknowledged(&self) -> watch::Receiver<u64> {
        self.acknowledged.subscribe()
    }
}
