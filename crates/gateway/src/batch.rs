//! Batches, which revision 2025-03-26 alone lets clients send: each message goes its own way, and the answers come on
//! one stream, each as soon as it is there.

use crate::admit::{Intake, counted, refuse, single};
use crate::handshake::Negotiated;
use crate::heads::EVENTS;
use crate::limits::{BATCH_MAX, REFUSAL_BYTES_MAX};
use crate::priming::is_stream;
use axum::body::{Body, BodyDataStream};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use onecall_mcp::{Incoming, Revision, RpcError, code, method, parse};
use serde_json::value::RawValue;

/// Whether a body holds a list of messages, sound or not.
pub(crate) fn is_one(text: &[u8]) -> bool {
    text.trim_ascii_start().first() == Some(&b'[')
}

/// The messages of a batch, if a client of this revision may send it.
pub(crate) fn messages(
    text: &[u8],
    revision: Option<Revision>,
) -> Result<Vec<Box<RawValue>>, RpcError> {
    let invalid = |text: &str| RpcError::new(code::INVALID_REQUEST, text);
    if revision != Some(Revision::V2025_03_26) {
        let text = "batches belong to revision 2025-03-26 alone; send each message by itself";
        return Err(invalid(text));
    }
    let messages: Vec<Box<RawValue>> = serde_json::from_slice(text)
        .map_err(|error| RpcError::new(code::PARSE, format!("not a JSON text: {error}")))?;
    if messages.is_empty() {
        return Err(invalid("the batch is empty"));
    }
    if messages.len() > BATCH_MAX {
        let text = format!("the batch has more than {BATCH_MAX} messages");
        return Err(invalid(&text));
    }
    let opens = |message: &RawValue| {
        let parsed = parse(message.get().as_bytes());
        matches!(parsed, Ok(Incoming::Request { method, .. }) if method == method::INITIALIZE)
    };
    if messages.iter().any(|message| opens(message)) {
        return Err(invalid("`initialize` cannot be part of a batch"));
    }
    Ok(messages)
}

/// Answers the requests of a batch.
pub(crate) async fn answer(intake: &Intake, parts: Parts, bytes: &Bytes, next: Next) -> Response {
    let revision = parts.extensions.get().map(|Negotiated(revision)| *revision);
    let messages = match messages(bytes, revision) {
        Ok(messages) => messages,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, None, &error),
    };
    let mut answers = Vec::with_capacity(messages.len());
    // One after the other: what is cancelled must have begun. None waits here for its answer.
    for message in messages {
        let body = Bytes::from(message.get().to_owned());
        let mut place = None;
        let response = single(intake, parts.clone(), body, &mut place, next.clone()).await;
        if response.status() != StatusCode::ACCEPTED {
            let answering = intake.shared.answering.token();
            answers.push(stream(counted(response, answering, place)).await);
        }
    }
    if answers.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    let body = Body::from_stream(futures::stream::select_all(answers));
    let head = [(CONTENT_TYPE, EVENTS), (CACHE_CONTROL, "no-cache")];
    (head, body).into_response()
}

/// An answer as events; one that came at once is a single event.
async fn stream(response: Response) -> BodyDataStream {
    let is_stream = is_stream(&response);
    let body = response.into_body();
    if is_stream {
        return body.into_data_stream();
    }
    let read = axum::body::to_bytes(body, REFUSAL_BYTES_MAX).await;
    let text = read.unwrap_or_default();
    let event = [b"data: ", &*text, b"\n\n"].concat();
    Body::from(event).into_data_stream()
}
