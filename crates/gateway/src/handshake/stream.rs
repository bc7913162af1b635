//! One stream of events to a client: what waits to be read, and what is kept in case the client comes back for it.

use crate::limits::{EVENTS_AHEAD_MAX, EVENTS_KEPT_MAX};
use futures::channel::mpsc;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::ParseIntError;
use std::str::FromStr;

/// The reading end, which is the body of a response.
pub(super) type Events = mpsc::Receiver<ServerSseMessage>;

/// A place in the streams of a session, as clients name it: `index` or `index/request`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) index: u64,
    /// The request whose stream it is; none for the stream of the session itself.
    pub(super) request: Option<u64>,
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.request {
            Some(request) => write!(f, "{}/{request}", self.index),
            None => write!(f, "{}", self.index),
        }
    }
}

impl FromStr for EventId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (index, request) = match text.split_once('/') {
            Some((index, request)) => (index, Some(request.parse()?)),
            None => (text, None),
        };
        let index = index.parse()?;
        Ok(Self { index, request })
    }
}

/// The writing end. It outlives its reader, who may come back.
///
/// A channel of `futures` allocates for each message that waits; one of `tokio` has room for 32 from the start, which
/// is what most of the memory of a silent session would be.
#[derive(Debug)]
pub(super) struct Outbox {
    reader: mpsc::Sender<ServerSseMessage>,
    kept: VecDeque<ServerSseMessage>,
    /// The place of the next event.
    next: EventId,
}

/// A stream that has somebody to read it, or room for what nobody reads.
#[derive(Debug)]
pub(super) struct Room(mpsc::Sender<ServerSseMessage>);

impl Room {
    /// Waits while the reader is behind; one that has gone keeps nobody waiting.
    pub(super) async fn wait(mut self) {
        let _ = std::future::poll_fn(|context| self.0.poll_ready(context)).await;
    }
}

impl Outbox {
    /// A stream whose first event has this place, and its reader.
    pub(super) fn new(first: EventId) -> (Self, Events) {
        let (reader, events) = channel();
        let outbox = Self {
            reader,
            kept: VecDeque::new(),
            next: first,
        };
        (outbox, events)
    }

    pub(super) fn is_read(&self) -> bool {
        !self.reader.is_closed()
    }

    /// Whether there is or was such an event.
    pub(super) fn has_had(&self, seen: u64) -> bool {
        seen < self.next.index
    }

    /// How much is kept for a reader that comes back, in bytes as it would be sent.
    pub(super) fn kept_bytes(&self) -> usize {
        let messages = self.kept.iter().filter_map(|event| event.message.as_ref());
        messages.map(|message| bytes_of(message)).sum()
    }

    /// Lets the reader end once it has read what waits.
    pub(super) fn close(&mut self) {
        self.reader.close_channel();
    }

    /// Puts an event behind the others at once, so that they keep their order.
    pub(super) fn put(&mut self, mut event: ServerSseMessage) -> Room {
        event.event_id = Some(self.next.to_string());
        self.next.index += 1;
        if self.kept.len() >= EVENTS_KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(event.clone());
        // A fresh sender has room for one message whatever waits already; whether there is room for more is known
        // afterwards.
        let mut reader = self.reader.clone();
        let _ = reader.try_send(event);
        Room(reader)
    }

    /// Gives the stream to a new reader, beginning behind the event that the last one has seen.
    /// None where there never was such an event.
    pub(super) fn replay(&mut self, seen: Option<u64>) -> Option<Events> {
        let kept = u64::try_from(self.kept.len()).unwrap_or(u64::MAX);
        let oldest = self.next.index - kept;
        let skipped = match seen {
            Some(seen) if !self.has_had(seen) => return None,
            Some(seen) => (seen + 1).saturating_sub(oldest),
            None => 0,
        };
        let (reader, events) = channel();
        self.reader = reader;
        for event in self
            .kept
            .iter()
            .skip(usize::try_from(skipped).unwrap_or(usize::MAX))
        {
            let _ = self.reader.clone().try_send(event.clone());
        }
        Some(events)
    }
}

fn bytes_of(message: &ServerJsonRpcMessage) -> usize {
    struct Counter(usize);

    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    // Counting cannot fail, and what cannot be written is not sent either.
    let _ = serde_json::to_writer(&mut counter, message);
    counter.0
}

fn channel() -> (mpsc::Sender<ServerSseMessage>, Events) {
    mpsc::channel(EVENTS_AHEAD_MAX)
}
