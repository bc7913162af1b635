//! States of backends that were answered: each is good for one answer. The same answer again goes on to the backend,
//! another one does not. Kept in memory, by digests alone, until the states expire; another process knows nothing of
//! them.

use crate::limits::SPENT_MAX;
use crate::seal;
use indexmap::IndexMap;
use onecall_mcp::{Exact, to_the_digit};
use serde_json::Value;
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
    pub(crate) fn admits(
        &self,
        state: &str,
        expires: u64,
        answers: &IndexMap<String, Exact>,
    ) -> bool {
        self.admits_at(seal::now(), state, expires, answers)
    }

    fn admits_at(
        &self,
        now: u64,
        state: &str,
        expires: u64,
        answers: &IndexMap<String, Exact>,
    ) -> bool {
        let state = seal::hash(&Value::from(state));
        let given = (!answers.is_empty()).then(|| digest(answers));
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

/// The order of keys makes no difference, and every digit does.
fn digest(answers: &IndexMap<String, Exact>) -> Digest {
    let answers = answers.iter();
    let told = answers.map(|(key, answer)| {
        let told = to_the_digit(answer.text());
        (key.clone(), told.unwrap_or_else(|_| answer.value().clone()))
    });
    seal::hash(&Value::Object(told.collect()))
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
    use serde_json::value::RawValue;

    fn answers(value: &Value) -> IndexMap<String, Exact> {
        let entries = value.as_object().into_iter().flatten();
        entries
            .map(|(key, value)| (key.clone(), value.clone().into()))
            .collect()
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
        let written = |text: &str| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            IndexMap::from([("q".to_owned(), Exact::from_raw(&raw).unwrap())])
        };
        let pair = written(r#"{"a":123456789012345678901,"b":123456789012345678902}"#);
        let swapped = written(r#"{"a":123456789012345678902,"b":123456789012345678901}"#);
        assert!(spent.admits_at(5, "u", 9, &pair) && spent.admits_at(5, "u", 9, &pair));
        assert!(!spent.admits_at(5, "u", 9, &swapped));
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
