//! Bodies: one that tells when it is sent, reading with a limit, and reading what nobody wants.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use hyper::body::{Body, Frame, SizeHint};

use super::pool::{Cause, Streaming};
use crate::error::RequestError;
use crate::limits::{REST_BYTES_MAX, REST_PATIENCE};

/// A whole body. The flag is set when the connection takes it: before that the server cannot have
/// acted. Copies of it, one of which is sent after the other, share the flag.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    data: Option<Bytes>,
    sent: Arc<AtomicBool>,
}

impl Outgoing {
    pub(crate) fn new(data: Bytes, sent: Arc<AtomicBool>) -> Self {
        Self {
            data: (!data.is_empty()).then_some(data),
            sent,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.data.as_deref().unwrap_or_default()
    }

    pub(super) fn is_sent(&self) -> bool {
        self.sent.load(Ordering::SeqCst)
    }

    pub(super) fn tell_sent(&self) {
        self.sent.store(true, Ordering::SeqCst);
    }

    /// What was sent was not acted upon.
    pub(super) fn tell_unsent(&self) {
        self.sent.store(false, Ordering::SeqCst);
    }

    pub(super) fn sent(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.sent)
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.tell_sent();
        Poll::Ready(self.data.take().map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.data.as_ref().map_or(0, |data| data.len() as u64))
    }
}

/// Reads a body to its end; stops reading at the limit.
pub(crate) async fn read_limited(
    mut body: Streaming,
    limit: usize,
) -> Result<Vec<u8>, RequestError> {
    let over = || RequestError::Limit(format!("more than {limit} bytes"));
    if body.bytes_at_least() > limit as u64 {
        return Err(over());
    }
    let mut whole = Vec::new();
    while let Some(data) = body.next().await {
        let data = data.map_err(|error| RequestError::Lost(broken(&error)))?;
        if whole.len() + data.len() > limit {
            return Err(over());
        }
        // A piece that is kept would cost the connection its read buffer.
        whole.extend_from_slice(&data);
    }
    Ok(whole)
}

/// Reads the rest of a body that nobody wants, so that its connection can be used again. Nobody waits for it: what has
/// not come yet is read in the background, and what is long or does not end soon is given up with its connection.
pub(crate) fn finish(mut body: Streaming) {
    let mut left = REST_BYTES_MAX;
    match read_rest(&mut body, &mut left).now_or_never() {
        Some(()) => {}
        None => drop(tokio::spawn(async move {
            let rest = read_rest(&mut body, &mut left);
            let _ = tokio::time::timeout(REST_PATIENCE, rest).await;
        })),
    }
}

async fn read_rest(body: &mut Streaming, left: &mut usize) {
    while let Some(Ok(data)) = body.next().await {
        match left.checked_sub(data.len()) {
            Some(less) => *left = less,
            None => return,
        }
    }
}

pub(crate) fn broken(error: &Cause) -> String {
    format!("the connection broke before the answer was whole: {error}")
}
