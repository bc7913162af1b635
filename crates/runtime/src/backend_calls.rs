//! Calls counted by backend: how they ended, how long they took, how many repeated an earlier one.
//! Counting is a lookup and a few additions.

use crate::limits::BACKENDS_COUNTED_MAX;
use onecall_backends::{BackendName, CallError};
use onecall_mcp::CallAnswer;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Up to how many milliseconds a call may take to be counted in each bucket.
pub const BUCKETS_MS: [u64; 12] = [
    1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 15_000, 60_000,
];

/// How long calls took.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Calls that took no longer than their bucket and longer than the one before; the last has the rest.
    lasted: [AtomicU64; BUCKETS_MS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    pub fn add(&self, lasted: Duration) {
        let millis = u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_MS.partition_point(|most| *most <= millis);
        self.lasted[bucket].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(lasted.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Calls in each bucket, the last for all that took longer.
    pub fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.lasted
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
    }

    pub fn total(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}

/// How a call of a backend ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a result, a question or a task.
    Answered,
    /// The tool reported an error.
    ToolError,
    /// No answer, or none that could be used.
    Failed,
}

impl Ending {
    pub const ALL: [Self; 3] = [Self::Answered, Self::ToolError, Self::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::ToolError => "tool_error",
            Self::Failed => "failed",
        }
    }

    fn of(called: &Result<CallAnswer, CallError>) -> Self {
        match called {
            Ok(CallAnswer::Complete(result)) if result.is_error() => Self::ToolError,
            Ok(_) => Self::Answered,
            Err(_) => Self::Failed,
        }
    }
}

/// The calls of one backend.
#[derive(Debug, Default)]
pub struct BackendCounts {
    endings: [AtomicU64; Ending::ALL.len()],
    retries: AtomicU64,
    pub took: Histogram,
}

impl BackendCounts {
    pub fn ended(&self, how: Ending) -> u64 {
        self.endings[how as usize].load(Ordering::Relaxed)
    }

    /// Attempts after the first of their step.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }
}

/// The calls of all backends since the process began, also of those that a reload took away.
#[derive(Debug, Default)]
pub(crate) struct BackendCalls(RwLock<BTreeMap<BackendName, Arc<BackendCounts>>>);

impl BackendCalls {
    /// Makes a call and counts it. One that is dropped before it ends is not counted.
    pub(crate) async fn counted(
        &self,
        backend: &BackendName,
        is_retry: bool,
        call: impl Future<Output = Result<CallAnswer, CallError>>,
    ) -> Result<CallAnswer, CallError> {
        let since = Instant::now();
        let called = call.await;
        if let Some(counts) = self.of(backend) {
            counts.endings[Ending::of(&called) as usize].fetch_add(1, Ordering::Relaxed);
            counts
                .retries
                .fetch_add(u64::from(is_retry), Ordering::Relaxed);
            counts.took.add(since.elapsed());
        }
        called
    }

    pub(crate) fn all(&self) -> Vec<(BackendName, Arc<BackendCounts>)> {
        let counts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.iter();
        counts
            .map(|(backend, counts)| (backend.clone(), Arc::clone(counts)))
            .collect()
    }

    fn of(&self, backend: &BackendName) -> Option<Arc<BackendCounts>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = known.get(backend) {
            return Some(Arc::clone(counts));
        }
        drop(known);
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= BACKENDS_COUNTED_MAX && !all.contains_key(backend) {
            return None;
        }
        let counts = all.entry(backend.clone()).or_default();
        Some(Arc::clone(counts))
    }
}
