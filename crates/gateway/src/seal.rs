//! Sealing: what clients carry for us and must neither read nor change. The key is a secret of the store, so that
//! every process on one store opens what any of them sealed.

use crate::limits::SEAL_LIFE;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use onecall_engine::journal::Journal;
use onecall_runtime::runs::Asked;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const NONCE_BYTES: usize = 24;

/// What a sealed text may be used for; one kind never opens as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    RequestState,
    BackendState,
    AnswerLink,
}

impl Purpose {
    fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::RequestState => b"onecall request state 1",
            Self::BackendState => b"onecall backend state 1",
            Self::AnswerLink => b"onecall answer link 1",
        }
    }
}

/// The questions that a client carries back with its answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestState {
    pub(crate) run: String,
    /// Step and round of each question.
    pub(crate) asked: Vec<(String, u32)>,
    pub(crate) principal: Option<String>,
    pub(crate) expires: u64,
    /// Digest of the request that is repeated.
    pub(crate) digest: String,
}

/// The state of a backend that asks, inside ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackendState {
    pub(crate) state: Option<String>,
    /// The call that waits at its backend, where it does.
    #[serde(default)]
    pub(crate) held: Option<u64>,
    /// It was asked to visit pages; the request is repeated once all were accepted.
    #[serde(default)]
    pub(crate) pages: bool,
    pub(crate) principal: Option<String>,
    pub(crate) expires: u64,
    /// Digest of the request that is repeated.
    pub(crate) digest: String,
}

/// One question that can be answered on a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerLink {
    pub(crate) run: String,
    pub(crate) step: String,
    pub(crate) round: u32,
    /// Whose run it is.
    pub(crate) principal: Option<String>,
    /// What the client that was given the link calls itself.
    #[serde(default)]
    pub(crate) client: Option<String>,
    pub(crate) expires: u64,
}

pub(crate) struct Sealer {
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sealer").finish_non_exhaustive()
    }
}

impl Sealer {
    /// With a secret of the store, which every process on it has.
    pub(crate) fn of(journal: &dyn Journal) -> Self {
        Self::new(journal.secret("gateway 1"))
    }

    fn new(key: [u8; 32]) -> Self {
        Self {
            cipher: XChaCha20Poly1305::new(&Key::from(key)),
        }
    }

    pub(crate) fn seal(&self, purpose: Purpose, content: &impl Serialize) -> String {
        let text = serde_json::to_vec(content).unwrap_or_default();
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload {
            msg: &text,
            aad: purpose.as_bytes(),
        };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload);
        let mut bytes = nonce.to_vec();
        bytes.extend(sealed.unwrap_or_default());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// `None` for whatever we did not seal for this purpose. The text may be as long as a message: backends have states
    /// of any length.
    pub(crate) fn unseal<T: DeserializeOwned>(&self, purpose: Purpose, text: &str) -> Option<T> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES)?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().ok()?;
        let payload = Payload {
            msg: sealed,
            aad: purpose.as_bytes(),
        };
        let text = self.cipher.decrypt(&XNonce::from(nonce), payload).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// Seconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

pub(crate) fn expiry() -> u64 {
    now().saturating_add(SEAL_LIFE.as_secs())
}

/// Links and states that answer a question are valid as long as the question can be answered, and for a day in any
/// case, so that the page can show how the question was closed. `otherwise`: how long a question without a deadline can be answered.
pub(crate) fn expiry_of(question: &Asked, otherwise: Duration) -> u64 {
    let deadline = question.deadline.map_or_else(
        || now().saturating_add(otherwise.as_secs()),
        |deadline| deadline.as_micros() / 1_000_000,
    );
    deadline.max(expiry())
}

/// Digest of the request that a state belongs to: what is asked of what with what, however its keys are ordered.
pub(crate) fn digest(method: &str, subject: &str, arguments: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update(method.as_bytes());
    hash.update(b"\0");
    hash.update(subject.as_bytes());
    hash.update(b"\0");
    hash.update(canonical(arguments).to_string().as_bytes());
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

/// A digest of a value, however its keys are ordered.
pub(crate) fn hash(value: &Value) -> [u8; 32] {
    Sha256::digest(canonical(value).to_string().as_bytes()).into()
}

fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries = entries.into_iter();
            Value::Object(
                entries
                    .map(|(key, value)| (key.clone(), canonical(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_engine::identity::Timestamp;
    use serde_json::json;

    #[test]
    fn what_was_changed_or_sealed_for_another_purpose_does_not_open() {
        let sealer = Sealer::new([7; 32]);
        let link = AnswerLink {
            run: "r1".to_owned(),
            step: "s".to_owned(),
            round: 2,
            client: None,
            principal: None,
            expires: 9,
        };
        let sealed = sealer.seal(Purpose::AnswerLink, &link);
        let opened = sealer.unseal::<AnswerLink>(Purpose::AnswerLink, &sealed);
        assert_eq!(opened, Some(link));
        assert_ne!(
            sealed,
            sealer.seal(Purpose::AnswerLink, &json!({ "run": "r1" }))
        );
        assert!(
            sealer
                .unseal::<Value>(Purpose::RequestState, &sealed)
                .is_none()
        );
        let other = Sealer::new([8; 32]);
        assert!(
            other
                .unseal::<Value>(Purpose::AnswerLink, &sealed)
                .is_none()
        );
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            let opened = sealer.unseal::<Value>(Purpose::AnswerLink, &changed);
            // The last character holds unused bits; a change of those alone is refused by the decoder.
            assert!(opened.is_none(), "changed at {at}");
        }
        assert!(sealer.unseal::<Value>(Purpose::AnswerLink, "").is_none());
    }

    #[test]
    fn a_link_is_valid_as_long_as_its_question_and_a_day_at_least() {
        let day = 24 * 3_600;
        let valid_for = |deadline: Option<u64>| {
            let question = Asked {
                step: "s".to_owned(),
                round: 0,
                message: String::new(),
                schema: None,
                url: None,
                deadline: deadline.map(|after| Timestamp::from_micros((now() + after) * 1_000_000)),
                fault: None,
            };
            expiry_of(&question, Duration::from_secs(3 * day)) - now()
        };
        for (deadline, days) in [(Some(7 * day), 7), (Some(300), 1), (None, 3)] {
            let valid = valid_for(deadline);
            assert!(valid.abs_diff(days * day) < 60, "{deadline:?}: {valid} s");
        }
    }

    #[test]
    fn a_state_of_any_length_comes_back() {
        let sealer = Sealer::new([7; 32]);
        let state = BackendState {
            state: Some("s".repeat(1_000_000)),
            held: None,
            principal: None,
            expires: 9,
            digest: String::new(),
            pages: false,
        };
        let sealed = sealer.seal(Purpose::BackendState, &state);
        let opened = sealer.unseal(Purpose::BackendState, &sealed);
        assert_eq!(opened, Some(state));
    }

    #[test]
    fn the_digest_minds_values_and_not_the_order_of_keys() {
        let one = digest(
            "tools/call",
            "t",
            &json!({ "a": 1, "b": { "c": 2, "d": 3 } }),
        );
        assert_eq!(
            one,
            digest(
                "tools/call",
                "t",
                &json!({ "b": { "d": 3, "c": 2 }, "a": 1 })
            )
        );
        assert_ne!(
            one,
            digest(
                "tools/call",
                "t",
                &json!({ "a": 1, "b": { "c": 2, "d": 4 } })
            )
        );
        assert_ne!(
            one,
            digest(
                "tools/call",
                "u",
                &json!({ "a": 1, "b": { "c": 2, "d": 3 } })
            )
        );
    }
}
