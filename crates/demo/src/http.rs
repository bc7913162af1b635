//! The demo over Streamable HTTP at `/mcp`: modern requests without state, legacy sessions beside
//! them. Answers are JSON, and become an event stream when something is to be said before.

mod session;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use futures::StreamExt as _;
use http::{HeaderMap, Method, StatusCode, header};
use onecall_mcp::{Era, Incoming, RequestId, RpcError, code, meta, method, name};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::session::Sessions;
use crate::connection::{Connection, Exchange};
use crate::limits::{OUTBOUND_MAX, REQUEST_BYTES_MAX};
use crate::server::{Demo, Options, ServeError, modern_revision};

/// Serves `http://address/mcp` until `stop`; `ready` hears the address, since port 0 is allowed.
pub async fn serve_http(
    options: Options,
    address: SocketAddr,
    stop: CancellationToken,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let demo = Arc::new(Demo::new(&options)?);
    let bind = |source| ServeError::Bind { address, source };
    let listener = tokio::net::TcpListener::bind(address).await.map_err(bind)?;
    ready(listener.local_addr().map_err(bind)?);
    let service = Arc::new(Service {
        demo,
        sessions: Sessions::default(),
    });
    let router = Router::new().route("/mcp", any(handle)).with_state(service);
    let serving =
        axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    // Open event streams would hold a graceful end for ever.
    tokio::select! {
        ended = serving => ended.map_err(|source| ServeError::Serve { source }),
        () = stop.cancelled() => Ok(()),
    }
}

struct Service {
    demo: Arc<Demo>,
    sessions: Sessions,
}

async fn handle(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    if !origin_is_local(&headers) {
        return plain(StatusCode::FORBIDDEN, "this origin may not call here");
    }
    match parts.method {
        Method::POST => {}
        Method::GET => return service.sessions.stream(&headers, &service.demo),
        Method::DELETE => return service.sessions.end(&headers),
        _ => return plain(StatusCode::METHOD_NOT_ALLOWED, "POST a message"),
    }
    let Ok(bytes) = axum::body::to_bytes(body, REQUEST_BYTES_MAX).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long");
    };
    match onecall_mcp::parse(&bytes) {
        Ok(Incoming::Request { id, method, params }) => {
            let is_modern = meta::get(&params, meta::PROTOCOL_VERSION).is_some()
                || one(&headers, name::PROTOCOL_VERSION) == Some("2026-07-28");
            let call = Call {
                id,
                name: method,
                params,
            };
            if is_modern {
                modern(&service, &headers, call).await
            } else {
                legacy(&service, &headers, call).await
            }
        }
        Ok(Incoming::Notification { method, params }) => {
            if let Some(session) = service.sessions.find(&headers) {
                session.notified(&method, &params);
            }
            empty(StatusCode::ACCEPTED)
        }
        Ok(Incoming::Response { id, outcome }) => {
            let answer = outcome
                .ok()
                .and_then(|raw| serde_json::from_str(raw.get()).ok());
            if let Some(session) = service.sessions.find(&headers) {
                session.answered(
                    id.as_ref(),
                    answer.unwrap_or_else(crate::connection::refused),
                );
            }
            empty(StatusCode::ACCEPTED)
        }
        Err(fault) => {
            let error = RpcError::new(code::PARSE, fault.to_string());
            refusal(StatusCode::BAD_REQUEST, None, &error)
        }
    }
}

struct Call {
    id: RequestId,
    name: String,
    params: Value,
}

async fn modern(service: &Service, headers: &HeaderMap, call: Call) -> Response {
    let checked = modern_revision(&call.params).and_then(|revision| {
        onecall_mcp::check_mirrored(&call.name, &call.params, |name| one(headers, name))?;
        check_params(service, headers, &call)?;
        Ok(revision)
    });
    let revision = match checked {
        Ok(revision) => revision,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, Some(&call.id), &error),
    };
    let capabilities = meta::get(&call.params, meta::CLIENT_CAPABILITIES).cloned();
    let cancel = CancellationToken::new();
    // Closing the response is the cancellation.
    let guard = Some(cancel.clone().drop_guard());
    let demo = Arc::clone(&service.demo);
    let (outbound, queue) = mpsc::channel(OUTBOUND_MAX);
    tokio::spawn(async move {
        let exchange = Exchange {
            id: call.id,
            revision,
            capabilities: capabilities.unwrap_or_default(),
            outbound: outbound.clone(),
            cancel,
            connection: None,
        };
        if let Some(answer) = demo.answer(&call.name, &call.params, &exchange).await {
            let _ = outbound.send(answer).await;
        }
    });
    respond(queue, guard, Era::Modern).await
}

/// Compares the parameters that a tool mirrors into headers.
fn check_params(service: &Service, headers: &HeaderMap, call: &Call) -> Result<(), RpcError> {
    if call.name != method::TOOLS_CALL {
        return Ok(());
    }
    let wanted = call
        .params
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(tool) = service.demo.listed(wanted) else {
        return Ok(());
    };
    let annotated = tool.input_schema().map(onecall_mcp::param_headers);
    let annotated = annotated.and_then(Result::ok).unwrap_or_default();
    let arguments = call.params.get("arguments").unwrap_or(&Value::Null);
    for (header, value) in onecall_mcp::param_header_values(&annotated, arguments) {
        if one(headers, header) != Some(value.as_str()) {
            let message = format!("header `{header}` is missing or differs from the body");
            return Err(RpcError::new(code::HEADER_MISMATCH, message));
        }
    }
    Ok(())
}

async fn legacy(service: &Service, headers: &HeaderMap, call: Call) -> Response {
    if call.name == method::INITIALIZE {
        let connection = Arc::new(Connection::default());
        let result = service.demo.initialize(&call.params, &connection);
        let session = service.sessions.open(connection);
        let mut response = json(StatusCode::OK, &onecall_mcp::response(&call.id, &result));
        if let Ok(value) = session.parse() {
            response.headers_mut().insert(name::SESSION, value);
        }
        return response;
    }
    if one(headers, name::SESSION).is_none() {
        let error = RpcError::new(
            code::INVALID_REQUEST,
            "open a session with `initialize` first",
        );
        return refusal(StatusCode::BAD_REQUEST, Some(&call.id), &error);
    }
    let session = service.sessions.find(headers);
    let Some((session, handshake)) = session.and_then(|s| s.handshake().map(|h| (s, h))) else {
        let error = RpcError::new(code::INVALID_REQUEST, "the session is not known");
        return refusal(StatusCode::NOT_FOUND, Some(&call.id), &error);
    };
    let (outbound, queue) = mpsc::channel(OUTBOUND_MAX);
    let demo = Arc::clone(&service.demo);
    let cancel = session.begin(&call.id);
    tokio::spawn(async move {
        let exchange = Exchange {
            id: call.id.clone(),
            revision: handshake.revision,
            capabilities: handshake.capabilities,
            outbound: outbound.clone(),
            cancel,
            connection: Some(&session),
        };
        if let Some(answer) = demo.answer(&call.name, &call.params, &exchange).await {
            let _ = outbound.send(answer).await;
        }
        session.end(&call.id);
    });
    respond(queue, None, Era::Legacy).await
}

/// One JSON object where the answer comes first, else a stream of events.
async fn respond(mut queue: mpsc::Receiver<Value>, guard: Option<DropGuard>, era: Era) -> Response {
    let Some(first) = queue.recv().await else {
        return empty(StatusCode::ACCEPTED);
    };
    if first.get("method").is_none() {
        let status = match first.pointer("/error/code").and_then(Value::as_i64) {
            Some(code::METHOD_NOT_FOUND) if era == Era::Modern => StatusCode::NOT_FOUND,
            Some(code::MISSING_CAPABILITY) if era == Era::Modern => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        return json(status, &first);
    }
    let rest = futures::stream::unfold((queue, guard), |(mut queue, guard)| async {
        queue.recv().await.map(|message| (message, (queue, guard)))
    });
    events(futures::stream::once(async { first }).chain(rest))
}

fn events(messages: impl futures::Stream<Item = Value> + Send + 'static) -> Response {
    let chunks = messages.map(|message| {
        Ok::<_, std::convert::Infallible>(onecall_mcp::encode_event(&message.to_string()))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("text/event-stream"),
    );
    headers.insert("x-accel-buffering", header::HeaderValue::from_static("no"));
    response
}

fn json(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    let content_type = header::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}

fn refusal(status: StatusCode, id: Option<&RequestId>, error: &RpcError) -> Response {
    json(status, &onecall_mcp::response_error(id, error))
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Requests of a browser must come from a page on this machine.
fn origin_is_local(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let Some(uri) = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.parse::<http::Uri>().ok())
    else {
        return false;
    };
    matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"))
}
