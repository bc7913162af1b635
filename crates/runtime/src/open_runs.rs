//! How many runs are open, and what they hold: of all callers and of each. A new run is admitted here and nowhere else.
//! Counters change as runs begin, grow and end; the store is read at the start, once a minute and before a call is
//! refused, for the runs that other processes on it begin and end.

use crate::limits::{
    COUNT_AGE_MAX, COUNT_WAIT_MAX, OPEN_BYTES_MAX, OPEN_BYTES_PER_CALLER_MAX, OPEN_RUNS_MAX,
    OPEN_RUNS_PER_CALLER_MAX,
};
use crate::runtime::Runtime;
use onecall_config::settings;
use onecall_engine::driver::Observer;
use onecall_engine::event::Event;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{JournalError, OpenRun};
use onecall_engine::state::State;
use onecall_engine::weight::weight;
use onecall_source::counted;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::{Instant, timeout};

/// What may be open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenLimits {
    runs: usize,
    runs_per_caller: usize,
    bytes: u64,
    bytes_per_caller: u64,
}

impl OpenLimits {
    pub(crate) fn new(stated: &settings::Limits) -> Self {
        let bytes = |stated: Option<usize>, usual| {
            stated.map_or(usual, |bytes| u64::try_from(bytes).unwrap_or(u64::MAX))
        };
        Self {
            runs: stated.open_runs.unwrap_or(OPEN_RUNS_MAX),
            runs_per_caller: stated
                .open_runs_per_caller
                .unwrap_or(OPEN_RUNS_PER_CALLER_MAX),
            bytes: bytes(stated.open_bytes, OPEN_BYTES_MAX),
            bytes_per_caller: bytes(stated.open_bytes_per_caller, OPEN_BYTES_PER_CALLER_MAX),
        }
    }
}

/// Why a run is not admitted: the limit, the key that sets it, and what can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenRunsError {
    #[error(
        "{} open, as many as `limits.open_runs` allows; try again once some have ended",
        are(*open)
    )]
    Runs { open: usize },
    #[error(
        "{} open for this caller, as many as `limits.open_runs_per_caller` allows; try again once some have ended or \
         been answered",
        are(*open)
    )]
    RunsOfCaller { open: usize },
    #[error(
        "the open runs hold {held} bytes, {more} more were asked for, and `limits.open_bytes` allows {limit}; try \
         again once some have ended"
    )]
    Bytes { held: u64, more: u64, limit: u64 },
    #[error(
        "the open runs of this caller hold {held} bytes, {more} more were asked for, and \
         `limits.open_bytes_per_caller` allows {limit}; try again once some have ended or been answered"
    )]
    BytesOfCaller { held: u64, more: u64, limit: u64 },
}

fn are(runs: usize) -> String {
    let verb = if runs == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(runs, "run"))
}

/// Callers that do not sign in are one caller.
type Caller = Option<Arc<str>>;

#[derive(Debug, Default)]
pub(crate) struct OpenRuns {
    ledger: Mutex<Ledger>,
    /// When the store was last read; locked while it is being read.
    counted: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Ledger {
    runs: BTreeMap<RunId, Open>,
    all: Sum,
    callers: BTreeMap<Caller, Sum>,
    /// What began, grew or ended while the store is read: its list may be older.
    changed: Option<BTreeSet<RunId>>,
}

#[derive(Debug)]
struct Open {
    caller: Caller,
    bytes: u64,
    /// Admitted here and not driven yet: the store need not have it.
    is_new: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    runs: usize,
    bytes: u64,
}

impl Open {
    fn known(caller: Caller, bytes: u64) -> Self {
        Self {
            caller,
            bytes,
            is_new: false,
        }
    }
}

impl Ledger {
    fn refusal(&self, limits: &OpenLimits, caller: &Caller, more: u64) -> Option<OpenRunsError> {
        let (all, own) = (
            self.all,
            self.callers.get(caller).copied().unwrap_or_default(),
        );
        let is_over = |held: u64, limit: u64| held.saturating_add(more) > limit;
        if own.runs >= limits.runs_per_caller {
            return Some(OpenRunsError::RunsOfCaller { open: own.runs });
        }
        if all.runs >= limits.runs {
            return Some(OpenRunsError::Runs { open: all.runs });
        }
        if is_over(own.bytes, limits.bytes_per_caller) {
            let (held, limit) = (own.bytes, limits.bytes_per_caller);
            return Some(OpenRunsError::BytesOfCaller { held, more, limit });
        }
        is_over(all.bytes, limits.bytes).then_some(OpenRunsError::Bytes {
            held: all.bytes,
            more,
            limit: limits.bytes,
        })
    }

    fn put(&mut self, run: RunId, open: Open) {
        self.remove(&run);
        let own = self.callers.entry(open.caller.clone()).or_default();
        for sum in [own, &mut self.all] {
            sum.runs += 1;
            sum.bytes += open.bytes;
        }
        self.runs.insert(run, open);
    }

    fn remove(&mut self, run: &RunId) -> Option<Open> {
        let open = self.runs.remove(run)?;
        self.all.runs -= 1;
        self.all.bytes -= open.bytes;
        if let Some(own) = self.callers.get_mut(&open.caller) {
            own.runs -= 1;
            own.bytes -= open.bytes;
            if own.runs == 0 {
                self.callers.remove(&open.caller);
            }
        }
        Some(open)
    }

    fn adds_up(&self) -> bool {
        let bytes: u64 = self.runs.values().map(|open| open.bytes).sum();
        let of_callers: usize = self.callers.values().map(|own| own.runs).sum();
        (self.all.runs, self.all.bytes) == (self.runs.len(), bytes) && of_callers == self.all.runs
    }

    fn note(&mut self, run: &RunId) {
        if let Some(changed) = &mut self.changed {
            changed.insert(run.clone());
        }
    }
}

impl OpenRuns {
    fn admit(
        &self,
        limits: &OpenLimits,
        run: &RunId,
        caller: Option<&str>,
        bytes: u64,
    ) -> Result<(), OpenRunsError> {
        let caller: Caller = caller.map(Arc::from);
        let mut ledger = self.lock();
        if let Some(refusal) = ledger.refusal(limits, &caller, bytes) {
            return Err(refusal);
        }
        let is_new = true;
        ledger.note(run);
        ledger.put(
            run.clone(),
            Open {
                caller,
                bytes,
                is_new,
            },
        );
        Ok(())
    }

    /// Counts a run that is driven here, whether it was counted before or not.
    pub(crate) fn put(&self, run: &RunId, caller: Option<&Arc<str>>, bytes: u64) {
        let mut ledger = self.lock();
        let caller = caller.cloned();
        ledger.note(run);
        ledger.put(run.clone(), Open::known(caller, bytes));
    }

    /// A run has grown. One that is not counted any more is left out.
    fn grown(&self, run: &RunId, bytes: u64) {
        let mut ledger = self.lock();
        ledger.note(run);
        let Ledger {
            runs, all, callers, ..
        } = &mut *ledger;
        let Some(open) = runs.get_mut(run) else {
            return;
        };
        let before = std::mem::replace(&mut open.bytes, bytes);
        for sum in callers.get_mut(&open.caller).into_iter().chain([all]) {
            sum.bytes = sum.bytes - before + bytes;
        }
    }

    pub(crate) fn remove(&self, run: &RunId) {
        let mut ledger = self.lock();
        ledger.note(run);
        ledger.remove(run);
    }

    fn begin_count(&self) -> Counting<'_> {
        self.lock().changed = Some(BTreeSet::new());
        Counting(self)
    }

    /// Another process may have ended one of the counted runs.
    fn has_foreign(&self, is_live: impl Fn(&RunId) -> bool) -> bool {
        let ledger = self.lock();
        let mut runs = ledger.runs.iter();
        runs.any(|(run, open)| !open.is_new && !is_live(run))
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The store is being read. Dropping this leaves everything as it was counted before.
struct Counting<'a>(&'a OpenRuns);

impl Counting<'_> {
    /// Takes over what the store says, except of runs that are driven here, stored or not, and of those that changed
    /// since it was asked.
    fn end(self, stored: Vec<OpenRun>, is_live: impl Fn(&RunId) -> bool) {
        let mut ledger = self.0.lock();
        let changed = ledger.changed.take().unwrap_or_default();
        let is_ours = |ledger: &Ledger, run: &RunId| {
            let is_new = ledger.runs.get(run).is_some_and(|open| open.is_new);
            is_new || changed.contains(run) || is_live(run)
        };
        let mut gone: BTreeSet<RunId> = ledger.runs.keys().cloned().collect();
        for run in stored {
            gone.remove(&run.id);
            if !is_ours(&ledger, &run.id) {
                let caller = run.principal.map(Arc::from);
                ledger.put(run.id, Open::known(caller, run.bytes));
            }
        }
        for run in gone {
            if !is_ours(&ledger, &run) {
                ledger.remove(&run);
            }
        }
    }
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.0.lock().changed = None;
    }
}

/// Reads from the store which runs are open.
pub(crate) async fn count(runtime: &Runtime) -> Result<(), JournalError> {
    let mut counted = runtime.inner.open_runs.counted.lock().await;
    count_into(runtime, &mut counted).await
}

async fn count_into(runtime: &Runtime, counted: &mut Option<Instant>) -> Result<(), JournalError> {
    let counting = runtime.inner.open_runs.begin_count();
    *counted = Some(Instant::now());
    let listed = runtime.inner.journal.open_runs(runtime.now()).await?;
    counting.end(listed, |run| runtime.inner.runs.get(run).is_some());
    Ok(())
}

/// A run that was admitted and is not stored yet; dropping this gives its share back.
#[derive(Debug)]
pub(crate) struct Admission {
    open: Arc<OpenRuns>,
    run: Option<RunId>,
}

impl Admission {
    pub(crate) fn keep(mut self) {
        self.run = None;
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(run) = &self.run {
            self.open.remove(run);
        }
    }
}

impl Runtime {
    /// Admits a new run with this input, or says which limit is reached.
    pub(crate) async fn admit(
        &self,
        run: &RunId,
        caller: Option<&str>,
        input: &Value,
    ) -> Result<Admission, OpenRunsError> {
        let limits = self.content().open_limits;
        let open = Arc::clone(&self.inner.open_runs);
        let bytes = weight(input);
        if open.admit(&limits, run, caller, bytes).is_err() {
            self.count_again().await;
            open.admit(&limits, run, caller, bytes)?;
        }
        let run = Some(run.clone());
        Ok(Admission { open, run })
    }

    /// Reads the store again where that may change a refusal: other processes end runs too. Calls that are refused at
    /// the same time wait for one reading.
    async fn count_again(&self) {
        let open = &self.inner.open_runs;
        let counting = async {
            let mut counted = open.counted.lock().await;
            let is_fresh = counted.is_some_and(|at| at.elapsed() < COUNT_AGE_MAX);
            if is_fresh || !open.has_foreign(|run| self.inner.runs.get(run).is_some()) {
                return;
            }
            if let Err(error) = count_into(self, &mut counted).await {
                let what = "cannot count the open runs";
                self.inner.repeated.warn(what, &error);
            }
        };
        // A store that is slow leaves it at the refusal.
        let _ = timeout(COUNT_WAIT_MAX, counting).await;
    }

    /// The runs that are counted as open here, and those that are driven here and have not ended: each of the second is
    /// among the first, and the first are those of the store within a minute.
    pub fn counted_and_live(&self) -> (BTreeSet<RunId>, BTreeSet<RunId>) {
        let live = self.inner.runs.unfinished();
        let ledger = self.inner.open_runs.lock();
        debug_assert!(ledger.adds_up(), "{ledger:?}");
        (ledger.runs.keys().cloned().collect(), live.collect())
    }
}

/// Counts what a run holds before others see what happened.
pub(crate) struct Counted {
    then: Arc<dyn Observer>,
    open: Arc<OpenRuns>,
}

impl Counted {
    pub(crate) fn new(then: Arc<dyn Observer>, open: Arc<OpenRuns>) -> Self {
        Self { then, open }
    }
}

impl Observer for Counted {
    fn saw(&self, state: &State, events: &[Event]) {
        if state.end.is_some() {
            self.open.remove(&state.run);
        } else {
            self.open.grown(&state.run, state.data_bytes);
        }
        self.then.saw(state, events);
    }
}

#[cfg(test)]
mod tests;
