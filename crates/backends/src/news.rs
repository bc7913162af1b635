//! What a server tells outside of answers: lists that changed, resources that were updated, pages that are done with. Each transport feeds
//! one of these; `slot` reads it.

use std::sync::Arc;

use onecall_mcp::method;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::limits::UPDATES_MAX;
use crate::pages::Pages;

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
    pub(crate) pages: Pages,
}

impl News {
    pub(crate) fn new() -> Self {
        Self {
            changes: watch::Sender::default(),
            updated: broadcast::Sender::new(UPDATES_MAX),
            pages: Pages::default(),
        }
    }

    /// Takes a notification; those that are no news are passed over.
    pub(crate) fn take(&self, name: &str, params: &Value) {
        match name {
            method::TOOLS_CHANGED => self.changes.send_modify(|seen| seen.tools += 1),
            method::RESOURCES_CHANGED => self.changes.send_modify(|seen| seen.resources += 1),
            method::PROMPTS_CHANGED => self.changes.send_modify(|seen| seen.prompts += 1),
            method::RESOURCE_UPDATED => {
                if let Some(uri) = params.get("uri").and_then(Value::as_str) {
                    self.update(uri.into());
                }
            }
            method::ELICITATION_COMPLETE => self.pages.done(params),
            _ => {}
        }
    }

    /// A resource has changed, or may have.
    pub(crate) fn update(&self, uri: Arc<str>) {
        // Nobody may be listening.
        let _ = self.updated.send(uri);
    }

    /// The list of tools may have changed before anybody could be told.
    pub(crate) fn tools_changed(&self) {
        self.changes.send_modify(|seen| seen.tools += 1);
    }

    /// The server may be another one now, or could not be heard for a while.
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
}
