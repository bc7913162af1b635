//! The last bytes of a child's stderr, kept to be shown when something fails, beside what it wrote to stdout in vain.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::{STDERR_BYTES_MAX, STDERR_SHOWN_LINES};
use crate::link::Ignored;

#[derive(Debug, Default)]
pub(crate) struct StderrRing {
    bytes: Mutex<VecDeque<u8>>,
}

/// What the child that was started last had to say to people, kept by whoever starts children: an attempt to connect
/// that is given up takes its child with it.
#[derive(Debug, Default)]
pub(crate) struct LastWords {
    last: Mutex<(Arc<StderrRing>, Arc<Ignored>)>,
}

impl LastWords {
    /// A ring for a child that is being started, and whose stdout `ignored` knows.
    pub(crate) fn begin(&self, ignored: &Arc<Ignored>) -> Arc<StderrRing> {
        let fresh = Arc::new(StderrRing::default());
        *self.lock() = (Arc::clone(&fresh), Arc::clone(ignored));
        fresh
    }

    pub(crate) fn tail(&self) -> Vec<String> {
        self.lock().0.tail()
    }

    /// What it wrote to stdout that was no message.
    pub(crate) fn ignored(&self) -> Option<String> {
        self.lock().1.told()
    }

    fn lock(&self) -> MutexGuard<'_, (Arc<StderrRing>, Arc<Ignored>)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was written to stdout, as part of a message; nothing where there was nothing.
pub(crate) fn wrote(ignored: Option<&str>) -> String {
    ignored.map_or_else(String::new, |ignored| format!("; {ignored}"))
}

/// The last lines as part of a message; nothing where there are none.
pub(crate) fn said(tail: &[String]) -> String {
    if tail.is_empty() {
        return String::new();
    }
    format!("; its last words: {}", tail.join(" | "))
}

impl StderrRing {
    pub(crate) fn push(&self, chunk: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend(chunk);
        let excess = bytes.len().saturating_sub(STDERR_BYTES_MAX);
        bytes.drain(..excess);
    }

    /// The last lines, without control characters, since they end up on terminals.
    pub(crate) fn tail(&self) -> Vec<String> {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(bytes.make_contiguous()).into_owned();
        let lines: Vec<_> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let shown = &lines[lines.len().saturating_sub(STDERR_SHOWN_LINES)..];
        shown
            .iter()
            .map(|line| line.chars().filter(|c| !c.is_control()).collect())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let ring = StderrRing::default();
        for number in 0..100_000 {
            ring.push(format!("line {number}\u{1b}[31m\n").as_bytes());
        }
        let tail = ring.tail();
        assert_eq!(tail.len(), STDERR_SHOWN_LINES);
        assert_eq!(tail.last().map(String::as_str), Some("line 99999[31m"));
    }
}
