//! Gives a run that nothing but time and people can move on back to the store, and reports a lost lease.

use crate::limits::{RELEASE_PAUSE_FIRST, RELEASE_PAUSE_MAX};
use crate::runtime::Runtime;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::JournalError;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Parks a run. Until the store takes it back the run stays in the list of live runs: it belongs to this process, so
/// nothing else would resume it.
pub(crate) async fn release(runtime: &Runtime, run: &RunId, due: Option<Timestamp>) {
    if persist(runtime, run, due, Commands::GivenBack).await == Released::Fenced {
        runtime.inner.lost_lease.note(run);
    }
}

/// Parks a run whose claim failed: the store may have noted the claim all the same. Does not wait for the store, and the run
/// is not claimed again meanwhile. Its commands stay taken.
pub(crate) fn release_unclaimed(runtime: &Runtime, run: &RunId) {
    if !runtime.inner.releasing.lock().insert(run.clone()) {
        return;
    }
    let (runtime, run) = (runtime.clone(), run.clone());
    runtime.inner.tasks.clone().spawn(async move {
        let due = Some(runtime.now());
        // One that was not claimed is not ours to park.
        persist(&runtime, &run, due, Commands::Kept).await;
        runtime.inner.releasing.lock().remove(&run);
    });
}

/// Runs that are being released and may not be claimed.
#[derive(Debug, Default)]
pub(crate) struct Releasing(Mutex<BTreeSet<RunId>>);

impl Releasing {
    pub(crate) fn contains(&self, run: &RunId) -> bool {
        self.lock().contains(run)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<RunId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Released {
    /// Or there was nothing to release, or the process leaves.
    Done,
    /// The run is not ours.
    Fenced,
}

/// What becomes of the commands that were taken for a run and that it has not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commands {
    /// They are given out again.
    GivenBack,
    Kept,
}

/// Tries until the store works.
async fn persist(
    runtime: &Runtime,
    run: &RunId,
    due: Option<Timestamp>,
    commands: Commands,
) -> Released {
    let journal = &runtime.inner.journal;
    let mut pause = RELEASE_PAUSE_FIRST;
    loop {
        let released = async {
            if commands == Commands::GivenBack {
                journal.give_back(run).await?;
            }
            journal.park(run, due).await
        };
        match released.await {
            Ok(()) | Err(JournalError::Ended { .. } | JournalError::UnknownRun { .. }) => {
                return Released::Done;
            }
            Err(JournalError::Fenced { .. }) => return Released::Fenced,
            Err(error) => {
                let what = "a run cannot be parked; tried again until the store works";
                runtime.inner.repeated.warn(what, &error);
            }
        }
        tokio::select! {
            () = runtime.inner.leaving.cancelled() => return Released::Done,
            () = tokio::time::sleep(pause) => {}
        }
        pause = pause.saturating_mul(2).min(RELEASE_PAUSE_MAX);
    }
}

/// Whether another process was found to have taken over runs of this one. It takes all of them, so one line is enough.
#[derive(Debug, Default)]
pub(crate) struct LostLease(Mutex<Option<Instant>>);

impl LostLease {
    /// Runs that were found taken over within this time were taken over together.
    const ONE_LOSS: Duration = Duration::from_mins(1);

    pub(crate) fn note(&self, run: &RunId) {
        let now = Instant::now();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = last.is_some_and(|last| now.duration_since(last) < Self::ONE_LOSS);
        *last = Some(now);
        if is_known {
            tracing::debug!(%run, "another process has taken over a run");
            return;
        }
        tracing::warn!(
            %run,
            "this process lost its lease: it did not reach the store in time, and another process has taken over its runs. \
             They go on there, and callers here still get their results; calls that were in flight may be held. \
             New calls are served here as before"
        );
    }
}
