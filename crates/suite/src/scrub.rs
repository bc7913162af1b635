//! Removing secrets from what is stored in tapes and from what is matched against them.

use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// What replaces a secret.
const REDACTED: &str = "[REDACTED]";

/// A shorter value would match too much text that is not secret.
const SECRET_BYTES_MIN: usize = 8;

/// Keys whose texts are secrets, in lower case without `_` and `-`.
const SECRET_KEYS: [&str; 16] = [
    "accesstoken",
    "apikey",
    "authorization",
    "authtoken",
    "clientsecret",
    "cookie",
    "credential",
    "credentials",
    "passphrase",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "setcookie",
    "token",
    "xapikey",
];

/// Texts that look like credentials: of an authorization header, JSON Web Tokens, keys of well-known services.
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i:bearer|basic) +[A-Za-z0-9._~+/=-]{8,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_-]{30,}";
    Regex::new(pattern).expect("the pattern is valid")
});

/// Knows the secrets of one suite.
#[derive(Clone, Default)]
pub struct Scrub {
    /// The longest first.
    secrets: Vec<String>,
}

/// The secrets stay out of it.
impl std::fmt::Debug for Scrub {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Scrub(…)")
    }
}

impl Scrub {
    /// `secrets`: values that must not be stored wherever they are.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let long = |secret: &String| secret.len() >= SECRET_BYTES_MIN;
        let mut secrets: Vec<String> = secrets.into_iter().filter(long).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    pub(crate) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(entries) => {
                let entries = entries.iter().map(|(key, own)| {
                    let own = match own {
                        Value::String(_) if is_secret_key(key) => Value::from(REDACTED),
                        own => self.value(own),
                    };
                    (self.text(key), own)
                });
                Value::Object(entries.collect())
            }
            other => other.clone(),
        }
    }

    pub(crate) fn text(&self, text: &str) -> String {
        // A text block often holds JSON, whose keys say what is secret.
        if text.starts_with(['{', '['])
            && let Ok(inside @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
        {
            let scrubbed = self.value(&inside);
            return if scrubbed == inside {
                text.to_owned()
            } else {
                scrubbed.to_string()
            };
        }
        let mut text = PATTERN.replace_all(text, REDACTED).into_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED);
            }
        }
        text
    }
}

fn is_secret_key(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(|own| !matches!(own, '_' | '-'))
        .collect();
    SECRET_KEYS.contains(&plain.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_found_by_key_by_form_and_by_value() {
        let scrub = Scrub::new(["hunter2-hunter2".to_owned(), "short".to_owned()]);
        let value = json!({
            "api_key": "abc",
            "header": "Bearer abcdef0123456789",
            "text": "it is hunter2-hunter2, short",
            "nested": [{"Client-Secret": "x", "tokens": 5}],
            "json": "{\"password\":\"p\",\"n\":1}",
            "plain": "{\"n\": 1}",
        });
        let expected = json!({
            "api_key": "[REDACTED]",
            "header": "[REDACTED]",
            "text": "it is [REDACTED], short",
            "nested": [{"Client-Secret": "[REDACTED]", "tokens": 5}],
            "json": "{\"password\":\"[REDACTED]\",\"n\":1}",
            "plain": "{\"n\": 1}",
        });
        assert_eq!(scrub.value(&value), expected);
        assert_eq!(
            scrub.value(&expected),
            expected,
            "scrubbing twice changes nothing"
        );
    }
}
