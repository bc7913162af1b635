//! States of backends that were answered: each is good for one answer. The same answer again goes on to the backend,
//! another one does not. Kept in memory, by digests alone, until the states expire; another process knows nothing of
//! them.

use crate::limits::SPENT_MAX;
use crate::seal;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

type Digest = [u8; 32];

#[derive(Debug, Default)]
pub(crate) struct Spent(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The answer that was given with each state.
    answers: HashMap<Digest, Digest>,
    /// The states with their ends, in the order in which they were answered.
    order: VecDeque<(Digest, u64)>,
}

impl Spent {
    /// Whether these answers may be given with this state, which from now on is good for no others. A client that
    /// comes back without any answers nothing.
    pub(crate) fn admits(&self, state: &str, expires: u64, answers: &Map<String, Value>) -> bool {
        self.admits_at(seal::now(), state, expires, answers)
    }

    fn admits_at(&self, now: u64, state: &str, expires: u64, answers: &Map<String, Value>) -> bool {
        let state = seal::hash(&Value::from(state));
        let given = (!answers.is_empty()).then(|| seal::hash(&Value::Object(answers.clone())));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = kept.answers.get(&state) {
            return given.as_ref() == Some(earlier);
        }
        if let Some(given) = given {
            kept.forget(now);
            kept.answers.insert(state, given);
            kept.order.push_back((state, expires));
        }
        true
    }
}

impl Kept {
    /// Makes room: what has expired is refused for that, and of the rest the oldest goes.
    fn forget(&mut self, now: u64) {
        while let Some((state, expires)) = self.order.front()
            && (*expires < now || self.order.len() >= SPENT_MAX)
        {
            self.answers.remove(state);
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answers(value: &Value) -> Map<String, Value> {
        let entries = value.as_object();
        entries.cloned().unwrap_or_default()
    }

    #[test]
    fn a_state_is_good_for_one_answer() {
        let spent = Spent::default();
        let gives = |state: &str, value: &Value| spent.admits_at(5, state, 9, &answers(value));
        let ada = json!({ "q": { "action": "accept", "content": { "name": "Ada" } } });
        let again = json!({ "q": { "content": { "name": "Ada" }, "action": "accept" } });
        let eve = json!({ "q": { "action": "accept", "content": { "name": "Eve" } } });
        assert!(gives("s", &json!({})), "nothing is answered yet");
        assert!(gives("s", &ada) && gives("s", &again));
        assert!(!gives("s", &eve) && !gives("s", &json!({})));
        assert!(gives("t", &eve));
    }

    #[test]
    fn what_is_kept_is_bounded_and_ends_with_the_states() {
        let spent = Spent::default();
        let one = answers(&json!({ "q": 1 }));
        let count = || spent.0.lock().unwrap().order.len();
        for state in 0..SPENT_MAX + 10 {
            assert!(spent.admits_at(5, &state.to_string(), 9, &one));
        }
        assert_eq!(count(), SPENT_MAX);
        let two = answers(&json!({ "q": 2 }));
        assert!(!spent.admits_at(5, &(SPENT_MAX + 9).to_string(), 9, &two));
        assert!(spent.admits_at(10, "later", 19, &one));
        assert_eq!(count(), 1);
        assert_eq!(spent.0.lock().unwrap().answers.len(), 1);
    }
}
