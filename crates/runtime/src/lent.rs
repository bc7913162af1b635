//! The tokens of callers whose runs have not ended, in memory only: a parked run that is taken up again by this process
//! still has one. What a token is exchanged for is left to `backends`.

use crate::limits::LENT_MAX;
use crate::runtime::Runtime;
use onecall_backends::CallerToken;
use onecall_engine::identity::RunId;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a token is kept at least, also when there are too many; few live longer.
const LENT_LIFE: Duration = Duration::from_hours(1);

type Tokens = BTreeMap<RunId, (CallerToken, Instant)>;

#[derive(Debug, Default)]
pub(crate) struct Lent(Mutex<Tokens>);

impl Lent {
    pub(crate) fn of(&self, run: &RunId) -> Option<CallerToken> {
        self.lock().get(run).map(|(token, _)| token.clone())
    }

    pub(crate) fn remove(&self, run: &RunId) {
        self.lock().remove(run);
    }

    fn insert(&self, run: &RunId, token: CallerToken) {
        let mut lent = self.lock();
        if lent.len() >= LENT_MAX {
            lent.retain(|_, (_, since)| since.elapsed() < LENT_LIFE);
        }
        if lent.len() < LENT_MAX || lent.contains_key(run) {
            lent.insert(run.clone(), (token, Instant::now()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tokens> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtime {
    /// Lets a run use the token of its caller, who was found to own it. A later one takes the place of an earlier.
    pub fn lend(&self, run: &RunId, token: Option<&CallerToken>) {
        if let Some(token) = token {
            self.inner.lent.insert(run, token.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_until_its_run_ends_and_never_shown() {
        let lent = Lent::default();
        let run = RunId::new("r");
        lent.insert(&run, CallerToken::new("first-secret"));
        lent.insert(&run, CallerToken::new("second-secret"));
        let kept = lent.of(&run).unwrap();
        assert_eq!(kept.expose(), "second-secret");
        assert!(!format!("{lent:?} {kept:?}").contains("secret"));
        lent.remove(&run);
        assert!(lent.of(&run).is_none());
    }
}
