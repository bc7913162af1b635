//! Legacy HTTP sessions: ids, the GET stream, and their end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::response::Response;
use futures::StreamExt as _;
use http::{HeaderMap, StatusCode};
use onecall_mcp::name;
use serde_json::json;

use super::{empty, events, one, plain};
use crate::connection::Connection;
use crate::limits::SESSIONS_MAX;
use crate::server::{Demo, lock};

/// Open sessions, oldest first.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: Mutex<VecDeque<(String, Arc<Connection>)>>,
}

impl Sessions {
    pub(super) fn open(&self, connection: Arc<Connection>) -> String {
        let id = crate::ledger::hex(&rand::random::<[u8; 16]>());
        let mut open = lock(&self.open);
        if open.len() >= SESSIONS_MAX {
            open.pop_front();
        }
        open.push_back((id.clone(), connection));
        id
    }

    pub(super) fn find(&self, headers: &HeaderMap) -> Option<Arc<Connection>> {
        let wanted = one(headers, name::SESSION)?;
        let open = lock(&self.open);
        open.iter()
            .find(|(id, _)| id == wanted)
            .map(|(_, connection)| Arc::clone(connection))
    }

    /// The GET stream: changes.
    pub(super) fn stream(&self, headers: &HeaderMap, demo: &Demo) -> Response {
        if one(headers, name::SESSION).is_none() {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "POST a message");
        }
        let Some(session) = self.find(headers) else {
            return plain(StatusCode::NOT_FOUND, "the session is not known");
        };
        let heard = (demo.changes(), session);
        let changes = futures::stream::unfold(heard, |(mut changes, session)| async {
            loop {
                let change = Demo::next(&mut changes).await?;
                if session.hears(&change) {
                    return Some((change.notification(json!({})), (changes, session)));
                }
            }
        });
        events(changes.boxed())
    }

    pub(super) fn end(&self, headers: &HeaderMap) -> Response {
        let Some(session) = self.find(headers) else {
            return plain(StatusCode::NOT_FOUND, "the session is not known");
        };
        session.cancel_all();
        lock(&self.open).retain(|(_, open)| !Arc::ptr_eq(open, &session));
        empty(StatusCode::OK)
    }
}
