//! The stream to the other side of a link. Whoever has a line writes it at once, on its own thread, as long as the
//! stream takes it; a line that was begun and all that comes behind it is written by a task when there is room again.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use crate::limits::OUTLET_BYTES_KEPT;

pub(super) struct Outlet {
    stream: Mutex<Stream>,
    /// A line was begun that the stream did not take as a whole.
    begun: Notify,
}

struct Stream {
    /// None once it is closed.
    writer: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    /// What is to be written before anything else, and how much of it was.
    begun: Vec<u8>,
    written: usize,
}

/// The end that writes when there is room. The stream is closed when it is dropped.
#[derive(Debug)]
pub(super) struct Tap(Arc<Outlet>);

/// A stream with nothing begun in it.
pub(super) struct Idle<'a> {
    stream: MutexGuard<'a, Stream>,
    begun: &'a Notify,
}

pub(super) fn open(writer: impl AsyncWrite + Send + Unpin + 'static) -> (Arc<Outlet>, Tap) {
    let outlet = Arc::new(Outlet {
        stream: Mutex::new(Stream {
            writer: Some(Box::new(writer)),
            begun: Vec::new(),
            written: 0,
        }),
        begun: Notify::new(),
    });
    (Arc::clone(&outlet), Tap(outlet))
}

impl Outlet {
    /// The stream, if a line can be written into it now.
    pub(super) fn idle(&self) -> Option<Idle<'_>> {
        let stream = self.lock();
        (stream.writer.is_some() && stream.begun.is_empty()).then_some(Idle {
            stream,
            begun: &self.begun,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_open = self.lock().writer.is_some();
        formatter
            .debug_struct("Outlet")
            .field("is_open", &is_open)
            .finish_non_exhaustive()
    }
}

impl Idle<'_> {
    /// Writes a line, or as much of it as the stream takes; the rest follows by itself. False where it takes nothing.
    pub(super) fn write(mut self, line: &str) -> bool {
        self.stream.add(line);
        let polled = self
            .stream
            .poll_written(&mut Context::from_waker(Waker::noop()));
        if self.stream.written == 0 && !self.stream.begun.is_empty() {
            self.stream.begun.clear();
            return false;
        }
        if !matches!(polled, Poll::Ready(Ok(()))) {
            // The task waits for room in its own name, and finds out what is wrong.
            self.begun.notify_one();
        }
        true
    }
}

impl Tap {
    /// Waits until a line was begun that must be brought to its end.
    pub(super) async fn begun(&self) {
        self.0.begun.notified().await;
    }

    /// Puts lines behind what was begun.
    pub(super) fn add<'a>(&self, lines: impl Iterator<Item = &'a str>) {
        let mut stream = self.0.lock();
        lines.for_each(|line| stream.add(line));
    }

    /// Waits until all that was begun is written.
    pub(super) async fn written(&self) -> io::Result<()> {
        poll_fn(|context| self.0.lock().poll_written(context)).await
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let mut stream = self.0.lock();
        stream.writer = None;
        stream.begun = Vec::new();
    }
}

impl Stream {
    fn add(&mut self, line: &str) {
        self.begun.extend_from_slice(line.as_bytes());
        self.begun.push(b'\n');
    }

    fn poll_written(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        while self.written < self.begun.len() {
            let rest = &self.begun[self.written..];
            match Pin::new(&mut *writer).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(some)) => self.written += some,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        self.begun.clear();
        self.begun.shrink_to(OUTLET_BYTES_KEPT);
        self.written = 0;
        Pin::new(writer).poll_flush(context)
    }
}
