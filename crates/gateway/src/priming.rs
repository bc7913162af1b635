//! The empty event with which `rmcp` opens every stream, so that a client may take the stream up again: revisions
//! before 2025-11-25 do not know it, and their clients take it for a message that cannot be read.

use crate::heads::EVENTS;
use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use hyper::body::{Frame, SizeHint};
use onecall_mcp::Revision;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Whether clients of this revision know the event.
pub(crate) fn is_known(revision: Revision) -> bool {
    revision >= Revision::V2025_11_25
}

/// The same answer, without such events where it is a stream.
pub(crate) fn without(response: Response) -> Response {
    if !is_stream(&response) {
        return response;
    }
    response.map(|body| Body::new(Unprimed(body)))
}

pub(crate) fn is_stream(response: &Response) -> bool {
    let is_stream = |kind: &HeaderValue| kind.as_bytes().starts_with(EVENTS.as_bytes());
    response.headers().get(CONTENT_TYPE).is_some_and(is_stream)
}

/// The body of a stream; `rmcp` gives each event in a frame of its own.
struct Unprimed(Body);

impl HttpBody for Unprimed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            let polled = Pin::new(&mut self.0).poll_frame(context);
            let Poll::Ready(Some(Ok(frame))) = &polled else {
                return polled;
            };
            if !frame.data_ref().is_some_and(|event| is_priming(event)) {
                return polled;
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// An event without data that tells how soon to come back. Comments, which keep a stream open, say neither.
fn is_priming(event: &[u8]) -> bool {
    let mut tells_retry = false;
    for line in event.split(|byte| *byte == b'\n') {
        match line.strip_prefix(b"data:") {
            Some(data) if !data.trim_ascii().is_empty() => return false,
            _ => tells_retry |= line.starts_with(b"retry:"),
        }
    }
    tells_retry
}

#[cfg(test)]
mod tests {
    use super::is_priming;

    #[test]
    fn only_an_empty_event_is_one() {
        assert!(is_priming(b"data: \nid: 0\nretry: 3000\n\n"));
        assert!(is_priming(b"data:\nretry: 3000\n\n"));
        assert!(!is_priming(b"data: {}\nid: 0\nretry: 3000\n\n"));
        assert!(!is_priming(b"data: {\"retry\": 1}\n\n"));
        assert!(!is_priming(b":\n\n"));
    }
}
