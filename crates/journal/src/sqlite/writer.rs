//! The one thread of this process that writes. Requests that wait together are written in one transaction, whatever
//! runs they are for, and are answered when it is committed.
//!
//! Without a flush a commit lies in the write-ahead log of the operating system and survives the death of the
//! process (`synchronous = NORMAL`: the store stays whole after power loss, its last commits may be missing). A group
//! that holds a request for a flush is committed with `synchronous = FULL`, which flushes the log once, and with it
//! all that was committed before, by whichever process.

use super::owners::{self, Me};
use super::session::{Cache, Session, WriteError};
use crate::limits;
use crate::seal::Sealer;
use onecall_engine::journal::JournalError;
use rusqlite::{Connection, ErrorCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as blocking;
use tokio::sync::{mpsc, oneshot};

/// How often the writer did what.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) requests: AtomicU64,
    pub(super) groups: AtomicU64,
    pub(super) flushes: AtomicU64,
}

/// What the keeper is asked to do beside the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nudge {
    Compact,
    Checkpoint,
}

/// A request to the writer.
pub(super) trait Job: Send {
    fn weight(&self) -> Weight;
    /// Works inside the transaction of its group. It may be called again when the group was rolled back.
    fn act(&mut self, session: &mut Session<'_>) -> Result<(), rusqlite::Error>;
    /// Answers after the commit, or after it failed.
    fn answer(self: Box<Self>, failure: Option<&rusqlite::Error>);
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    pub(super) bytes: usize,
    pub(super) flush: bool,
}

/// A request made of a closure, whose answer somebody awaits.
pub(super) struct Task<T, F> {
    pub(super) weight: Weight,
    pub(super) action: &'static str,
    pub(super) act: F,
    pub(super) result: Option<Result<T, JournalError>>,
    pub(super) reply: oneshot::Sender<Result<T, JournalError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&mut Session<'_>) -> Result<T, WriteError> + Send,
{
    fn weight(&self) -> Weight {
        self.weight
    }

    fn act(&mut self, session: &mut Session<'_>) -> Result<(), rusqlite::Error> {
        self.result = Some(match (self.act)(session) {
            Ok(done) => Ok(done),
            Err(WriteError::Refused(error)) => Err(error),
            Err(WriteError::Failed(error)) => return Err(error),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<&rusqlite::Error>) {
        let result = match (failure, self.result) {
            (Some(error), _) => Err(store_error(self.action, error)),
            (None, Some(result)) => result,
            (None, None) => Err(stopped(self.action)),
        };
        // Whoever asked may have gone away.
        let _ = self.reply.send(result);
    }
}

/// SQLite names a full disk apart; everything else keeps its text.
pub(super) fn store_error(action: &'static str, error: &rusqlite::Error) -> JournalError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::Full(error.to_string().into()),
        _ => JournalError::Store {
            action,
            cause: error.to_string().into(),
        },
    }
}

pub(super) fn stopped(action: &'static str) -> JournalError {
    JournalError::Store {
        action,
        cause: "the store is closed".into(),
    }
}

pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) me: Me,
    pub(super) queue: mpsc::Receiver<Box<dyn Job>>,
    pub(super) nudge: blocking::Sender<Nudge>,
    pub(super) counters: Arc<Counters>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) cache: Cache,
    pub(super) flushing: bool,
    /// Requests of the last group.
    pub(super) answered: usize,
    pub(super) bytes_since_checkpoint: usize,
}

impl Writer {
    /// Works until the last sender of requests is gone.
    pub(super) fn run(mut self) {
        while let Some(first) = self.queue.blocking_recv() {
            let group = self.gather(first);
            self.write(group);
        }
        if let Err(error) = owners::leave(&self.connection, &self.me) {
            tracing::debug!(%error, "the store was not left in good order");
        }
    }

    fn gather(&mut self, first: Box<dyn Job>) -> Vec<Box<dyn Job>> {
        self.linger();
        let mut bytes = first.weight().bytes;
        let mut group = vec![first];
        while group.len() < limits::GROUP_MAX && bytes < limits::GROUP_BYTES_MAX {
            let Ok(next) = self.queue.try_recv() else {
                break;
            };
            bytes += next.weight().bytes;
            group.push(next);
        }
        self.answered = group.len();
        group
    }

    /// Under load runs come back soon after they were answered. As long as more of them arrive they are waited for:
    /// a page of the log is written once for all that stands on it, and not once for each.
    fn linger(&self) {
        let mut there = self.queue.len();
        for _ in 0..limits::LINGERS_MAX {
            if there + 1 >= self.answered {
                return;
            }
            std::thread::sleep(limits::LINGER);
            let more = self.queue.len();
            if more == there {
                return;
            }
            there = more;
        }
    }

    /// One request that cannot be written (it is too long for the disk) must not take its group with it.
    fn write(&mut self, mut group: Vec<Box<dyn Job>>) {
        match self.transact(&mut group) {
            Ok(()) => answer(group, None),
            Err(error) if group.len() == 1 || !error.began => answer(group, Some(&error.cause)),
            Err(_) => {
                for job in group {
                    self.write(vec![job]);
                }
            }
        }
    }

    fn transact(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), GroupError> {
        let flush = group.iter().any(|job| job.weight().flush);
        self.begin(flush).map_err(|cause| GroupError {
            cause,
            began: false,
        })?;
        let mut session = Session {
            connection: &self.connection,
            me: &self.me,
            sealer: &self.sealer,
            cache: &mut self.cache,
            has_ended: false,
        };
        let mut written = Ok(());
        for job in &mut *group {
            written = job.act(&mut session);
            if written.is_err() {
                break;
            }
        }
        let has_ended = session.has_ended;
        if let Err(cause) = written.and_then(|()| execute(&self.connection, "COMMIT")) {
            // What was counted in this group did not happen.
            self.cache.clear();
            if !self.connection.is_autocommit() {
                let _ = execute(&self.connection, "ROLLBACK");
            }
            return Err(GroupError { cause, began: true });
        }
        self.committed(group, flush, has_ended);
        Ok(())
    }

    fn begin(&mut self, flush: bool) -> rusqlite::Result<()> {
        if self.flushing != flush {
            // Never from the statement cache: SQLite obeys this one when it is prepared, not when it is stepped.
            self.connection.execute_batch(if flush {
                "PRAGMA synchronous = FULL"
            } else {
                "PRAGMA synchronous = NORMAL"
            })?;
            self.flushing = flush;
        }
        execute(&self.connection, "BEGIN IMMEDIATE")
    }

    fn committed(&mut self, group: &[Box<dyn Job>], flush: bool, has_ended: bool) {
        let requests = group.len() as u64;
        self.counters
            .requests
            .fetch_add(requests, Ordering::Relaxed);
        self.counters.groups.fetch_add(1, Ordering::Relaxed);
        self.counters
            .flushes
            .fetch_add(u64::from(flush), Ordering::Relaxed);
        if has_ended {
            let _ = self.nudge.send(Nudge::Compact);
        }
        self.bytes_since_checkpoint += group
            .iter()
            .map(|job| job.weight().bytes.max(256))
            .sum::<usize>();
        if self.bytes_since_checkpoint > limits::CHECKPOINT_BYTES {
            self.bytes_since_checkpoint = 0;
            let _ = self.nudge.send(Nudge::Checkpoint);
        }
    }
}

struct GroupError {
    cause: rusqlite::Error,
    /// The lock was there; what was written in it failed.
    began: bool,
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

fn answer(group: Vec<Box<dyn Job>>, failure: Option<&rusqlite::Error>) {
    for job in group {
        job.answer(failure);
    }
}
