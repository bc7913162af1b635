//! Modern requests whose client hears nothing but the answer: they are answered in place, without the tasks and
//! channels in which `rmcp` serves a request. A request that is odd in any way is left to `rmcp`, which refuses it
//! in the words of the protocol.

use crate::admit::refuse;
use crate::answer::{Answer, ServerInfo};
use crate::auth::Principal;
use crate::call::{Asked, Caller, requested};
use crate::interrupt::{Closing, Watch};
use crate::known::Declared;
use crate::mirrors::{agree, check_repeated, sole};
use crate::passing::Carried;
use crate::raw::Content;
use crate::server::{self, Shared, is_passed_on, trace_headers};
use axum::response::{IntoResponse as _, Response};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use onecall_mcp::{
    Era, RequestId, Revision, RpcError, ToolCall, code, meta, method, mirrored, name,
};
use onecall_runtime::calls::CallerToken;
use onecall_runtime::publish::Target;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Room for what stands around a result, and an id of usual length.
const ENVELOPE_BYTES: usize = 64;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A request that can be answered in place.
pub(crate) struct Direct {
    id: RequestId,
    wants: Wants,
    caller: Caller,
    /// Cancelled when nobody waits for the answer any more.
    gone: CancellationToken,
}

enum Wants {
    /// A call that was read already.
    Call(Box<Asked>),
    Other(Box<Content>),
}

impl Direct {
    /// Takes the usual call of a modern client without reading more than the envelope. `None` for everything else,
    /// and for whatever is to be refused.
    pub(crate) fn usual(shared: &Shared, parts: &Parts, text: &[u8]) -> Option<Self> {
        let headers = &parts.headers;
        if !is_plain(headers) {
            return None;
        }
        let call = ToolCall::read(text)?;
        let declared = shared.known.read(call.client)?;
        agree(headers, name::METHOD, Some(method::TOOLS_CALL)).ok()?;
        agree(headers, name::NAME, Some(&call.name)).ok()?;
        check_repeated(shared, headers, &call.name, call.arguments).ok()?;
        let mut meta = call.meta;
        meta.retain(|key, _| is_passed_on(key));
        let asked = Asked {
            request: requested(&call.name, call.arguments, meta).ok()?,
            carried: Carried::NOTHING,
        };
        Some(Self::new(
            shared,
            parts,
            call.id,
            Wants::Call(Box::new(asked)),
            &declared,
        ))
    }

    /// Takes a request for itself if all that the protocol wants of it is there; else gives it back.
    pub(crate) fn take(
        shared: &Shared,
        parts: &Parts,
        id: RequestId,
        content: Box<Content>,
    ) -> Result<Self, (RequestId, Box<Content>)> {
        match declared(&parts.headers, &content) {
            Some(declared) => Ok(Self::new(
                shared,
                parts,
                id,
                Wants::Other(content),
                &declared,
            )),
            None => Err((id, content)),
        }
    }

    fn new(
        shared: &Shared,
        parts: &Parts,
        id: RequestId,
        wants: Wants,
        declared: &Declared,
    ) -> Self {
        let gone = CancellationToken::new();
        let principal = Principal::of(&parts.extensions);
        let caller = Caller {
            era: Era::Modern,
            client: principal.name().map(str::to_owned),
            client_name: declared.name.clone(),
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
            takes: declared.takes,
            capabilities: declared.capabilities.clone(),
            takes_tasks: declared.takes_tasks,
            takes_links: true,
            log_level: None,
        };
        Self {
            id,
            wants,
            caller,
            gone,
        }
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.id
    }

    pub(crate) async fn answer(self, shared: &Arc<Shared>) -> Response {
        let Self {
            id,
            wants,
            caller,
            gone,
        } = self;
        let _gone = gone.drop_guard();
        let answer = if is_passed_through(shared, &wants) {
            answered(shared, wants, &caller).await
        } else {
            // A run is started and, when its client goes, cancelled by somebody who outlives the connection.
            let shared = Arc::clone(shared);
            let answering = async move { answered(&shared, wants, &caller).await };
            let done = tokio::spawn(answering).await;
            done.unwrap_or_else(|_| Err(RpcError::new(code::INTERNAL, "a fault of ours")))
        };
        match answer {
            Ok(answer) => success(&id, answer, &shared.server_info),
            Err(error) => refuse(status_of(&error), Some(&id), &error),
        }
    }
}

async fn answered(shared: &Shared, wants: Wants, caller: &Caller) -> Result<Answer, RpcError> {
    match wants {
        Wants::Call(asked) => {
            let _answering = shared.answering.token();
            server::called(shared, Ok(*asked), caller).await
        }
        Wants::Other(content) => server::answered(shared, *content, caller).await,
    }
}

/// The headers are those of a modern request that can be answered with JSON.
fn is_plain(headers: &HeaderMap) -> bool {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_taken = |takes: &str| takes.contains(JSON) && takes.contains(EVENTS);
    let is_modern = |version: &str| version == Revision::MODERN.as_str();
    let version = sole(headers, name::PROTOCOL_VERSION).ok().flatten();
    header(ACCEPT).is_some_and(is_taken)
        && header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with(JSON))
        && version.is_some_and(is_modern)
}

/// What the client declared, if the request is as it should be and wants nothing but its answer.
fn declared(headers: &HeaderMap, content: &Content) -> Option<Declared> {
    let of = |key| meta::get(&content.params, key);
    let version = of(meta::PROTOCOL_VERSION).and_then(Value::as_str);
    if !is_plain(headers) || version != Some(Revision::MODERN.as_str()) {
        return None;
    }
    let hears_more = of(meta::PROGRESS_TOKEN).is_some() || of(meta::LOG_LEVEL).is_some();
    if hears_more || content.method == method::SET_LEVEL {
        return None;
    }
    Declared::read(of(meta::CLIENT_INFO), of(meta::CLIENT_CAPABILITIES)?)
}

/// A call that goes on to a backend ends with the connection that made it.
fn is_passed_through(shared: &Shared, wants: &Wants) -> bool {
    let tool = match wants {
        Wants::Call(asked) => Some(asked.request.tool.as_str()),
        Wants::Other(content) => mirrored(&content.method, &content.params)
            .filter(|_| content.method == method::TOOLS_CALL),
    };
    let published = shared.runtime.current();
    let tool = tool.and_then(|tool| published.find(tool));
    tool.is_some_and(|tool| matches!(tool.target, Target::Backend { .. }))
}

fn success(id: &RequestId, answer: Answer, server: &ServerInfo) -> Response {
    match answer.fitted(Era::Modern, server) {
        Ok(result) => {
            let result = result.text();
            let mut body = String::with_capacity(result.len() + ENVELOPE_BYTES);
            body.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
            body.push_str(&id.to_value().to_string());
            body.push_str(",\"result\":");
            body.push_str(&result);
            body.push('}');
            ([(CONTENT_TYPE, JSON)], body.into_bytes()).into_response()
        }
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
