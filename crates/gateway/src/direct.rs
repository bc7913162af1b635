//! Modern requests whose client hears nothing but the answer: they are answered in place, without the tasks and
//! channels in which `rmcp` serves a request. A request that is odd in any way is left to `rmcp`, which refuses it
//! in the words of the protocol.

use crate::admit::{refuse, sole};
use crate::answer::{Answer, Fitted};
use crate::ask;
use crate::auth::Principal;
use crate::call::Caller;
use crate::interrupt::{Closing, Watch};
use crate::raw::Content;
use crate::server::{Shared, answered, trace_headers};
use axum::response::{IntoResponse as _, Response};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use onecall_mcp::{Era, RequestId, Revision, RpcError, code, meta, method, name};
use onecall_runtime::calls::{CallerToken, Takes};
use onecall_runtime::publish::Target;
use rmcp::model::{ClientCapabilities, Implementation};
use serde::Deserialize as _;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A request that can be answered in place.
pub(crate) struct Direct {
    id: RequestId,
    content: Content,
    caller: Caller,
    /// Cancelled when nobody waits for the answer any more.
    gone: CancellationToken,
}

impl Direct {
    /// Takes a request for itself if all that the protocol wants of it is there; else gives it back.
    pub(crate) fn take(
        shared: &Shared,
        parts: &Parts,
        id: RequestId,
        content: Content,
    ) -> Result<Self, (RequestId, Content)> {
        let declared = declared(&parts.headers, &content);
        let Some(declared) = declared else {
            return Err((id, content));
        };
        let gone = CancellationToken::new();
        let principal = Principal::of(&parts.extensions);
        let capabilities = meta::get(&content.params, meta::CLIENT_CAPABILITIES).cloned();
        let caller = Caller {
            era: Era::Modern,
            client: principal.name().map(str::to_owned),
            client_name: ask::client_name(meta::get(&content.params, meta::CLIENT_INFO)),
            principal,
            token: parts.extensions.get::<CallerToken>().cloned(),
            trace: trace_headers(parts),
            progress: None,
            peer: None,
            watch: Watch {
                notified: None,
                request: gone.clone(),
                closing: Closing::Cancels,
                stop: shared.stop.clone(),
                leaving: shared.leaving.clone(),
            },
            takes: Takes {
                forms: ask::shows_forms(Some(&declared)),
                pages: ask::shows_pages(Some(&declared)),
            },
            capabilities: capabilities.unwrap_or_default(),
            takes_tasks: declared.supports_tasks(),
            takes_links: true,
            log_level: None,
        };
        Ok(Self {
            id,
            content,
            caller,
            gone,
        })
    }

    pub(crate) async fn answer(self, shared: &Arc<Shared>) -> Response {
        let Self {
            id,
            content,
            caller,
            gone,
        } = self;
        let _gone = gone.drop_guard();
        let answer = if is_passed_through(shared, &content) {
            answered(shared, content, &caller).await
        } else {
            // A run is started and, when its client goes, cancelled by somebody who outlives the connection.
            let shared = Arc::clone(shared);
            let answering = async move { answered(&shared, content, &caller).await };
            let done = tokio::spawn(answering).await;
            done.unwrap_or_else(|_| Err(RpcError::new(code::INTERNAL, "a fault of ours")))
        };
        match answer {
            Ok(answer) => success(&id, answer, &shared.server_info),
            Err(error) => refuse(status_of(&error), Some(&id), &error),
        }
    }
}

/// What the client declared, if the request is as it should be and wants nothing but its answer.
fn declared(headers: &HeaderMap, content: &Content) -> Option<ClientCapabilities> {
    let is_modern = |version: &str| version == Revision::MODERN.as_str();
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let takes = header(ACCEPT)?;
    let is_taken = takes.contains(JSON) && takes.contains(EVENTS);
    if !is_taken || !header(CONTENT_TYPE)?.starts_with(JSON) {
        return None;
    }
    if !sole(headers, name::PROTOCOL_VERSION)
        .ok()?
        .is_some_and(is_modern)
    {
        return None;
    }
    let of = |key| meta::get(&content.params, key);
    if !of(meta::PROTOCOL_VERSION)?.as_str().is_some_and(is_modern) {
        return None;
    }
    if let Some(info) = of(meta::CLIENT_INFO) {
        Implementation::deserialize(info).ok()?;
    }
    let hears_more = of(meta::PROGRESS_TOKEN).is_some() || of(meta::LOG_LEVEL).is_some();
    let declared = ClientCapabilities::deserialize(of(meta::CLIENT_CAPABILITIES)?).ok()?;
    (!hears_more && content.method != method::SET_LEVEL).then_some(declared)
}

/// A call that goes on to a backend ends with the connection that made it.
fn is_passed_through(shared: &Shared, content: &Content) -> bool {
    let tool = content.params.get("name").and_then(Value::as_str);
    let published = shared.runtime.published();
    let published = published.borrow();
    let tool = tool.and_then(|tool| published.find(tool));
    content.method == method::TOOLS_CALL
        && tool.is_some_and(|tool| matches!(tool.target, Target::Backend { .. }))
}

/// A result as it goes over the wire.
#[derive(Serialize)]
struct Success<'a> {
    jsonrpc: &'static str,
    id: Value,
    result: &'a Fitted,
}

fn success(id: &RequestId, answer: Answer, server: &Value) -> Response {
    let body = answer.fitted(Era::Modern, server).and_then(|result| {
        let message = Success {
            jsonrpc: "2.0",
            id: id.to_value(),
            result: &result,
        };
        let failed = |error: serde_json::Error| RpcError::new(code::INTERNAL, error.to_string());
        serde_json::to_vec(&message).map_err(failed)
    });
    match body {
        Ok(body) => ([(CONTENT_TYPE, JSON)], body).into_response(),
        Err(error) => refuse(StatusCode::OK, Some(id), &error),
    }
}

/// Statuses that the protocol gives to errors of its own; others are told in the body alone.
fn status_of(error: &RpcError) -> StatusCode {
    match error.code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::UNSUPPORTED_VERSION | code::MISSING_CAPABILITY | code::HEADER_MISMATCH => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}
