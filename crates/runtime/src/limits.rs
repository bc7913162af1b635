//! Limits on what one process keeps of runs, callers, plans and lists.

use std::time::Duration;

/// The first list waits so long for backends whose tools are known from an earlier process, which may be others now.
pub(crate) const KEPT_LIST_WAIT: Duration = Duration::from_millis(250);

/// Limit: steps to come that are shown to who answers.
pub(crate) const STEPS_AHEAD_MAX: usize = 50;

/// Limit: one value that is shown to who answers, in characters.
pub(crate) const AHEAD_CHARS_MAX: usize = 4_000;

/// Limit: places listed of one value; more are counted.
pub(crate) const DIFFERENCES_MAX: usize = 50;

/// How long a question can be answered if neither its workflow nor the configuration sets a timeout.
pub(crate) const QUESTION_TIMEOUT: Duration = Duration::from_hours(7 * 24);

/// Limit: runs that have not ended, of all callers and of one, and the bytes of their values, unless configured.
pub(crate) const OPEN_RUNS_MAX: usize = 20_000;
pub(crate) const OPEN_RUNS_PER_CALLER_MAX: usize = 1_000;
pub(crate) const OPEN_BYTES_MAX: u64 = 1024 * 1024 * 1024;
pub(crate) const OPEN_BYTES_PER_CALLER_MAX: u64 = 256 * 1024 * 1024;

/// Limit: runs bound to other backends that are reported.
pub(crate) const STRANDED_MAX: usize = 1_000;

/// Limit: runs of others that are remembered; beyond it all are looked at again.
pub(crate) const FOREIGN_MAX: usize = 10_000;

/// Limit: tools of one list that is kept; longer ones are read anew after a restart.
pub(crate) const TOOLS_KEPT_MAX: usize = 2_000;

/// Limit: runs whose caller's token is kept.
pub(crate) const LENT_MAX: usize = 10_000;

/// Limit: plans that are kept read.
pub(crate) const PLANS_MAX: usize = 256;

/// Characters of a name that every host takes.
pub(crate) const NAME_CHARACTERS_MAX: usize = 64;

/// Limit: batches of events a slow watcher may lag behind before it misses some. Room for them is made when a
/// run starts, whether anybody watches or not.
pub(crate) const WATCH_LAG_MAX: usize = 128;

/// Limit: inputs that wait for a run to take them.
pub(crate) const INPUTS_MAX: usize = 64;

/// Limit: files of one command.
pub(crate) const FILES_MAX: usize = 10_000;

/// Limit: files beside a configuration that are looked at, to tell which of them are not read.
pub(crate) const BESIDE_FILES_MAX: usize = 200;

/// Limit: bytes of such a file; a longer one was not written by hand.
pub(crate) const BESIDE_BYTES_MAX: u64 = 256 * 1024;

/// Such files that are named; more are counted.
pub(crate) const BESIDE_SHOWN_MAX: usize = 5;

/// Limit: how deep directories are read.
pub(crate) const DEPTH_MAX: usize = 16;

/// Limit: batches of one maintenance, so that it never holds up the rounds.
pub(crate) const MAINTENANCE_BATCHES_MAX: usize = 10;

/// Limit: `tracestate` and `baggage`, in bytes; longer ones are not passed on.
pub(crate) const TRACE_STATE_BYTES_MAX: usize = 8 * 1024;

/// Limit: how long a call waits for the tools of a backend that it needs, where the time of the call is longer. Less
/// than clients wait.
pub(crate) const CONNECT_WAIT_MAX: Duration = Duration::from_secs(30);

/// Limit: questions of one call that wait to be taken.
pub(crate) const QUESTIONS_MAX: usize = 8;

/// Limit: backends that are counted apart in the metrics.
pub(crate) const BACKENDS_COUNTED_MAX: usize = 500;

/// Bytes that are written to find out whether the store can be written.
pub(crate) const PROBE_BYTES: usize = 64 * 1024;

/// Limit: open runs that are counted for operators.
pub(crate) const RUNS_COUNTED_MAX: usize = 10_000;

/// Limit: held items of a loop that are named.
pub(crate) const HELD_SHOWN_MAX: usize = 20;

/// Limit: runs that are not stored whose ends are kept in memory, and the bytes of their results.
pub(crate) const UNSTORED_MAX: usize = 256;
pub(crate) const UNSTORED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Limit: commands that wait for the store to be usable; beyond it no more are taken.
pub(crate) const UNDELIVERED_MAX: usize = 1_000;

/// How soon a run that the store did not take back is offered to it again, at first and at last.
pub(crate) const RELEASE_PAUSE_FIRST: Duration = Duration::from_millis(500);
pub(crate) const RELEASE_PAUSE_MAX: Duration = Duration::from_secs(10);

/// How long an error that was logged is only counted, at first and at last.
pub(crate) const REPEATED_PAUSE_FIRST: Duration = Duration::from_secs(10);
pub(crate) const REPEATED_PAUSE_MAX: Duration = Duration::from_mins(10);

/// Limit: different errors whose repetitions are counted.
pub(crate) const REPEATED_MAX: usize = 64;

/// Limit: batches of runs that a start resumes before it serves; the rest follows.
pub(crate) const RESUME_BATCHES_MAX: usize = 50;

/// Before a call is refused since too many runs are open, they are counted again if the count is as old as this; for so
/// long it waits for the store.
pub(crate) const COUNT_AGE_MAX: Duration = Duration::from_secs(3);
pub(crate) const COUNT_WAIT_MAX: Duration = Duration::from_secs(2);

/// Limit: the pause before a run that cannot begin yet is tried again.
pub(crate) const BEGIN_PAUSE_MAX: Duration = Duration::from_mins(1);
