//! The circuit breaker of a backend, where one is configured: calls in a row that come to nothing open it, and after a
//! rest one call at a time tries whether it can be closed. Probes do not count here: a server that answers them may
//! still fail at its work. Pure; `slot` asks it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::status::Breaker;

/// One for all connections to a backend.
#[derive(Debug)]
pub(crate) struct Circuit {
    failures_max: u32,
    rest: Duration,
    now: Mutex<Now>,
}

#[derive(Debug, Default)]
struct Now {
    failures_in_row: u32,
    opened: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    reason: String,
    /// The rest lasts so long.
    until: Instant,
    /// A call tries whether it can be closed.
    is_tried: bool,
}

/// Why a call is not let through, and when another may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reason: String,
    pub(crate) retry_in: Duration,
}

/// A call that tries whether the breaker can be closed. One that ends without showing anything leaves that to the next.
#[derive(Debug)]
pub(crate) struct Trial<'a>(&'a Circuit);

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if let Some(opened) = &mut self.0.lock().opened {
            opened.is_tried = false;
        }
    }
}

impl Circuit {
    pub(crate) fn new(failures_max: u32, rest: Duration) -> Self {
        Self {
            failures_max,
            rest,
            now: Mutex::default(),
        }
    }

    /// Whether a call may go on, for now.
    pub(crate) fn check(&self, at: Instant) -> Result<(), Refused> {
        self.lock().check(at)
    }

    /// Lets a call through to the backend, or not.
    pub(crate) fn admit(&self, at: Instant) -> Result<Option<Trial<'_>>, Refused> {
        let mut now = self.lock();
        now.check(at)?;
        Ok(now.opened.as_mut().map(|opened| {
            opened.is_tried = true;
            Trial(self)
        }))
    }

    /// A call was answered.
    pub(crate) fn answered(&self) {
        *self.lock() = Now::default();
    }

    /// A call was sent and came to nothing.
    pub(crate) fn failed(&self, at: Instant, error: &str) {
        let mut now = self.lock();
        now.failures_in_row = now.failures_in_row.saturating_add(1);
        // A call that was let through before it opened says nothing new.
        let is_resting = now.opened.as_ref().is_some_and(|opened| at < opened.until);
        if now.failures_in_row < self.failures_max || is_resting {
            return;
        }
        let failed = match now.failures_in_row {
            1 => "a call failed".to_owned(),
            many => format!("{many} calls in a row failed, the last one so"),
        };
        now.opened = Some(Opened {
            reason: format!("its circuit breaker is open: {failed}: {error}"),
            until: at + self.rest,
            is_tried: false,
        });
    }

    /// How it stands and why, unless it is closed.
    pub(crate) fn shown(&self, at: Instant) -> Option<(Breaker, String)> {
        let now = self.lock();
        let opened = now.opened.as_ref()?;
        let breaker = if opened.is_tried || at >= opened.until {
            Breaker::HalfOpen
        } else {
            Breaker::Open
        };
        Some((breaker, opened.reason.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    fn check(&self, at: Instant) -> Result<(), Refused> {
        match &self.opened {
            Some(opened) if opened.is_tried || at < opened.until => Err(Refused {
                reason: opened.reason.clone(),
                retry_in: opened.until.saturating_duration_since(at),
            }),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_mins(1);

    /// Two calls in a row have failed.
    fn opened(at: Instant) -> Circuit {
        let circuit = Circuit::new(2, REST);
        circuit.failed(at, "silence");
        circuit.answered();
        circuit.failed(at, "silence");
        assert!(circuit.check(at).is_ok(), "only failures in a row count");
        circuit.failed(at, "silence");
        circuit
    }

    #[test]
    fn failures_in_a_row_open_it_for_the_rest() {
        let at = Instant::now();
        let circuit = opened(at);
        // One that was under way ends now, and prolongs nothing.
        circuit.failed(at + REST / 2, "late");
        let refused = circuit.check(at + REST / 2).unwrap_err();
        assert_eq!(refused.retry_in, REST / 2);
        assert!(refused.reason.ends_with("silence"), "{}", refused.reason);
        assert_eq!(circuit.shown(at).unwrap().0, Breaker::Open);
        assert_eq!(circuit.shown(at + REST).unwrap().0, Breaker::HalfOpen);
    }

    #[test]
    fn one_call_tries_it_and_decides() {
        let at = Instant::now();
        let circuit = opened(at);
        let later = at + REST;
        let trial = circuit.admit(later).unwrap();
        assert!(trial.is_some());
        assert!(circuit.admit(later).is_err(), "one at a time");
        drop(trial);
        let again = circuit.admit(later).unwrap();
        assert!(again.is_some(), "the first has shown nothing");
        drop(again);
        circuit.failed(later, "still silent");
        assert!(circuit.admit(later + REST / 2).is_err());
        let last = circuit.admit(later + REST).unwrap();
        circuit.answered();
        drop(last);
        assert_eq!(circuit.shown(later + REST), None);
        assert!(circuit.admit(later + REST).unwrap().is_none());
    }
}
