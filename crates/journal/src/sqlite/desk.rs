//! Where requests to write wait, and who writes them. Requests that wait together are written in one transaction,
//! whatever runs they are for, and are answered when it is committed.
//!
//! A light request is written by one of those who wait: handing it to a thread and being woken by it takes longer
//! than to write it. Whoever asks first lets the others on its thread ask too, and then writes for all. What may
//! take long (a flush, many bytes, the lock of another process, tidying up) is left to a thread of the store.

use super::writer::{Job, Pace, Writer};
use crate::limits;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use tokio::sync::Semaphore;

pub(super) struct Desk {
    waiting: Mutex<Waiting>,
    /// Rings for the thread.
    bell: Condvar,
    /// Places for requests of callers.
    pub(super) room: Semaphore,
    writer: Mutex<Writer>,
}

#[derive(Default)]
struct Waiting {
    light: VecDeque<Box<dyn Job>>,
    heavy: VecDeque<Box<dyn Job>>,
    /// The thread is wanted for the light ones as well.
    is_thread_called: bool,
    /// Somebody found the writer taken and has left its request to whoever holds it.
    is_left: bool,
    is_closed: bool,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// One of those who wait. It takes light requests only, and waits for nobody.
    Caller,
    /// The thread of the store.
    Thread,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Desk {
    pub(super) fn new(writer: Writer) -> Self {
        Self {
            waiting: Mutex::default(),
            bell: Condvar::new(),
            room: Semaphore::new(limits::QUEUE_MAX),
            writer: Mutex::new(writer),
        }
    }

    /// `false`: the store is closed.
    pub(super) fn put(&self, job: Box<dyn Job>) -> bool {
        let mut waiting = self.waiting();
        if waiting.is_closed {
            return false;
        }
        match job.weight().pace {
            Pace::Light => waiting.light.push_back(job),
            Pace::Heavy | Pace::Flushed => {
                waiting.heavy.push_back(job);
                self.bell.notify_one();
            }
        }
        true
    }

    /// Those on this thread that are about to ask do so, and one transaction serves for all. Whoever waits here is to
    /// write for them; if it goes before, the thread does so.
    pub(super) async fn let_others_ask(&self) {
        let left = Left {
            desk: self,
            is_left: true,
        };
        tokio::task::yield_now().await;
        left.stays();
    }

    /// Writes what is light and waits, unless somebody else does so already.
    pub(super) fn write_light(&self) {
        for _ in 0..limits::ROUNDS_MAX {
            let is_done = {
                let waiting = self.waiting();
                // The thread, where it is wanted anyway, takes all that waits along.
                waiting.light.is_empty() || !waiting.heavy.is_empty()
            };
            if is_done {
                return;
            }
            let Some(mut writer) = self.writer_or_leave() else {
                return;
            };
            let group = self.group(By::Caller);
            let unwritten = writer.write(group, By::Caller);
            drop(writer);
            if !unwritten.is_empty() {
                return self.leave_to_thread(unwritten);
            }
            if !self.take_left() {
                return;
            }
        }
        self.call_thread();
    }

    /// The writer, if nobody holds it; else whoever does is left what waits.
    /// Invariant: the holder looks at `is_left` after letting go of the writer, and what is left is there before the
    /// second look at the writer, so nothing stays behind.
    fn writer_or_leave(&self) -> Option<MutexGuard<'_, Writer>> {
        self.try_writer().or_else(|| {
            self.waiting().is_left = true;
            self.try_writer()
        })
    }

    fn try_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        match self.writer.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn take_left(&self) -> bool {
        std::mem::take(&mut self.waiting().is_left)
    }

    /// Leaves what waits to the thread, for whoever cannot write it.
    pub(super) fn call_thread(&self) {
        self.waiting().is_thread_called = true;
        self.bell.notify_one();
    }

    fn leave_to_thread(&self, group: Vec<Box<dyn Job>>) {
        {
            let mut waiting = self.waiting();
            waiting.light.extend(group);
            waiting.is_thread_called = true;
        }
        self.bell.notify_one();
    }

    /// The work of the thread, until the store is closed and nothing waits any more.
    pub(super) fn run(&self) {
        while self.is_wanted() {
            {
                let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
                let group = self.group(By::Thread);
                writer.write(group, By::Thread);
            }
            if self.take_left() {
                self.waiting().is_thread_called = true;
            }
        }
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.leave();
    }

    /// Waits until there is something for the thread; `false` once there never will be.
    fn is_wanted(&self) -> bool {
        let mut waiting = self.waiting();
        loop {
            let has_light = !waiting.light.is_empty();
            if !waiting.heavy.is_empty()
                || (has_light && (waiting.is_thread_called || waiting.is_closed))
            {
                waiting.is_thread_called = false;
                return true;
            }
            if waiting.is_closed {
                return false;
            }
            waiting.is_thread_called = false;
            let rung = self.bell.wait(waiting);
            waiting = rung.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What is written in one transaction.
    fn group(&self, by: By) -> Vec<Box<dyn Job>> {
        let mut waiting = self.waiting();
        let mut group = Vec::with_capacity(waiting.light.len() + waiting.heavy.len());
        let mut bytes = 0;
        while group.len() < limits::GROUP_MAX && bytes < limits::GROUP_BYTES_MAX {
            let heavy = match by {
                By::Caller => None,
                By::Thread => waiting.heavy.pop_front(),
            };
            let Some(next) = heavy.or_else(|| waiting.light.pop_front()) else {
                break;
            };
            bytes += next.weight().bytes;
            group.push(next);
        }
        group
    }

    pub(super) fn close(&self) {
        self.waiting().is_closed = true;
        self.bell.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls the thread where somebody goes who was to write.
struct Left<'a> {
    desk: &'a Desk,
    is_left: bool,
}

impl Left<'_> {
    fn stays(mut self) {
        self.is_left = false;
    }
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if self.is_left {
            self.desk.call_thread();
        }
    }
}
