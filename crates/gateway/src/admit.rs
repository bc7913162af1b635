//! Which messages are taken in over HTTP, by size, syntax and the headers that mirror them, and how many at a time.
//! What is refused is answered here, as JSON; the rest of the protocol is up to `rmcp`.

use crate::batch;
use crate::direct::{Around, Direct};
use crate::guarded::guarded;
use crate::handshake::{Negotiated, is_modern};
use crate::heads::JSON;
use crate::limits::REFUSAL_BYTES_MAX;
use crate::listen::TaskIds;
use crate::mirrors::check_mirrors;
use crate::raw::{self, Content, RawRequest};
use crate::refused;
use crate::server::Shared;
use crate::stdio::refusal;
use crate::told::Told;
use crate::{passing, typed, unread};
use axum::BoxError;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use onecall_mcp::{
    Incoming, RequestId, Revision, RpcError, Written, code, id_of, method, name, parse_call,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::task_tracker::TaskTrackerToken;

/// What messages of one face are taken in by.
pub(crate) struct Intake {
    pub(crate) shared: Arc<Shared>,
    pub(crate) body_bytes_max: usize,
    /// How long a body may take to arrive.
    pub(crate) patience: Duration,
    /// Room for requests, of all faces together.
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) requests_max: usize,
}

impl Intake {
    /// A place among the requests that are worked on; listeners, which only hear of changes, take none.
    fn place(&self, method: &str) -> Result<Option<OwnedSemaphorePermit>, RpcError> {
        if self.shared.stop.is_cancelled() {
            return Err(leaving());
        }
        if method == method::LISTEN {
            return Ok(None);
        }
        let place = Arc::clone(&self.requests).try_acquire_owned();
        place.map(Some).map_err(|_| {
            let max = self.requests_max;
            let text = format!("{max} requests are being worked on already; try again in a moment");
            refused::log("too many requests at once", Some(("limits.requests", max)));
            RpcError::new(code::INTERNAL, text)
        })
    }
}

/// Reads the message of a POST, refuses what is none, and puts raw requests beside their stand-ins.
pub(crate) async fn message(
    State(intake): State<Arc<Intake>>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() == Method::GET && intake.shared.stop.is_cancelled() {
        return Told::busy(None, &leaving()).into();
    }
    if request.method() != Method::POST {
        return unread::shown(&intake.shared.unread, next.run(request).await).await;
    }
    // A request counts as being answered until the last byte of its answer is on its way.
    let answering = intake.shared.answering.token();
    let mut place = None;
    let response = admitted(&intake, request, &mut place, next).await;
    counted(response, answering, place)
}

/// An answer that counts as being given until its last byte is on its way.
pub(crate) fn counted(
    response: Response,
    answering: TaskTrackerToken,
    place: Option<OwnedSemaphorePermit>,
) -> Response {
    response.map(|body| guarded(body, (answering, place)))
}

async fn admitted(
    intake: &Intake,
    request: Request,
    place: &mut Option<OwnedSemaphorePermit>,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = match read(intake, body).await {
        Ok(bytes) => bytes,
        Err(refusal) => return refusal,
    };
    if batch::is_one(&bytes) {
        return batch::answer(intake, parts, &bytes, next).await;
    }
    let around = Around::of(&parts);
    let usual = around.and_then(|around| Direct::usual(&intake.shared, &around, &bytes));
    if let Some(direct) = usual {
        let Given {
            told,
            counted,
            place,
        } = Box::pin(answer(intake, direct)).await;
        return self::counted(told.into(), counted, place);
    }
    single(intake, parts, bytes, place, next).await
}

/// Reads the body of a message, or says why it is not taken.
pub(crate) async fn read<B>(intake: &Intake, body: B) -> Result<Bytes, Response>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>>,
{
    let body_bytes_max = intake.body_bytes_max;
    // A client that says how much it will send need not send it.
    if body.size_hint().lower() > body_bytes_max as u64 {
        return Err(too_long(body_bytes_max));
    }
    let arriving = Limited::new(body, body_bytes_max).collect();
    match tokio::time::timeout(intake.patience, arriving).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => Err(broken_off(&*error, body_bytes_max)),
        Err(_) => Err(too_slow().into()),
    }
}

/// An answer, and what counts as being worked on until its last byte is on its way.
pub(crate) struct Given {
    pub(crate) told: Told,
    pub(crate) counted: TaskTrackerToken,
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

/// Answers a request in place, if there is room for it.
pub(crate) async fn answer(intake: &Intake, direct: Box<Direct>) -> Given {
    let counted = intake.shared.answering.token();
    let (told, place) = match intake.place(method::TOOLS_CALL) {
        Ok(place) => (direct.answer(&intake.shared).await, place),
        Err(error) => (Told::busy(Some(direct.id()), &error), None),
    };
    Given {
        told,
        counted,
        place,
    }
}

/// Takes in one message.
pub(crate) async fn single(
    intake: &Intake,
    mut parts: Parts,
    bytes: Bytes,
    place: &mut Option<OwnedSemaphorePermit>,
    next: Next,
) -> Response {
    let shared = &intake.shared;
    let (incoming, written) = match parsed(&bytes) {
        Ok(read) => read,
        Err(refusal) => return refusal.into(),
    };
    if let Incoming::Request { id, method, .. } = &incoming {
        match intake.place(method) {
            Ok(taken) => *place = taken,
            Err(error) => return Told::busy(Some(id), &error).into(),
        }
    }
    if let Err((id, error)) = check_shape(&incoming, &parts.headers, &bytes) {
        return refuse(StatusCode::BAD_REQUEST, id, &error);
    }
    let mut negotiated = http::Extensions::new();
    let tool = tool_of_modern(&incoming, &parts.headers);
    let body = match incoming {
        Incoming::Request { id, method, .. } if raw::is_reserved(&method) => {
            let error = RpcError::method_not_found(&method);
            return refuse(StatusCode::NOT_FOUND, Some(&id), &error);
        }
        Incoming::Request { id, method, params } if raw::is_raw(&method) => {
            let content = Box::new(Content {
                method,
                params,
                written,
            });
            if let Err(error) = check_mirrors(shared, &parts.headers, &content) {
                return refuse(StatusCode::BAD_REQUEST, Some(&id), &error);
            }
            let (id, content) = match Direct::take(shared, &parts, id, content) {
                Ok(direct) => return Box::pin(direct.answer(shared)).await.into(),
                Err(left) => left,
            };
            let stand_in = raw::stand_in(&id, &content.params).to_string();
            parts.extensions.insert(RawRequest::new(*content));
            if parts.headers.contains_key(name::METHOD) {
                let stands_in = HeaderValue::from_static(raw::METHOD);
                parts.headers.insert(name::METHOD, stands_in);
            }
            Bytes::from(stand_in)
        }
        Incoming::Request { method, params, .. } if method == method::INITIALIZE => {
            let asked = params["protocolVersion"].as_str();
            negotiated.insert(Negotiated(Revision::negotiate(asked)));
            bytes
        }
        Incoming::Request { method, params, .. } if method == method::LISTEN => {
            parts.extensions.insert(TaskIds::of(&params));
            bytes
        }
        Incoming::Response {
            id: Some(id),
            outcome,
        } => Bytes::from(shared.unread.answer(&id, &outcome).to_string()),
        Incoming::Request { .. } | Incoming::Notification { .. } | Incoming::Response { .. } => {
            bytes
        }
    };
    parts
        .headers
        .insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    // Unknown before and after the call: a tool that comes or goes meanwhile has its own answer.
    let unknown = tool.filter(|tool| passing::is_unknown(shared, tool));
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    let mut response = unread::shown(&shared.unread, response).await;
    mark_unknown(shared, unknown.as_deref(), &mut response);
    response.extensions_mut().extend(negotiated);
    response
}

/// The tool that a modern request calls.
fn tool_of_modern(incoming: &Incoming, headers: &HeaderMap) -> Option<String> {
    match incoming {
        Incoming::Request { method, params, .. }
            if method == method::TOOLS_CALL && is_modern(headers) =>
        {
            params["name"].as_str().map(str::to_owned)
        }
        Incoming::Request { .. } | Incoming::Notification { .. } | Incoming::Response { .. } => {
            None
        }
    }
}

/// A call of an unknown tool has no other answer than an error, which `rmcp` gives with status 200.
fn mark_unknown(shared: &Shared, tool: Option<&str>, response: &mut Response) {
    let is_answered = is_json(response) && response.status() == StatusCode::OK;
    if is_answered && tool.is_some_and(|tool| passing::is_unknown(shared, tool)) {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
}

/// The message, or the refusal of what is none.
fn parsed(bytes: &[u8]) -> Result<(Incoming, Written), Told> {
    parse_call(bytes).map_err(|fault| {
        let id = id_of(bytes);
        Told::refusal(StatusCode::BAD_REQUEST, id.as_ref(), &refusal(&fault))
    })
}

/// Whether `rmcp` can read the message, or what it is given in the message's stead.
fn check_shape<'a>(
    incoming: &'a Incoming,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Result<(), (Option<&'a RequestId>, RpcError)> {
    match incoming {
        // To a modern client it is no method at all, whatever its parameters are.
        Incoming::Request { method, .. }
            if typed::is_of_handshake(method) && is_modern(headers) =>
        {
            Ok(())
        }
        Incoming::Request { id, method, params } if raw::is_raw(method) => {
            let meta = params.get("_meta");
            if meta.is_some_and(|meta| !meta.is_object()) {
                let error = RpcError::invalid_params("`_meta` must be an object");
                return Err((Some(id), error));
            }
            Ok(())
        }
        Incoming::Request { id, .. } => {
            let read = typed::read(bytes).map(drop);
            read.map_err(|error| (Some(id), error))
        }
        // The types of `rmcp` see nothing of it.
        Incoming::Response { id: Some(_), .. } => Ok(()),
        Incoming::Notification { .. } | Incoming::Response { .. } => {
            let read = typed::read(bytes).map(drop);
            read.map_err(|error| (None, error))
        }
    }
}

fn leaving() -> RpcError {
    RpcError::new(
        code::INTERNAL,
        "the server is leaving; try again in a moment",
    )
}

fn broken_off(error: &(dyn std::error::Error + 'static), body_bytes_max: usize) -> Response {
    if error.is::<LengthLimitError>() {
        return too_long(body_bytes_max);
    }
    cut_off().into()
}

/// The body of a message ended before it was whole.
pub(crate) fn cut_off() -> Told {
    let error = RpcError::new(code::INVALID_REQUEST, "the body could not be read");
    Told::refusal(StatusCode::BAD_REQUEST, None, &error)
}

/// The body of a message took too long.
pub(crate) fn too_slow() -> Told {
    let error = RpcError::new(code::INVALID_REQUEST, "the body did not arrive in time");
    Told::refusal(StatusCode::REQUEST_TIMEOUT, None, &error)
}

fn too_long(body_bytes_max: usize) -> Response {
    let text = format!("the body is longer than {body_bytes_max} bytes");
    refused::log(
        "the body is too long",
        Some(("limits.body_bytes", body_bytes_max)),
    );
    let error = RpcError::new(code::INVALID_REQUEST, text);
    refuse(StatusCode::PAYLOAD_TOO_LARGE, None, &error)
}

/// A refusal in plain text, as `rmcp` gives some, says the same as JSON.
pub(crate) async fn in_json(response: Response) -> Response {
    let is_refusal = response.status().is_client_error() || response.status().is_server_error();
    if !is_refusal || is_json(&response) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = match Limited::new(body, REFUSAL_BYTES_MAX).collect().await {
        Ok(text) => String::from_utf8_lossy(&text.to_bytes()).into_owned(),
        Err(_) => String::new(),
    };
    let error = RpcError::new(code::INVALID_REQUEST, text);
    let (own, body) = refuse(parts.status, None, &error).into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.extend(own.headers);
    Response::from_parts(parts, body)
}

pub(crate) fn is_json(response: &Response) -> bool {
    let is_json = |kind: &HeaderValue| kind.as_bytes().starts_with(JSON.as_bytes());
    response.headers().get(CONTENT_TYPE).is_some_and(is_json)
}

pub(crate) fn refuse(status: StatusCode, id: Option<&RequestId>, error: &RpcError) -> Response {
    Told::refusal(status, id, error).into()
}
