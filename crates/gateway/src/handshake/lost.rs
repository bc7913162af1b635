//! Answers that nobody was there to read, kept for a while for clients that come back for them.

use super::stream::{Events, Outbox};
use crate::limits::{LOST_ANSWERS_MAX, LOST_LIFE};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Room for the lost answers of all sessions together, in units of a KiB.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<Semaphore>);

const UNIT: usize = 1024;

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / UNIT)))
    }

    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        let taken = Arc::clone(&self.0).try_acquire_many_owned(units);
        taken.ok()
    }
}

/// The lost answers of one session, oldest first.
#[derive(Debug)]
pub(super) struct Lost {
    answers: VecDeque<Answer>,
    room: Room,
}

#[derive(Debug)]
struct Answer {
    request: u64,
    outbox: Outbox,
    until: Instant,
    _room: OwnedSemaphorePermit,
}

impl Lost {
    pub(super) fn new(room: Room) -> Self {
        Self {
            answers: VecDeque::new(),
            room,
        }
    }

    /// Keeps the stream of a request that has been answered, if there is room.
    pub(super) fn keep(&mut self, request: u64, outbox: Outbox) {
        self.forget_old();
        if self.answers.len() >= LOST_ANSWERS_MAX {
            self.answers.pop_front();
        }
        let Some(room) = self.room.take(outbox.kept_bytes()) else {
            tracing::warn!("an answer that nobody read is not kept: too many are already");
            return;
        };
        self.answers.push_back(Answer {
            request,
            outbox,
            until: Instant::now() + LOST_LIFE,
            _room: room,
        });
    }

    /// Whether the stream of this request is kept and has had such an event.
    pub(super) fn has(&self, request: u64, seen: u64) -> bool {
        let mut answers = self.answers.iter();
        answers.any(|answer| answer.request == request && answer.outbox.has_had(seen))
    }

    /// Gives the rest of a stream to the client that came back for it. It can be had once.
    pub(super) fn take(&mut self, request: u64, seen: u64) -> Option<Events> {
        let is_it = |answer: &Answer| answer.request == request;
        let at = self.answers.iter().position(is_it)?;
        let events = self.answers[at].outbox.replay(Some(seen))?;
        self.answers.remove(at);
        Some(events)
    }

    /// When the next of them is too old.
    pub(super) fn until(&self) -> Option<Instant> {
        self.answers.front().map(|answer| answer.until)
    }

    pub(super) fn forget_old(&mut self) {
        let now = Instant::now();
        while self.until().is_some_and(|until| until <= now) {
            self.answers.pop_front();
        }
    }

    pub(super) fn clear(&mut self) {
        self.answers.clear();
    }
}
