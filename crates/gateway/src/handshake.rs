//! Sessions of handshake clients over HTTP: how many there may be, whose each is, and how they end.
//! What is said within a session is up to `rmcp`.

mod line;
mod lost;
mod stream;
mod table;

#[cfg(test)]
mod tests;

use crate::admit::{in_json, refuse};
use crate::auth::Principal;
use crate::limits::SESSION_RETRY_AFTER_SECONDS;
use crate::mirrors::sole;
use crate::options::HttpOptions;
use crate::priming;
use crate::refused;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use onecall_mcp::{Revision, RpcError, code, name};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use table::Table;

/// The sessions of one face.
#[derive(Debug)]
pub(crate) struct Handshakes {
    pub(crate) table: Arc<Table>,
    max: usize,
    opened: Mutex<HashMap<String, Opened>>,
}

/// A session, as far as it matters before its requests are read.
#[derive(Debug)]
struct Opened {
    owner: Principal,
    revision: Revision,
}

/// The revision that a session speaks; put beside the answer to `initialize`, and beside every request afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Negotiated(pub(crate) Revision);

impl Handshakes {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        Self {
            table: Arc::new(Table::new(options.session_idle, options.sessions_max)),
            max: options.sessions_max,
            opened: Mutex::default(),
        }
    }

    /// How many are open, whether their clients have said that they are ready or not.
    pub(crate) fn count(&self) -> usize {
        self.table.len()
    }

    fn is_full(&self) -> bool {
        self.count() >= self.max
    }

    /// The revision of a session; to everybody but its owner it does not exist.
    fn revision(&self, session: &str, principal: &Principal) -> Option<Revision> {
        let revision = self
            .lock()
            .get(session)
            .filter(|opened| opened.owner == *principal)
            .map(|opened| opened.revision)?;
        self.table.contains(session).then_some(revision)
    }

    /// Whether a request that wants to read a stream on can. Where it cannot `rmcp` would give an empty stream, and
    /// 404 would tell the client that its session is gone.
    fn can_go_on(&self, session: &str, request: &Request) -> bool {
        if request.method() != Method::GET {
            return true;
        }
        match sole(request.headers(), name::LAST_EVENT) {
            Ok(None) => true,
            Ok(Some(place)) => self.table.has_place(session, place),
            Err(()) => false,
        }
    }

    /// Remembers whose a fresh session is, and forgets those that have ended.
    fn opened(&self, session: &str, fresh: Opened) {
        let mut opened = self.lock();
        opened.insert(session.to_owned(), fresh);
        if opened.len() > self.table.len().saturating_mul(2).max(self.max / 8) {
            opened.retain(|session, _| self.table.contains(session));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a request into its session, or into a new one while there is room.
pub(crate) async fn session(
    State(handshakes): State<Arc<Handshakes>>,
    mut request: Request,
    next: Next,
) -> Response {
    // It chooses the era, and of two each reader would take another.
    if sole(request.headers(), name::PROTOCOL_VERSION).is_err() {
        let text = format!(
            "header `{}` is given more than once or is not text",
            name::PROTOCOL_VERSION
        );
        let error = RpcError::new(code::HEADER_MISMATCH, text);
        return refuse(StatusCode::BAD_REQUEST, None, &error);
    }
    if is_modern(request.headers()) {
        // The modern era has no sessions; a session named there must not be reached either.
        request.headers_mut().remove(name::SESSION);
        return in_json(next.run(request).await).await;
    }
    let Ok(session) = sole(request.headers(), name::SESSION).map(|own| own.map(str::to_owned))
    else {
        let text = format!("more than one `{}` header", name::SESSION);
        return refusal(StatusCode::BAD_REQUEST, text);
    };
    let owner = Principal::of(request.extensions());
    let mut revision = Revision::LEGACY;
    match session {
        Some(session) => {
            let Some(known) = handshakes.revision(&session, &owner) else {
                let text = "there is no such session; open one with `initialize`";
                return refusal(StatusCode::NOT_FOUND, text);
            };
            if !handshakes.can_go_on(&session, &request) {
                let text = "no stream of this session can be read on from this `Last-Event-ID`";
                return refusal(StatusCode::BAD_REQUEST, text);
            }
            revision = known;
            request.extensions_mut().insert(Negotiated(known));
        }
        // Whoever sends it slowly, or together with others, is refused when the session is made.
        None if request.method() == Method::POST && handshakes.is_full() => {
            return full(handshakes.max);
        }
        None => {}
    }
    let is_end = request.method() == Method::DELETE;
    let Some(response) = table::unless_full(next.run(request)).await else {
        return full(handshakes.max);
    };
    let response = in_json(response).await;
    if let Some(Negotiated(negotiated)) = response.extensions().get() {
        revision = *negotiated;
    }
    if let Some(session) = response.headers().get(name::SESSION)
        && let Ok(session) = session.to_str()
    {
        let fresh = Opened { owner, revision };
        handshakes.opened(session, fresh);
    }
    // Clients take 200 and 204 as a session that has ended, and complain about 202.
    if is_end && response.status() == StatusCode::ACCEPTED {
        return StatusCode::NO_CONTENT.into_response();
    }
    if priming::is_known(revision) {
        return response;
    }
    priming::without(response)
}

pub(crate) fn is_modern(headers: &HeaderMap) -> bool {
    let version = headers.get(name::PROTOCOL_VERSION);
    version.is_some_and(|version| version.as_bytes() >= Revision::MODERN.as_str().as_bytes())
}

fn refusal(status: StatusCode, text: impl Into<String>) -> Response {
    refuse(status, None, &RpcError::new(code::INVALID_REQUEST, text))
}

fn full(max: usize) -> Response {
    let text = format!("there are {max} sessions already; close one or come back later");
    refused::log("too many sessions", Some(("limits.sessions", max)));
    let error = RpcError::new(code::INTERNAL, text);
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, None, &error);
    let later = HeaderValue::from(SESSION_RETRY_AFTER_SECONDS);
    response.headers_mut().insert(RETRY_AFTER, later);
    response
}
