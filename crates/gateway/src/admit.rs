//! What is let in over HTTP: callers by `Host` and `Origin`, messages by size, syntax and the headers that mirror
//! them. Everything refused is answered here, as JSON, and to people as a page; the rest of the protocol is up to
//! `rmcp`.

use crate::answer_page;
use crate::auth::Access;
use crate::batch;
use crate::direct::Direct;
use crate::front::Unusual;
use crate::handshake::{Negotiated, is_modern};
use crate::http::{Mount, PROBES};
use crate::limits::{NAME_LOGGED_MAX, REFUSAL_BYTES_MAX, RETRY_AFTER_SECONDS};
use crate::listen::TaskIds;
use crate::options::HttpOptions;
use crate::raw::{self, Content, RawRequest};
use crate::server::Shared;
use crate::stdio::refusal;
use crate::{typed, unread};
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Frame, SizeHint};
use onecall_mcp::{
    Incoming, RequestId, Revision, RpcError, code, decode_value, method, mirrored, name,
    param_header_values, parse_call, response_error,
};
use serde_json::Value;
use serde_json::value::RawValue;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Who may speak to this face.
#[derive(Debug)]
pub(crate) struct Gate {
    is_loopback: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Where people reach the servers, as `https://name`.
    public: Vec<String>,
}

impl Gate {
    pub(crate) fn new(options: &HttpOptions, address: SocketAddr, mounts: &[Mount]) -> Self {
        let lower = |text: &String| text.to_ascii_lowercase();
        let mut hosts: Vec<String> = options.allowed_hosts.iter().map(lower).collect();
        hosts.push(lower(&options.host));
        let accesses = || mounts.iter().filter_map(|mount| mount.access.as_ref());
        let known = accesses().filter_map(Access::public_host);
        hosts.extend(known.map(|host| lower(&host)));
        let mut origins: Vec<String> = options.allowed_origins.iter().map(lower).collect();
        let public = options.public_url.as_ref();
        if let Some(url) = public.and_then(|url| url.parse::<Uri>().ok())
            && let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority())
        {
            hosts.push(authority.host().to_ascii_lowercase());
            origins.push(lower(&format!("{scheme}://{authority}")));
        }
        Self {
            is_loopback: address.ip().is_loopback(),
            hosts,
            origins,
            public: accesses().filter_map(Access::public_origin).collect(),
        }
    }

    /// A rebinding attack needs a name, so an address is fine where other machines may call at all.
    fn allows_host(&self, authority: &Authority) -> bool {
        let host = authority.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_named =
            |allowed: &String| *allowed == host || allowed.as_str() == authority.as_str();
        is_loopback(bare)
            || (!self.is_loopback && bare.parse::<IpAddr>().is_ok())
            || self.hosts.iter().any(is_named)
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Ok(uri) = origin.parse::<Uri>() else {
            return false;
        };
        let host = uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        uri.scheme().is_some() && is_loopback(bare)
    }

    /// A form is sent by the page it stands on, wherever that is reached: under the host that was let in, or under
    /// the public name of the server where a proxy before it changes the host.
    fn is_own_page(&self, origin: &str, host: &Authority) -> bool {
        let origin = origin.to_ascii_lowercase();
        let Ok(uri) = origin.parse::<Uri>() else {
            return false;
        };
        let (Some(scheme), Some(sender)) = (uri.scheme_str(), uri.authority()) else {
            return false;
        };
        let default = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        let place = |authority: &Authority| {
            let port = authority.port_u16().unwrap_or(default);
            (authority.host().to_ascii_lowercase(), port)
        };
        place(sender) == place(host) || self.public.contains(&origin)
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Refuses callers that a web page of somebody else may have sent. Probes come by whatever name or address their
/// sender knows, and learn nothing.
pub(crate) async fn caller(
    State(gate): State<Arc<Gate>>,
    request: Request,
    next: Next,
) -> Response {
    if PROBES.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let matched = request.extensions().get::<MatchedPath>();
    let is_page = matched.is_some_and(|path| path.as_str().ends_with(answer_page::ROUTE));
    let Err((status, text)) = check_caller(&gate, &request, is_page) else {
        return next.run(request).await;
    };
    log_refusal(request.headers(), text);
    if is_page {
        return answer_page::not_let_in(status, text);
    }
    refuse(status, None, &RpcError::new(code::INVALID_REQUEST, text))
}

fn log_refusal(headers: &HeaderMap, reason: &str) {
    let named = |header| {
        let value = headers.get(header).and_then(|own| own.to_str().ok());
        let value = value.unwrap_or_default().chars();
        value.take(NAME_LOGGED_MAX).collect::<String>()
    };
    let (host, origin) = (named(HOST), named(ORIGIN));
    tracing::warn!(reason, host, origin, "a request was refused");
}

pub(crate) fn check_caller(
    gate: &Gate,
    request: &Request,
    is_page: bool,
) -> Result<(), (StatusCode, &'static str)> {
    let headers = request.headers();
    let host = match sole(headers, HOST.as_str()) {
        Err(()) => return Err((StatusCode::BAD_REQUEST, "more than one `Host` header")),
        Ok(Some(host)) => host.parse::<Authority>().ok(),
        Ok(None) => request.uri().authority().cloned(),
    };
    let Some(host) = host else {
        return Err((
            StatusCode::BAD_REQUEST,
            "the `Host` header is missing or malformed",
        ));
    };
    if !gate.allows_host(&host) {
        return Err((StatusCode::FORBIDDEN, "this `Host` is not allowed"));
    }
    match sole(headers, ORIGIN.as_str()) {
        Ok(None) => Ok(()),
        Ok(Some(origin)) if gate.allows_origin(origin) => Ok(()),
        Ok(Some(origin)) if is_page && gate.is_own_page(origin, &host) => Ok(()),
        Ok(Some(_)) | Err(()) => Err((StatusCode::FORBIDDEN, "this `Origin` is not allowed")),
    }
}

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
        return busy(None, &leaving());
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
    response.map(|body| {
        Body::new(Answering {
            body,
            _counted: answering,
            _place: place,
        })
    })
}

/// The body of an answer that counts as being given while it lasts.
struct Answering {
    body: Body,
    _counted: TaskTrackerToken,
    _place: Option<OwnedSemaphorePermit>,
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
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
    let is_looked_at = parts.extensions.get::<Unusual>().is_some();
    if !is_looked_at && let Some(direct) = Direct::usual(&intake.shared, &parts, &bytes) {
        return answer(intake, direct).await;
    }
    single(intake, parts, bytes, place, next).await
}

/// Reads the body of a message, or says why it is not taken.
pub(crate) async fn read(intake: &Intake, body: Body) -> Result<Bytes, Response> {
    let body_bytes_max = intake.body_bytes_max;
    // A client that says how much it will send need not send it.
    if body.size_hint().lower() > body_bytes_max as u64 {
        return Err(too_long(body_bytes_max));
    }
    let arriving = Limited::new(body, body_bytes_max).collect();
    match tokio::time::timeout(intake.patience, arriving).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => Err(broken_off(&*error, body_bytes_max)),
        Err(_) => Err(too_slow()),
    }
}

/// Answers a request in place, if there is room for it.
pub(crate) async fn answer(intake: &Intake, direct: Direct) -> Response {
    let answering = intake.shared.answering.token();
    match intake.place(method::TOOLS_CALL) {
        Ok(place) => {
            let response = Box::pin(direct.answer(&intake.shared)).await;
            counted(response, answering, place)
        }
        Err(error) => busy(Some(direct.id()), &error),
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
    let (incoming, arguments) = match parse_call(&bytes) {
        Ok(read) => read,
        Err(fault) => return refuse(StatusCode::BAD_REQUEST, None, &refusal(&fault)),
    };
    if let Incoming::Request { id, method, .. } = &incoming {
        match intake.place(method) {
            Ok(taken) => *place = taken,
            Err(error) => return busy(Some(id), &error),
        }
    }
    if let Err((id, error)) = check_shape(&incoming, &parts.headers, &bytes) {
        return refuse(StatusCode::BAD_REQUEST, id, &error);
    }
    let mut negotiated = None;
    let body = match incoming {
        Incoming::Request { id, method, .. } if raw::is_reserved(&method) => {
            let error = RpcError::method_not_found(&method);
            return refuse(StatusCode::NOT_FOUND, Some(&id), &error);
        }
        Incoming::Request { id, method, params } if raw::is_raw(&method) => {
            let content = Box::new(Content {
                method,
                params,
                arguments,
            });
            if let Err(error) = check_mirrors(shared, &parts.headers, &content) {
                return refuse(StatusCode::BAD_REQUEST, Some(&id), &error);
            }
            let (id, content) = match Direct::take(shared, &parts, id, content) {
                Ok(direct) => return Box::pin(direct.answer(shared)).await,
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
            negotiated = Some(Negotiated(Revision::negotiate(asked)));
            bytes
        }
        Incoming::Request { method, params, .. } if method == method::LISTEN => {
            parts.extensions.insert(TaskIds::of(&params));
            bytes
        }
        Incoming::Request { .. } | Incoming::Notification { .. } | Incoming::Response { .. } => {
            bytes
        }
    };
    parts
        .headers
        .insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    let mut response = unread::shown(&shared.unread, response).await;
    if let Some(negotiated) = negotiated {
        response.extensions_mut().insert(negotiated);
    }
    response
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

fn busy(id: Option<&RequestId>, error: &RpcError) -> Response {
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, id, error);
    let soon = HeaderValue::from(RETRY_AFTER_SECONDS);
    response.headers_mut().insert(RETRY_AFTER, soon);
    response
}

fn broken_off(error: &(dyn std::error::Error + 'static), body_bytes_max: usize) -> Response {
    if error.is::<LengthLimitError>() {
        return too_long(body_bytes_max);
    }
    let error = RpcError::new(code::INVALID_REQUEST, "the body could not be read");
    refuse(StatusCode::BAD_REQUEST, None, &error)
}

fn too_slow() -> Response {
    let error = RpcError::new(code::INVALID_REQUEST, "the body did not arrive in time");
    refuse(StatusCode::REQUEST_TIMEOUT, None, &error)
}

fn too_long(body_bytes_max: usize) -> Response {
    let text = format!("the body is longer than {body_bytes_max} bytes");
    let error = RpcError::new(code::INVALID_REQUEST, text);
    refuse(StatusCode::PAYLOAD_TOO_LARGE, None, &error)
}

/// Modern requests repeat parts of their body in headers, on which middleboxes route; the two must agree.
fn check_mirrors(shared: &Shared, headers: &HeaderMap, content: &Content) -> Result<(), RpcError> {
    let Content {
        method,
        params,
        arguments,
    } = content;
    let version = one(headers, name::PROTOCOL_VERSION)?;
    if version.is_none_or(|version| version < Revision::MODERN.as_str()) {
        return Ok(());
    }
    agree(headers, name::METHOD, Some(method))?;
    let subject = mirrored(method, params);
    if let Some(wanted) = subject {
        agree(headers, name::NAME, Some(wanted))?;
    }
    match subject {
        Some(tool) if method == method::TOOLS_CALL => {
            check_repeated(shared, headers, tool, arguments.as_deref())
        }
        Some(_) | None => Ok(()),
    }
}

/// Parameters of a tool that its schema wants repeated.
pub(crate) fn check_repeated(
    shared: &Shared,
    headers: &HeaderMap,
    tool: &str,
    arguments: Option<&RawValue>,
) -> Result<(), RpcError> {
    let published = shared.runtime.current();
    let Some(tool) = published.find(tool) else {
        return Ok(());
    };
    if tool.param_headers.is_empty() {
        return Ok(());
    }
    // What cannot be read holds nothing that could be repeated.
    let arguments = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let arguments: Value = arguments.unwrap_or_default();
    let wanted = param_header_values(&tool.param_headers, &arguments);
    for param in &tool.param_headers {
        let wanted = wanted.iter().find(|(name, _)| *name == param.header);
        let decoded = wanted.and_then(|(_, value)| decode_value(value));
        agree(headers, &param.header, decoded.as_deref())?;
    }
    Ok(())
}

pub(crate) fn agree(
    headers: &HeaderMap,
    header: &str,
    wanted: Option<&str>,
) -> Result<(), RpcError> {
    let fault = |fault: &str| {
        let text = format!("header `{header}` {fault}");
        Err(RpcError::new(code::HEADER_MISMATCH, text))
    };
    match (wanted, one(headers, header)?) {
        (None, None) => Ok(()),
        (Some(_), None) => fault("is missing"),
        (None, Some(_)) => fault("has no counterpart in the body"),
        (Some(wanted), Some(given)) => match decode_value(given) {
            None => fault("is not valid base64"),
            Some(decoded) if decoded == wanted => Ok(()),
            Some(_) => fault("differs from the body"),
        },
    }
}

fn one<'a>(headers: &'a HeaderMap, header: &str) -> Result<Option<&'a str>, RpcError> {
    sole(headers, header).map_err(|()| {
        let text = format!("header `{header}` is given more than once or is not text");
        RpcError::new(code::HEADER_MISMATCH, text)
    })
}

/// The only value of a header. Intermediaries resolve duplicates differently, so there may be none.
pub(crate) fn sole<'a>(headers: &'a HeaderMap, header: &str) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(header).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(());
    }
    first.to_str().map(Some).map_err(|_| ())
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
    let is_json = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/json");
    response.headers().get(CONTENT_TYPE).is_some_and(is_json)
}

pub(crate) fn refuse(status: StatusCode, id: Option<&RequestId>, error: &RpcError) -> Response {
    let body = response_error(id, error).to_string();
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}
