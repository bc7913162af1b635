//! The opening over HTTP: probe with a modern request, fall back to the handshake.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use onecall_mcp::{Era, Incoming, Probe, RequestId, Revision, judge_probe, method, name};
use serde_json::{Value, json};

use super::{Endpoint, HttpWire, finish, is_event_stream, read_json, stream};
use crate::error::{ConnectError, RequestError, seconds};
use crate::ids;
use crate::limits::HTTP_PROBE_PATIENCE;
use crate::negotiate::{Agreement, Opening, legacy, modern, parse_result};

/// What the opening came to.
pub(crate) enum Opened {
    Wire(HttpWire, Agreement),
    /// The server takes no POST here; it may be one of the two-endpoint transport.
    MaybeSse(ConnectError),
}

pub(crate) async fn open(
    endpoint: Endpoint,
    opening: &Opening,
    era: Option<Era>,
) -> Result<Opened, ConnectError> {
    if era != Some(Era::Legacy) {
        match discover(&endpoint, opening).await? {
            Discovered::Modern(revision, result) => {
                let agreement = modern(revision, &result);
                let wire = HttpWire::new(endpoint, opening.clone(), revision, None);
                return Ok(Opened::Wire(wire, agreement));
            }
            // No handshake follows that would tell what is wrong.
            Discovered::Legacy if era == Some(Era::Modern) => {
                return Err(ConnectError::NoCommonRevision);
            }
            Discovered::Unanswered(reason) if era == Some(Era::Modern) => return Err(reason),
            Discovered::Legacy | Discovered::Unanswered(_) => {}
        }
    }
    let (agreement, session) = match initialize(&endpoint, opening).await {
        Ok(opened) => opened,
        Err(error @ (RequestError::NotSent(_) | RequestError::Malformed(_))) => {
            return Ok(Opened::MaybeSse(error.of_connect(method::INITIALIZE)));
        }
        Err(error) => return Err(error.of_connect(method::INITIALIZE)),
    };
    let wire = HttpWire::new(endpoint, opening.clone(), agreement.revision, session);
    Ok(Opened::Wire(wire.listening().await, agreement))
}

/// What the probe found.
pub(super) enum Discovered {
    /// The revision and the result.
    Modern(Revision, Value),
    Legacy,
    /// Nothing came back that says which era is spoken: there may be no server, or one of old that knows no such
    /// request.
    Unanswered(ConnectError),
}

pub(super) async fn discover(
    endpoint: &Endpoint,
    opening: &Opening,
) -> Result<Discovered, ConnectError> {
    let params = opening.discover_params();
    let mut headers = endpoint.post_headers();
    let version = HeaderValue::from_static(Revision::MODERN.as_str());
    headers.insert(name::PROTOCOL_VERSION, version);
    headers.insert(name::METHOD, HeaderValue::from_static(method::DISCOVER));
    let probing = ask(endpoint, headers, method::DISCOVER, &params);
    let Ok(answer) = tokio::time::timeout(HTTP_PROBE_PATIENCE, probing).await else {
        // It neither answers nor refuses; servers that know the method do.
        let reason = format!("no answer within {}", seconds(HTTP_PROBE_PATIENCE));
        return Ok(Discovered::Unanswered(ConnectError::Ended(reason)));
    };
    let (probe, result) = match answer {
        Ok((_, result)) => (judge_probe(Ok(&result)), result),
        Err(RequestError::Rpc(error)) => (judge_probe(Err(&error)), Value::Null),
        Err(RequestError::Denied(status)) => return Err(ConnectError::Denied(status)),
        Err(error) => {
            let reason = error.of_connect(method::DISCOVER);
            return Ok(Discovered::Unanswered(reason));
        }
    };
    match probe {
        Probe::Modern(revision) => Ok(Discovered::Modern(revision, result)),
        Probe::Legacy => Ok(Discovered::Legacy),
        Probe::NoCommon => Err(ConnectError::NoCommonRevision),
    }
}

/// The handshake: what was agreed, and the session if the server opened one.
pub(super) async fn initialize(
    endpoint: &Endpoint,
    opening: &Opening,
) -> Result<(Agreement, Option<Arc<str>>), RequestError> {
    let params = opening.initialize_params();
    let (headers, result) = ask(
        endpoint,
        endpoint.post_headers(),
        method::INITIALIZE,
        &params,
    )
    .await?;
    let agreement = legacy(&result).map_err(|error| RequestError::NotSent(error.to_string()))?;
    let session = headers.get(name::SESSION).cloned();
    let mut headers = endpoint.post_headers();
    let version = HeaderValue::from_static(agreement.revision.as_str());
    headers.insert(name::PROTOCOL_VERSION, version);
    if let Some(session) = &session {
        headers.insert(name::SESSION, session.clone());
    }
    let ready = onecall_mcp::notification(method::INITIALIZED, &json!({})).to_string();
    let taken = endpoint
        .post(headers, Bytes::from(ready), Arc::default())
        .await?;
    finish(taken.into_body());
    let session = session.and_then(|session| session.to_str().ok().map(Arc::from));
    Ok((agreement, session))
}

/// One request with these headers alone; its response headers and its result.
pub(super) async fn ask(
    endpoint: &Endpoint,
    headers: HeaderMap,
    method: &str,
    params: &Value,
) -> Result<(HeaderMap, Value), RequestError> {
    let number = ids::random();
    let id = RequestId::Number(number);
    let body = onecall_mcp::request(&id, method, params).to_string();
    let response = endpoint
        .post(headers, Bytes::from(body), Arc::default())
        .await?;
    let headers = response.headers().clone();
    let raw = if is_event_stream(&response) {
        let mut events = stream::Events::new(response.into_body(), Some(number));
        loop {
            match events.next().await? {
                Some(Incoming::Response {
                    id: Some(answered),
                    outcome,
                }) if answered == id => {
                    events.finish();
                    break outcome.map_err(RequestError::Rpc)?;
                }
                Some(_) => {}
                None => return Err(RequestError::Lost(events.unanswered())),
            }
        }
    } else {
        read_json(response, number).await?
    };
    Ok((headers, parse_result(&raw)?))
}
