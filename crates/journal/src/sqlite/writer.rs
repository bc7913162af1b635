//! Writes groups of requests, each in one transaction. One at a time in this process: `Desk` says who and when.
//!
//! Without a flush a commit lies in the write-ahead log of the operating system and survives the death of the
//! process (`synchronous = NORMAL`: the store stays whole after power loss, its last commits may be missing). A group
//! that holds a request for a flush is committed with `synchronous = FULL`, which flushes the log once, and with it
//! all that was committed before, by whichever process.

use super::desk::By;
use super::owners::{self, Me};
use super::session::{Cache, Ended, Numbers, Session, WriteError};
use crate::limits;
use crate::seal::Sealer;
use onecall_engine::journal::JournalError;
use rusqlite::{Connection, ErrorCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as blocking;
use std::time::Duration;
use tokio::sync::oneshot;

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
    /// The store is closed.
    Leave,
}

/// A request to the writer.
pub(super) trait Job: Send {
    fn weight(&self) -> Weight;
    /// Works inside the transaction of its group. It may be called again when the group was rolled back.
    fn act(&mut self, session: &mut Session<'_>) -> Result<(), rusqlite::Error>;
    /// Answers after the commit, or after it failed.
    fn answer(self: Box<Self>, failure: Option<&rusqlite::Error>);
}

/// What a request is to the writer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    pub(super) bytes: usize,
    pub(super) pace: Pace,
}

/// Who may wait for a request while it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pace {
    /// A row or two: whoever asks may write it.
    Light,
    /// It may take a while.
    #[default]
    Heavy,
    /// It waits for the disk.
    Flushed,
}

impl Weight {
    /// Rows of a run, as durable as it says.
    pub(super) fn of_rows(bytes: usize, flush: bool) -> Self {
        let pace = match flush {
            true => Pace::Flushed,
            false if bytes > limits::LIGHT_BYTES_MAX => Pace::Heavy,
            false => Pace::Light,
        };
        Self { bytes, pace }
    }
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

/// A full disk and a file that cannot be written have errors of their own; everything else keeps its text.
pub(super) fn store_error(action: &'static str, error: &rusqlite::Error) -> JournalError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::Full(error.to_string().into()),
        Some(ErrorCode::ReadOnly) => JournalError::ReadOnly(error.to_string().into()),
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
    pub(super) nudge: blocking::Sender<Nudge>,
    pub(super) counters: Arc<Counters>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) cache: Cache,
    pub(super) ended: Ended,
    pub(super) numbers: Numbers,
    pub(super) flushing: bool,
    /// How long the lock of another process is waited for.
    pub(super) patience: Duration,
    pub(super) bytes_since_checkpoint: usize,
}

impl Writer {
    pub(super) fn leave(&self) {
        if let Err(error) = owners::leave(&self.connection, &self.me) {
            tracing::debug!(%error, "the store was not left in good order");
        }
        let _ = self.nudge.send(Nudge::Leave);
    }

    /// Writes a group and answers it. What another process keeps a caller from writing comes back.
    /// One request that cannot be written (it is too long for the disk) must not take its group with it.
    pub(super) fn write(&mut self, mut group: Vec<Box<dyn Job>>, by: By) -> Vec<Box<dyn Job>> {
        if group.is_empty() {
            return group;
        }
        match self.transact(&mut group, by) {
            Ok(()) => answer(group, None),
            Err(error) if by == By::Caller && is_busy(&error.cause) => return group,
            Err(error) if group.len() == 1 || !error.began => answer(group, Some(&error.cause)),
            Err(_) => {
                let alone = group.into_iter().map(|job| self.write(vec![job], by));
                return alone.flatten().collect();
            }
        }
        Vec::new()
    }

    fn transact(&mut self, group: &mut [Box<dyn Job>], by: By) -> Result<(), GroupError> {
        let flush = group.iter().any(|job| job.weight().pace == Pace::Flushed);
        self.begin(flush, by).map_err(|cause| GroupError {
            cause,
            began: false,
        })?;
        let version = match self.version() {
            Ok(version) => version,
            Err(cause) => {
                self.roll_back();
                return Err(GroupError { cause, began: true });
            }
        };
        let mut session = Session {
            connection: &self.connection,
            me: &self.me,
            sealer: &self.sealer,
            cache: &mut self.cache,
            ended: &mut self.ended,
            numbers: &mut self.numbers,
            version,
            insert: None,
        };
        let mut written = Ok(());
        for job in &mut *group {
            written = job.act(&mut session);
            if written.is_err() {
                break;
            }
        }
        drop(session);
        if let Err(cause) = written.and_then(|()| execute(&self.connection, "COMMIT")) {
            self.roll_back();
            return Err(GroupError { cause, began: true });
        }
        self.committed(group, flush);
        Ok(())
    }

    fn roll_back(&mut self) {
        // What was counted in this group did not happen.
        self.cache.clear();
        if !self.connection.is_autocommit() {
            let _ = execute(&self.connection, "ROLLBACK");
        }
    }

    /// Inside of a transaction that writes, this stands still.
    fn version(&self) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))
    }

    fn begin(&mut self, flush: bool, by: By) -> rusqlite::Result<()> {
        let patience = match by {
            By::Caller => Duration::ZERO,
            By::Thread => limits::LOCK_WAIT_MAX,
        };
        if self.patience != patience {
            self.connection.busy_timeout(patience)?;
            self.patience = patience;
        }
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

    fn committed(&mut self, group: &[Box<dyn Job>], flush: bool) {
        let requests = group.len() as u64;
        self.counters
            .requests
            .fetch_add(requests, Ordering::Relaxed);
        self.counters.groups.fetch_add(1, Ordering::Relaxed);
        self.counters
            .flushes
            .fetch_add(u64::from(flush), Ordering::Relaxed);
        if std::mem::take(&mut self.ended.has_more) {
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

/// Another process holds the lock.
fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn answer(group: Vec<Box<dyn Job>>, failure: Option<&rusqlite::Error>) {
    for job in group {
        job.answer(failure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi::{self, SQLITE_FULL, SQLITE_READONLY};

    #[test]
    fn a_full_disk_and_a_store_that_cannot_be_written_are_named() {
        let told = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            store_error("append to", &error).to_string()
        };
        assert_eq!(told(SQLITE_FULL), "the store has no room left");
        assert_eq!(told(SQLITE_READONLY), "the store is read-only");
    }
}
