//! What a server tells outside of answers: lists that changed, resources that were updated, pages that are done with.
//! Each transport feeds one of these; `slot` reads it.

use std::sync::Arc;

use onecall_mcp::limits::URI_BYTES_MAX;
use onecall_mcp::{Exact, method};
use serde_json::json;
use tokio::sync::{broadcast, watch};

use crate::limits::{UPDATE_BYTES_MAX, UPDATES_MAX};
use crate::pages::Pages;

/// How often a server has said that each of its lists changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub tools: u64,
    /// Resources and resource templates.
    pub resources: u64,
    pub prompts: u64,
}

/// A resource has changed, or may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Updated {
    pub(crate) uri: Arc<str>,
    /// The parameters of the notification that says so, as text alone: many of them may wait.
    pub(crate) params: Arc<str>,
}

impl Updated {
    /// What is said beside the resource goes on where it is short. A longer URI than can be watched is nobody's.
    fn read(params: &Exact) -> Option<Self> {
        let uri = params.value().get("uri")?.as_str()?;
        if uri.len() > URI_BYTES_MAX {
            return None;
        }
        if params.text().len() > UPDATE_BYTES_MAX {
            return Some(Self::of(uri));
        }
        Some(Self {
            uri: uri.into(),
            params: params.text().into(),
        })
    }

    /// One that nobody told of.
    pub(crate) fn of(uri: &str) -> Self {
        Self {
            uri: uri.into(),
            params: json!({ "uri": uri }).to_string().into(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct News {
    changes: watch::Sender<Changes>,
    updated: broadcast::Sender<Updated>,
    pub(crate) pages: Pages,
    /// A question was refused in the middle of a call, since nobody can tell whom it belongs to.
    unplaced: watch::Sender<bool>,
}

impl News {
    pub(crate) fn new() -> Self {
        Self {
            changes: watch::Sender::default(),
            updated: broadcast::Sender::new(UPDATES_MAX),
            pages: Pages::default(),
            unplaced: watch::Sender::new(false),
        }
    }

    /// A question is refused, since no call in flight takes one.
    pub(crate) fn question_refused(&self) {
        self.unplaced
            .send_if_modified(|was| !std::mem::replace(was, true));
    }

    /// Waits for the first question that is refused; for ever where none is.
    pub(crate) async fn refused_question(&self) {
        let mut unplaced = self.unplaced.subscribe();
        let _ = unplaced.wait_for(|is_refused| *is_refused).await;
    }

    /// Takes a notification; those that are no news are passed over.
    pub(crate) fn take(&self, name: &str, params: &Exact) {
        match name {
            method::TOOLS_CHANGED => self.changes.send_modify(|seen| seen.tools += 1),
            method::RESOURCES_CHANGED => self.changes.send_modify(|seen| seen.resources += 1),
            method::PROMPTS_CHANGED => self.changes.send_modify(|seen| seen.prompts += 1),
            method::RESOURCE_UPDATED => {
                if let Some(updated) = Updated::read(params) {
                    self.update(updated);
                }
            }
            method::ELICITATION_COMPLETE => self.pages.done(params),
            _ => {}
        }
    }

    pub(crate) fn update(&self, updated: Updated) {
        // Nobody may be listening.
        let _ = self.updated.send(updated);
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

    pub(crate) fn updated(&self) -> broadcast::Receiver<Updated> {
        self.updated.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_update_goes_on_as_it_was_told_where_that_is_short() {
        let news = News::new();
        let mut updated = news.updated();
        let long = "x".repeat(UPDATE_BYTES_MAX);
        for params in [
            json!({ "n": 1, "uri": "a:b" }),
            json!({ "uri": "a:c", "long": long }),
            json!({ "uri": "u".repeat(URI_BYTES_MAX + 1) }),
            json!({ "uri": 1 }),
            Value::Null,
        ] {
            news.take(method::RESOURCE_UPDATED, &params.into());
        }
        let told: Vec<String> = std::iter::from_fn(|| updated.try_recv().ok())
            .map(|told| told.params.to_string())
            .collect();
        assert_eq!(told, [r#"{"n":1,"uri":"a:b"}"#, r#"{"uri":"a:c"}"#]);
    }
}
