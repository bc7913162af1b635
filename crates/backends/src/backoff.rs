//! How long to wait before the next attempt to connect: doubling, capped, forgiven by a long life.

use std::time::Duration;

use crate::limits::{BACKOFF_FIRST, BACKOFF_FORGIVEN, BACKOFF_MAX};

#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after an attempt that failed or a connection that ended.
    pub(crate) fn after(&mut self, lived: Option<Duration>) -> Duration {
        if lived.is_some_and(|lived| lived >= BACKOFF_FORGIVEN) {
            self.failures = 0;
        }
        let wait = BACKOFF_FIRST
            .saturating_mul(1 << self.failures.min(10))
            .min(BACKOFF_MAX);
        self.failures = self.failures.saturating_add(1);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_are_forgiven() {
        let mut backoff = Backoff::default();
        let first: Vec<_> = (0..4).map(|_| backoff.after(None).as_millis()).collect();
        assert_eq!(first, [250, 500, 1000, 2000]);
        for _ in 0..40 {
            assert!(backoff.after(None) <= BACKOFF_MAX);
        }
        assert_eq!(backoff.after(None), BACKOFF_MAX);
        assert_eq!(backoff.after(Some(BACKOFF_FORGIVEN)), BACKOFF_FIRST);
    }
}
