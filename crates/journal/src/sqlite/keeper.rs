//! The thread that keeps the file tidy: it asks the writer to compact what has ended, and moves the write-ahead log
//! into the file beside the writer, which goes on writing.

use super::desk::Desk;
use super::session::Session;
use super::writer::{Nudge, Task, Weight};
use crate::limits;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::time::Instant;
use tokio::sync::oneshot;

pub(super) struct Keeper {
    pub(super) connection: Connection,
    pub(super) nudges: blocking::Receiver<Nudge>,
    pub(super) desk: Arc<Desk>,
}

impl Keeper {
    /// Works until the writer is gone.
    pub(super) fn run(self) {
        while let Ok(nudge) = self.nudges.recv() {
            match nudge {
                Nudge::Leave => return,
                Nudge::Checkpoint => self.checkpoint(),
                Nudge::Compact => {
                    let Some(checkpoint) = self.wait_for_more() else {
                        return;
                    };
                    while self.compact() {}
                    if checkpoint {
                        self.checkpoint();
                    }
                }
            }
        }
    }

    /// Lets other runs end as well. Says whether a checkpoint was asked for; `None` when the writer is gone.
    fn wait_for_more(&self) -> Option<bool> {
        let until = Instant::now() + limits::COMPACT_DELAY;
        let mut checkpoint = false;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.nudges.recv_timeout(left) {
                Ok(Nudge::Compact) => {}
                Ok(Nudge::Checkpoint) => checkpoint = true,
                Err(blocking::RecvTimeoutError::Timeout) => return Some(checkpoint),
                Ok(Nudge::Leave) | Err(blocking::RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn compact(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let job = Task {
            weight: Weight::default(),
            action: "compact",
            act: |session: &mut Session<'_>| session.compact(),
            result: None,
            reply,
        };
        if !self.desk.put(Box::new(job)) {
            return false;
        }
        match answer.blocking_recv() {
            Ok(Ok(more)) => more,
            Ok(Err(error)) => {
                tracing::warn!(%error, "finished runs were not compacted");
                false
            }
            Err(_) => false,
        }
    }

    fn checkpoint(&self) {
        let done = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = done {
            tracing::warn!(%error, "the write-ahead log was not moved into the store");
        }
    }
}
