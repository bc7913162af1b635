//! Whether a connected backend answers. Failures of real calls raise a doubt, a probe settles it,
//! and calls fail at once while a backend is known not to answer. Pure; `slot` sends the probes.

use std::time::Duration;

use crate::error::CallError;
use crate::status::Breaker;

/// What calls and probes have shown.
#[derive(Debug)]
pub(crate) struct Health {
    failures_max: u32,
    failures_in_row: u32,
    suspended: Option<String>,
    is_probing: bool,
    latency: Option<Duration>,
    last_error: Option<String>,
}

/// What to do after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// Too many failures in a row: probe it.
    Doubtful,
}

impl Health {
    /// Failures in a row raise a doubt from `failures_max` on.
    pub(crate) fn new(failures_max: u32) -> Self {
        Self {
            failures_max,
            failures_in_row: 0,
            suspended: None,
            is_probing: false,
            latency: None,
            last_error: None,
        }
    }

    /// A call was answered, so long after it was sent.
    pub(crate) fn answered_in(&mut self, took: Duration) -> Verdict {
        // Each answer counts for an eighth.
        let mean = self.latency.map_or(took, |mean| (mean * 7 + took) / 8);
        self.latency = Some(mean);
        self.answered();
        Verdict::Fine
    }

    /// A call that was sent has failed.
    pub(crate) fn failed(&mut self, error: &CallError) -> Verdict {
        self.remember(error.to_string());
        if !is_silence(error) {
            self.answered();
            return Verdict::Fine;
        }
        self.failures_in_row = self.failures_in_row.saturating_add(1);
        let is_due = self.failures_in_row.is_multiple_of(self.failures_max);
        if is_due && self.suspended.is_none() {
            Verdict::Doubtful
        } else {
            Verdict::Fine
        }
    }

    /// A call or a probe was answered, with whatever.
    pub(crate) fn answered(&mut self) {
        self.failures_in_row = 0;
        self.suspended = None;
        self.is_probing = false;
    }

    /// A probe was not answered.
    pub(crate) fn suspend(&mut self, reason: String) {
        self.remember(reason.clone());
        self.suspended = Some(reason);
        self.is_probing = false;
    }

    /// A probe is under way.
    pub(crate) fn probe(&mut self) {
        self.is_probing = true;
    }

    /// Something went wrong; remembered until something else does.
    pub(crate) fn remember(&mut self, reason: String) {
        self.last_error = Some(reason);
    }

    pub(crate) fn breaker(&self) -> Breaker {
        match (&self.suspended, self.is_probing) {
            (None, _) => Breaker::Closed,
            (Some(_), false) => Breaker::Open,
            (Some(_), true) => Breaker::HalfOpen,
        }
    }

    pub(crate) fn latency(&self) -> Option<Duration> {
        self.latency
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Why calls are refused, while they are.
    pub(crate) fn suspended(&self) -> Option<&str> {
        self.suspended.as_deref()
    }
}

/// The backend gave no sign of life. An error that it sent is a sign of life.
pub(crate) fn is_silence(error: &CallError) -> bool {
    match error {
        CallError::Timeout { sent, .. } => *sent,
        CallError::UnknownOutcome { .. } => true,
        CallError::UnknownBackend(_)
        | CallError::Unavailable { .. }
        | CallError::Rpc { .. }
        | CallError::Denied { .. }
        | CallError::Limit { .. }
        | CallError::ArgumentsTooLong { .. }
        | CallError::TooManyCallers { .. }
        | CallError::NoCaller { .. }
        | CallError::Malformed { .. }
        | CallError::Stopped => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOUBT_AFTER: u32 = 3;
    const TOOK: Duration = Duration::from_millis(8);

    fn timeout() -> CallError {
        CallError::Timeout {
            backend: "b".into(),
            after: Duration::from_secs(1),
            sent: true,
        }
    }

    #[test]
    fn doubt_needs_failures_in_a_row() {
        let mut health = Health::new(DOUBT_AFTER);
        for _ in 1..DOUBT_AFTER {
            assert_eq!(health.failed(&timeout()), Verdict::Fine);
        }
        assert_eq!(health.answered_in(TOOK), Verdict::Fine);
        for _ in 1..DOUBT_AFTER {
            assert_eq!(health.failed(&timeout()), Verdict::Fine);
        }
        assert_eq!(health.failed(&timeout()), Verdict::Doubtful);
    }

    #[test]
    fn an_answer_ends_the_suspension() {
        let mut health = Health::new(DOUBT_AFTER);
        health.suspend("silent".to_owned());
        assert_eq!(health.suspended(), Some("silent"));
        assert_eq!(health.breaker(), Breaker::Open);
        health.probe();
        assert_eq!(health.breaker(), Breaker::HalfOpen);
        health.answered();
        assert_eq!(health.suspended(), None);
        assert_eq!(health.breaker(), Breaker::Closed);
        assert_eq!(health.last_error(), Some("silent"));
    }

    #[test]
    fn latency_is_a_moving_mean_of_answers() {
        let mut health = Health::new(DOUBT_AFTER);
        health.answered_in(TOOK);
        health.failed(&timeout());
        assert_eq!(health.latency(), Some(TOOK));
        health.answered_in(TOOK * 9);
        assert_eq!(health.latency(), Some(TOOK * 2));
    }
}
