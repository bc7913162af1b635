//! The events of a body, one by one: read in small pieces, so that others on the thread have their turn however many
//! events are there already.

use std::collections::VecDeque;

use bytes::Bytes;
use onecall_mcp::limits::MESSAGE_BYTES_MAX;
use onecall_mcp::{SseDecoder, SseEvent};

use super::body::broken;
use super::pool::{Cause, Streaming};
use crate::limits::{EVENT_PIECE_BYTES, EVENTS_PASSED_OVER_MAX, TURN_LINE_BYTES};
use crate::pace::Pace;

pub(crate) struct EventBody {
    body: Streaming,
    /// What was read and is not decoded yet.
    undecoded: Bytes,
    decoder: SseDecoder,
    ready: VecDeque<SseEvent>,
    /// Bytes of the whole stream so far, and how many it may have.
    bytes: usize,
    bytes_max: usize,
    /// Events in a row that were nothing to anybody.
    passed_over: usize,
    pace: Pace,
}

/// Why a stream cannot be read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamFault {
    #[error("{}", broken(.0))]
    Broken(Cause),
    /// What there was more of than is allowed.
    #[error("it sent too much: {0}")]
    TooMuch(String),
}

impl EventBody {
    pub(crate) fn new(body: Streaming, bytes_max: usize) -> Self {
        Self {
            body,
            undecoded: Bytes::new(),
            decoder: SseDecoder::new(MESSAGE_BYTES_MAX),
            ready: VecDeque::new(),
            bytes: 0,
            bytes_max,
            passed_over: 0,
            pace: Pace::default(),
        }
    }

    /// The next event; `None` when the stream has ended in order.
    pub(crate) async fn next(&mut self) -> Result<Option<SseEvent>, StreamFault> {
        loop {
            if let Some(event) = self.ready.front() {
                self.pace.piece(event.data.len()).await;
                return Ok(self.ready.pop_front());
            }
            if self.undecoded.is_empty() {
                match self.body.next().await {
                    None => return Ok(None),
                    Some(data) => self.undecoded = data.map_err(StreamFault::Broken)?,
                }
                self.bytes = self.bytes.saturating_add(self.undecoded.len());
                if self.bytes > self.bytes_max {
                    let what = format!("a stream of more than {} bytes", self.bytes_max);
                    return Err(StreamFault::TooMuch(what));
                }
            }
            // Comments and lines of unknown fields make no events, and there may be thousands in a piece.
            let piece = self.undecoded.len().min(EVENT_PIECE_BYTES);
            let before = self.decoder.lines();
            let events = self.decoder.feed(&self.undecoded.split_to(piece));
            let events = events.map_err(|error| StreamFault::TooMuch(error.to_string()));
            self.ready = events?.into();
            let lines = self.decoder.lines().wrapping_sub(before);
            self.pace.piece(piece + lines * TURN_LINE_BYTES).await;
        }
    }

    /// The last event was no message.
    pub(crate) fn pass_over(&mut self) -> Result<(), StreamFault> {
        self.passed_over += 1;
        if self.passed_over <= EVENTS_PASSED_OVER_MAX {
            return Ok(());
        }
        let most = EVENTS_PASSED_OVER_MAX;
        let what = format!("a stream of more than {most} events in a row that are no messages");
        Err(StreamFault::TooMuch(what))
    }

    /// The last event was a message.
    pub(crate) fn heed(&mut self) {
        self.passed_over = 0;
    }

    /// A further message of the last event is read.
    pub(super) async fn go_on(&mut self, bytes: usize) {
        self.pace.piece(bytes).await;
    }

    /// Long streams of small events are no fault where nobody waits for their end.
    pub(super) fn forget_length(&mut self) {
        self.bytes = 0;
    }

    /// The beginning of the event that is not complete yet.
    pub(crate) fn unfinished(&self) -> &[u8] {
        self.decoder.unfinished()
    }

    pub(super) fn into_body(self) -> Streaming {
        self.body
    }
}
