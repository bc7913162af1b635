//! Logs errors that come back again and again, such as those of a full disk: at once, then ever more rarely, with how
//! often they came in between.

use crate::limits::{REPEATED_MAX, REPEATED_PAUSE_FIRST, REPEATED_PAUSE_MAX};
use crate::world::chain;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// An error that was not seen for so long is new.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(20);

/// The errors that were logged lately, by what was tried and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Repeated(Mutex<BTreeMap<(&'static str, String), Repetition>>);

#[derive(Debug)]
struct Repetition {
    last: Instant,
    logged: Instant,
    pause: Duration,
    /// How often it came since it was logged.
    count: u64,
}

impl Repeated {
    /// Logs an error as a warning, unless the same was logged a short time ago.
    pub(crate) fn warn(&self, what: &'static str, error: &dyn Error) {
        let error = chain(error);
        match self.count(what, &error) {
            None => {}
            Some(1) => tracing::warn!(error, "{what}"),
            Some(times) => tracing::warn!(error, times, "{what}"),
        }
    }

    /// How often the error came since it was logged, if it is to be logged now.
    fn count(&self, what: &'static str, error: &str) -> Option<u64> {
        let now = Instant::now();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (what, error.to_owned());
        known.retain(|_, one| now.duration_since(one.last) < FORGOTTEN_AFTER);
        if let Some(one) = known.get_mut(&key) {
            one.last = now;
            one.count += 1;
            if now.duration_since(one.logged) < one.pause {
                return None;
            }
            one.logged = now;
            one.pause = one.pause.saturating_mul(2).min(REPEATED_PAUSE_MAX);
            return Some(std::mem::take(&mut one.count));
        }
        if known.len() >= REPEATED_MAX {
            known.clear();
        }
        known.insert(
            key,
            Repetition {
                last: now,
                logged: now,
                pause: REPEATED_PAUSE_FIRST,
                count: 0,
            },
        );
        Some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_error_that_stays_is_logged_ever_more_rarely() {
        let repeated = Repeated::default();
        let mut logged = Vec::new();
        // Twice per second for an hour.
        for _ in 0..7_200 {
            logged.extend(repeated.count("cannot tend the store", "disk full"));
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert_eq!(logged.len(), 11, "{logged:?}");
        assert_eq!(logged[..3], [1, 20, 40]);
        assert_eq!(repeated.count("cannot tend the store", "locked"), Some(1));
        tokio::time::sleep(FORGOTTEN_AFTER).await;
        assert_eq!(
            repeated.count("cannot tend the store", "disk full"),
            Some(1)
        );
    }
}
