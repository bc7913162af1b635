//! Ends of runs that are not stored and whose callers were told to come back for them: in memory, the latest of them.

use crate::limits::{UNSTORED_BYTES_MAX, UNSTORED_MAX};
use crate::runs::Standing;
use onecall_engine::identity::RunId;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who started a run, and where it stands.
pub(crate) type End = (Option<Arc<str>>, Standing);

#[derive(Debug, Default)]
pub(crate) struct Unstored(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first, each with the size of its result.
    ends: VecDeque<(End, usize)>,
    bytes: usize,
}

impl Unstored {
    /// Keeps an end, at the expense of the oldest. One that is too large by itself is not kept.
    pub(crate) fn keep(&self, end: End) {
        self.keep_within(UNSTORED_BYTES_MAX, end);
    }

    fn keep_within(&self, bytes_max: usize, end: End) {
        let result = end.1.result.as_ref();
        let bytes = result.map_or(0, |result| result.to_string().len());
        if bytes > bytes_max {
            return;
        }
        let mut kept = self.lock();
        kept.bytes += bytes;
        kept.ends.push_back((end, bytes));
        while kept.ends.len() > UNSTORED_MAX || kept.bytes > bytes_max {
            let Some((_, bytes)) = kept.ends.pop_front() else {
                return;
            };
            kept.bytes -= bytes;
        }
    }

    pub(crate) fn find(&self, run: &RunId) -> Option<End> {
        let kept = self.lock();
        let mut ends = kept.ends.iter().map(|(end, _)| end);
        ends.find(|(_, standing)| standing.run == *run).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_engine::journal::Phase;
    use serde_json::json;

    fn end(run: usize, text: &str) -> End {
        let standing = Standing {
            run: RunId::new(format!("r{run}")),
            phase: Phase::Completed,
            result: Some(Arc::new(json!(text))),
            questions: Vec::new(),
            held: Vec::new(),
            steps: Arc::new([]),
            declares_output: false,
        };
        (None, standing)
    }

    #[test]
    fn the_latest_are_kept() {
        let unstored = Unstored::default();
        let has = |run: usize| unstored.find(&RunId::new(format!("r{run}"))).is_some();
        for run in 0..=UNSTORED_MAX {
            unstored.keep_within(10_000, end(run, "x"));
        }
        assert!(!has(0) && has(1) && has(UNSTORED_MAX));
        unstored.keep_within(10_000, end(9_998, &"x".repeat(10_000)));
        assert!(has(1) && !has(9_998));
        unstored.keep_within(10_000, end(9_999, &"x".repeat(9_998)));
        assert!(!has(UNSTORED_MAX) && has(9_999));
    }
}
