//! Whether a connected backend answers. Failures of real calls raise a doubt, a probe settles it,
//! and calls fail at once while a backend is known not to answer. Pure; `slot` sends the probes.

use crate::error::CallError;
use crate::limits::DOUBT_AFTER;

/// What calls and probes have shown.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failures_in_row: u32,
    suspended: Option<String>,
}

/// What to do after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// Too many failures in a row: probe it.
    Doubtful,
}

impl Health {
    pub(crate) fn observe(&mut self, failure: Option<&CallError>) -> Verdict {
        if !failure.is_some_and(is_silence) {
            self.answered();
            return Verdict::Fine;
        }
        self.failures_in_row = self.failures_in_row.saturating_add(1);
        let is_due = self.failures_in_row.is_multiple_of(DOUBT_AFTER);
        if is_due && self.suspended.is_none() {
            Verdict::Doubtful
        } else {
            Verdict::Fine
        }
    }

    /// A call or a probe was answered, with whatever.
    pub(crate) fn answered(&mut self) {
        *self = Self::default();
    }

    /// A probe was not answered.
    pub(crate) fn suspend(&mut self, reason: String) {
        self.suspended = Some(reason);
    }

    /// Why calls are refused, while they are.
    pub(crate) fn suspended(&self) -> Option<&str> {
        self.suspended.as_deref()
    }
}

/// The backend gave no sign of life. An error that it sent is a sign of life.
fn is_silence(error: &CallError) -> bool {
    match error {
        CallError::Timeout { sent, .. } => *sent,
        CallError::UnknownOutcome { .. } => true,
        CallError::UnknownBackend(_)
        | CallError::Unavailable { .. }
        | CallError::Rpc { .. }
        | CallError::Denied { .. }
        | CallError::Limit { .. }
        | CallError::ArgumentsTooLong { .. }
        | CallError::Malformed { .. }
        | CallError::Stopped => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn timeout() -> CallError {
        CallError::Timeout {
            backend: "b".into(),
            after: Duration::from_secs(1),
            sent: true,
        }
    }

    #[test]
    fn doubt_needs_failures_in_a_row() {
        let mut health = Health::default();
        for _ in 1..DOUBT_AFTER {
            assert_eq!(health.observe(Some(&timeout())), Verdict::Fine);
        }
        assert_eq!(health.observe(None), Verdict::Fine);
        for _ in 1..DOUBT_AFTER {
            assert_eq!(health.observe(Some(&timeout())), Verdict::Fine);
        }
        assert_eq!(health.observe(Some(&timeout())), Verdict::Doubtful);
    }

    #[test]
    fn an_answer_ends_the_suspension() {
        let mut health = Health::default();
        health.suspend("silent".to_owned());
        assert_eq!(health.suspended(), Some("silent"));
        health.answered();
        assert_eq!(health.suspended(), None);
    }
}
