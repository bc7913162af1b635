//! A connection in the hands of `hyper`: for one message, whose answer it writes, or for all the rest.

use crate::front::Front;
use crate::guarded::guarded;
use crate::plain::Line;
use axum::response::Response;
use futures::future::BoxFuture;
use http::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::Service;
use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite as _;
use tokio_util::sync::WaitForCancellationFuture;

/// What is handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// One message of so many bytes.
    One(u64),
    Rest,
}

/// Has a message answered, or all that follow. Whether the connection can take another one.
pub(crate) async fn serve(
    line: &mut Line,
    part: Part,
    http: &http1::Builder,
    front: &Front,
    stopped: Pin<&mut WaitForCancellationFuture<'_>>,
) -> bool {
    let is_told = Arc::new(AtomicBool::new(false));
    let service = Answering {
        front: front.clone(),
        is_told: Arc::clone(&is_told),
    };
    let mut handed = Handed {
        line,
        part,
        is_told,
        is_flushed: false,
        is_given_back: false,
    };
    let mut serving = pin!(http.serve_connection(&mut handed, service));
    tokio::select! {
        // What has begun is in its hands before it hears that it is to end.
        biased;
        // A client that goes away in the middle of something is no fault of ours.
        _ = &mut serving => {}
        () = stopped => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
            return false;
        }
    }
    handed.is_given_back
}

/// A connection as `hyper` sees it: it ends where the message that was handed over is answered.
struct Handed<'a> {
    line: &'a mut Line,
    part: Part,
    /// The last piece of the answer was given to `hyper`.
    is_told: Arc<AtomicBool>,
    /// And has left.
    is_flushed: bool,
    is_given_back: bool,
}

impl Read for Handed<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let wanted = match this.part {
            Part::One(0) if this.is_flushed => {
                this.is_given_back = true;
                return Poll::Ready(Ok(()));
            }
            // A client that goes away is told of as an end.
            Part::One(0) => return this.line.poll_gone(context).map(Ok),
            Part::One(left) => usize::try_from(left).unwrap_or(usize::MAX),
            Part::Rest => usize::MAX,
        };
        let wanted = wanted.min(buffer.remaining());
        if this.line.unread.len() < wanted {
            match this.line.poll_fill(context, wanted) {
                Poll::Ready(Ok(1..)) => {}
                _ if !this.line.unread.is_empty() => {}
                Poll::Ready(end) => return Poll::Ready(end.map(drop)),
                Poll::Pending => return Poll::Pending,
            }
        }
        let unread = &mut this.line.unread;
        let piece = wanted.min(unread.len());
        buffer.put_slice(&unread[..piece]);
        unread.drain(..piece);
        if unread.is_empty() {
            // `hyper` has a buffer of its own.
            *unread = Vec::new();
        }
        if let Part::One(left) = &mut this.part {
            *left -= piece as u64;
        }
        Poll::Ready(Ok(()))
    }
}

impl Write for Handed<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.is_flushed = false;
        Pin::new(&mut this.line.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.is_flushed = false;
        Pin::new(&mut this.line.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.line.stream.is_write_vectored()
    }

    /// Called once all that was written is on its way.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.line.stream).poll_flush(context);
        let is_over = matches!(flushed, Poll::Ready(Ok(()))) && this.is_told.load(Ordering::SeqCst);
        if is_over && !this.is_flushed {
            this.is_flushed = true;
            // Only another read gives the connection back.
            context.waker().wake_by_ref();
        }
        flushed
    }

    /// One that is given back stays open.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_given_back {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.line.stream).poll_shutdown(context)
    }
}

/// The router, as one connection has it.
struct Answering {
    front: Front,
    is_told: Arc<AtomicBool>,
}

impl Service<Request<Incoming>> for Answering {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (front, is_told) = (self.front.clone(), Arc::clone(&self.is_told));
        Box::pin(async move {
            let response = front.route(request).await;
            Ok(response.map(|body| guarded(body, Telling(is_told))))
        })
    }
}

/// Tells of the end of an answer.
struct Telling(Arc<AtomicBool>);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
