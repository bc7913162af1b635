//! One connection as long as usual calls come on it: they are read and answered here, at the price of a read and a
//! write. Every other message is handed to `hyper`, alone where its end is known, and with the rest of the connection
//! where it is not.

use crate::admit::{self, Given};
use crate::front::{Front, Look, Usual};
use crate::heads::JSON;
use crate::limits::{PLAIN_BUFFER_BYTES, PLAIN_BYTES_MAX, PLAIN_READS_MAX, RETRY_AFTER_SECONDS};
use crate::told::Told;
use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, Write as _};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFuture;

/// A connection, and what was read of it and is not used yet.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) stream: TcpStream,
    pub(crate) unread: Vec<u8>,
    /// An answer as it is written.
    written: Vec<u8>,
}

/// What comes next on a connection.
pub(crate) enum Next {
    Usual(Usual),
    /// A message of so many bytes.
    Other(u64),
    /// Whatever comes, to the end.
    Rest,
    /// The body of a call did not come, for which this is said.
    Refused(Told),
    /// Nothing.
    Over,
}

/// When waiting for a message ends.
pub(crate) struct Until<'a, 'b> {
    /// How long it may take to begin, and then to arrive.
    pub(crate) idle: Duration,
    /// It has not come in time.
    pub(crate) late: Pin<&'a mut Sleep>,
    /// The server was told to stop, which counts as long as no message has begun.
    pub(crate) stopped: Pin<&'a mut WaitForCancellationFuture<'b>>,
}

impl Until<'_, '_> {
    fn begin(&mut self) {
        self.late.as_mut().reset(Instant::now() + self.idle);
    }
}

impl Line {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            unread: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Waits for the next message.
    pub(crate) async fn next(&mut self, front: &Front, mut until: Until<'_, '_>) -> Next {
        let (mut short, mut has_begun) = (None, false);
        until.begin();
        for _ in 0..PLAIN_READS_MAX {
            if self.has_begun() {
                match front.look(&self.unread) {
                    Look::Usual(usual) => return Next::Usual(usual),
                    Look::Other(bytes) => return Next::Other(bytes),
                    Look::Unframed => return Next::Rest,
                    Look::Short(bytes) => short = Some(bytes),
                    Look::Partial => {}
                }
                if !has_begun {
                    has_begun = true;
                    until.begin();
                }
            }
            if self.unread.len() >= PLAIN_BYTES_MAX {
                break;
            }
            match poll_fn(|context| self.poll_next(context, &mut until)).await {
                Some(Ok(1..)) => {}
                Some(_) if short.is_some() => return Next::Refused(admit::cut_off()),
                None if short.is_some() => return Next::Refused(admit::too_slow()),
                Some(_) | None => return Next::Over,
            }
        }
        short.map_or(Next::Rest, Next::Other)
    }

    /// Whether anything has come. Empty lines between messages are nothing, and an idle connection has little room.
    fn has_begun(&mut self) -> bool {
        if self.unread.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
            self.unread.clear();
            self.unread.shrink_to(PLAIN_BUFFER_BYTES);
        }
        !self.unread.is_empty()
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        until: &mut Until<'_, '_>,
    ) -> Poll<Option<io::Result<usize>>> {
        if let Poll::Ready(read) = self.poll_fill(context, PLAIN_BUFFER_BYTES) {
            return Poll::Ready(Some(read));
        }
        let is_late = until.late.as_mut().poll(context).is_ready();
        let is_idle = self.unread.is_empty();
        if is_late || (is_idle && until.stopped.as_mut().poll(context).is_ready()) {
            return Poll::Ready(None);
        }
        Poll::Pending
    }

    /// Reads once, as much as there is room for; nothing is read at the end. Room is made when there is something to
    /// read: most connections wait most of the time.
    pub(crate) fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        room: usize,
    ) -> Poll<io::Result<usize>> {
        ready!(self.stream.poll_read_ready(context))?;
        self.unread.reserve(room);
        pin!(self.stream.read_buf(&mut self.unread)).poll(context)
    }

    /// Answers a call. Whether the connection can take another one.
    pub(crate) async fn answer(&mut self, usual: Usual, is_last: impl Fn() -> bool) -> bool {
        let Usual {
            intake,
            direct,
            bytes,
        } = usual;
        self.unread.drain(..bytes);
        let given = {
            let mut answering = pin!(admit::answer(&intake, direct));
            let answered = poll_fn(|context| match answering.as_mut().poll(context) {
                Poll::Ready(given) => Poll::Ready(Some(given)),
                Poll::Pending => self.poll_gone(context).map(|()| None),
            });
            answered.await
        };
        // Nobody waits for the answer any more.
        let Some(Given {
            told,
            counted,
            place,
        }) = given
        else {
            return false;
        };
        let is_last = is_last();
        // A client that does not read its answer keeps nothing but its connection.
        drop((counted, place));
        self.tell(&told, is_last).await.is_ok() && !is_last
    }

    /// The client has gone. What it sends ahead is kept, up to a point; one that has sent all it wants to ask waits for
    /// the answers.
    pub(crate) fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.unread.len() < PLAIN_BYTES_MAX {
            match self.poll_fill(context, PLAIN_BUFFER_BYTES) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) if !self.unread.is_empty() => return Poll::Pending,
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Pending
    }

    /// Writes an answer; `is_last` says that the connection ends with it.
    pub(crate) async fn tell(&mut self, told: &Told, is_last: bool) -> io::Result<()> {
        self.written.clear();
        encode(told, is_last, &mut self.written)?;
        let sent = self.stream.write_all(&self.written).await;
        self.written.clear();
        self.written.shrink_to(PLAIN_BUFFER_BYTES);
        sent
    }
}

/// The same head that `hyper` would write.
fn encode(told: &Told, is_last: bool, to: &mut Vec<u8>) -> io::Result<()> {
    let (status, length) = (told.status, told.text.len());
    let reason = status.canonical_reason().unwrap_or_default();
    write!(to, "HTTP/1.1 {} {reason}\r\n", status.as_str())?;
    write!(to, "content-type: {JSON}\r\n")?;
    if told.is_for_now {
        write!(to, "retry-after: {RETRY_AFTER_SECONDS}\r\n")?;
    }
    write!(to, "content-length: {length}\r\n")?;
    if is_last {
        to.extend_from_slice(b"connection: close\r\n");
    }
    to.extend_from_slice(b"date: ");
    DATE.with_borrow_mut(|date| to.extend_from_slice(date.now()));
    to.extend_from_slice(b"\r\n\r\n");
    to.extend_from_slice(told.text.as_bytes());
    Ok(())
}

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date { second: 0, text: Vec::new() }) };
}

/// The date as answers tell it, written once a second.
struct Date {
    second: u64,
    text: Vec<u8>,
}

impl Date {
    fn now(&mut self) -> &[u8] {
        let now = SystemTime::now();
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.text.is_empty() || self.second != since.as_secs() {
            self.second = since.as_secs();
            self.text = httpdate::fmt_http_date(now).into_bytes();
        }
        &self.text
    }
}
