//! Limits of one run: those that the configuration may change, and those that are fixed.

use onecall_workflow::limits::Bounds;
use std::time::Duration;

/// What one run may use at most; a run that passes one of the first two is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Events of one run.
    pub events: u64,
    /// Bytes of all values of one run.
    pub data_bytes: u64,
    /// What each of its expressions may use.
    pub expression: Bounds,
    /// How long a question can be answered if its step sets no timeout. `None`: until the run ends.
    pub question: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events: 50_000,
            data_bytes: 256 * 1024 * 1024,
            expression: Bounds::default(),
            question: None,
        }
    }
}

/// What is decided over a value of more bytes than this is decided away from the async threads.
pub const EVALUATION_BYTES_MAX: u64 = 64 * 1024;

/// Limit: how often a question is put again after an answer that does not fit.
pub const ANSWERS_REFUSED_MAX: u32 = 3;

/// Limit: how often the tool of one step may ask before it goes on.
pub const INQUIRIES_MAX: u32 = 20;

/// Limit: how often a repeatable call is made again after its answer was lost on the way.
pub const LOST_REPEATS_MAX: u32 = 3;

/// Limit: how often a repeatable call whose answer was lost is tried again while it cannot even be sent.
pub const UNSENT_REPEATS_MAX: u32 = 20;

/// Limit: how often a repeatable call is made again after the process died with it in flight.
pub const CRASH_REPEATS_MAX: u32 = 10;

/// The longest single wait between attempts, as a multiple of the first.
pub const RETRY_WAIT_FACTOR_MAX: u64 = 60;

/// Limit: inputs folded into one append.
pub const INPUTS_PER_APPEND_MAX: usize = 64;

/// Limit: questions of calls in flight that wait to be taken by their run.
pub const LIVE_QUESTIONS_MAX: usize = 32;

/// A run with nothing but timers and questions outstanding is parked after this many seconds.
pub const PARK_AFTER_SECONDS: u64 = 10;

/// A run that waits for people and holds more bytes than this is parked at once: a person takes longer than reading it
/// from the store again.
pub const PARK_AT_ONCE_BYTES: u64 = 64 * 1024;

/// Limit: characters of a schema fault that a failure shows.
pub(crate) const MISFIT_CHARS_MAX: usize = 300;
