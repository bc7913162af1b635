//! Model providers: the request and the answer of each kind of endpoint. Retries are made here too.

use crate::limits::{ANSWER_TOKENS_MAX, JUDGE_ATTEMPTS_MAX, JUDGE_PAUSE, JUDGE_PAUSE_MAX};
use onecall_backends::{is_safe_url, post_json};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    OpenAi,
    Anthropic,
}

/// An endpoint with its key.
#[derive(Clone)]
pub(super) struct Provider {
    pub(super) kind: Kind,
    pub(super) base_url: String,
    pub(super) key: Option<String>,
}

/// The key stays out of it.
impl std::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Provider")
            .field("kind", &self.kind)
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    /// Alternating messages of user and judge, the user first.
    pub(super) messages: &'a [String],
    pub(super) temperature: f64,
    pub(super) timeout: Duration,
}

impl Kind {
    /// `type` of a provider; the dialect allows no other.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "anthropic" => Self::Anthropic,
            _ => Self::OpenAi,
        }
    }

    pub(super) fn is_built_in(name: &str) -> bool {
        matches!(name, "openai" | "anthropic")
    }

    /// The provider that a model of this name belongs to.
    pub(super) fn of_model(model: &str) -> Option<Self> {
        let is_of = |starts: &[&str]| starts.iter().any(|start| model.starts_with(start));
        if is_of(&["claude"]) {
            Some(Self::Anthropic)
        } else if is_of(&["gpt-", "o1", "o3", "o4", "chatgpt-"]) {
            Some(Self::OpenAi)
        } else {
            None
        }
    }

    pub(super) fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    pub(super) fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }
}

impl Provider {
    /// The text of the answer.
    pub(super) async fn ask(&self, asked: &Asked<'_>) -> Result<String, String> {
        if self.key.is_some() && !is_safe_url(&self.base_url) {
            let url = &self.base_url;
            return Err(format!(
                "the key would be sent to `{url}` unencrypted; use https"
            ));
        }
        let (url, body) = self.request(asked);
        let mut pause = JUDGE_PAUSE;
        let mut last = String::new();
        for attempt in 1..=JUDGE_ATTEMPTS_MAX {
            let posted = post_json(&url, self.headers(), &body, asked.timeout).await;
            let posted = posted.map_err(|error| error.to_string())?;
            match posted.status {
                200..=299 => {
                    let answer: Value = serde_json::from_slice(&posted.body)
                        .map_err(|error| format!("the answer is not JSON: {error}"))?;
                    return self.text_of(&answer);
                }
                429 | 500..=599 => {
                    last = format!("`{url}` answered with HTTP status {}", posted.status);
                    if attempt < JUDGE_ATTEMPTS_MAX {
                        let wanted = posted.retry_after.unwrap_or(pause);
                        tokio::time::sleep(wanted.min(JUDGE_PAUSE_MAX)).await;
                        pause *= 2;
                    }
                }
                status => {
                    let text = String::from_utf8_lossy(&posted.body);
                    let text = crate::difference::cut(text.trim());
                    return Err(format!(
                        "`{url}` answered with HTTP status {status}: {text}"
                    ));
                }
            }
        }
        Err(format!("{last}, {JUDGE_ATTEMPTS_MAX} times"))
    }

    fn headers(&self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        match self.kind {
            Kind::OpenAi => {
                let key = self.key.as_ref();
                headers.extend(key.map(|key| pair("authorization", &format!("Bearer {key}"))));
            }
            Kind::Anthropic => {
                headers.push(pair("anthropic-version", "2023-06-01"));
                headers.extend(self.key.as_ref().map(|key| pair("x-api-key", key)));
            }
        }
        headers
    }

    fn request(&self, asked: &Asked<'_>) -> (String, Value) {
        let messages = asked.messages.iter().enumerate().map(|(index, text)| {
            let role = if index % 2 == 0 { "user" } else { "assistant" };
            json!({ "role": role, "content": text })
        });
        let base = &self.base_url;
        match self.kind {
            Kind::OpenAi => {
                let system = json!({ "role": "system", "content": asked.system });
                let messages: Vec<Value> = std::iter::once(system).chain(messages).collect();
                let mut body = json!({
                    "model": asked.model,
                    "temperature": asked.temperature,
                    "messages": messages,
                });
                // Its own models refuse the old name, other servers do not know the new one.
                let is_own = base == Kind::OpenAi.base_url();
                let limit = if is_own {
                    "max_completion_tokens"
                } else {
                    "max_tokens"
                };
                body[limit] = Value::from(ANSWER_TOKENS_MAX);
                (format!("{base}/chat/completions"), body)
            }
            Kind::Anthropic => {
                let body = json!({
                    "model": asked.model,
                    "max_tokens": ANSWER_TOKENS_MAX,
                    "temperature": asked.temperature,
                    "system": asked.system,
                    "messages": messages.collect::<Vec<_>>(),
                });
                let base = base.strip_suffix("/v1").unwrap_or(base);
                (format!("{base}/v1/messages"), body)
            }
        }
    }

    fn text_of(&self, answer: &Value) -> Result<String, String> {
        let refused = |why: &str| Err(format!("the judge refused: {why}"));
        match self.kind {
            Kind::OpenAi => {
                let choice = &answer["choices"][0];
                if let Some(refusal) = choice["message"]["refusal"].as_str() {
                    return refused(&crate::difference::cut(refusal));
                }
                if choice["finish_reason"] == "content_filter" {
                    return refused("the answer was filtered");
                }
                let text = choice["message"]["content"].as_str();
                text.map(str::to_owned)
                    .ok_or_else(|| "the answer has no `choices[0].message.content`".to_owned())
            }
            Kind::Anthropic => {
                if answer["stop_reason"] == "refusal" {
                    return refused("`stop_reason` is `refusal`");
                }
                let blocks = answer["content"].as_array().map(Vec::as_slice);
                let texts = blocks.unwrap_or_default().iter();
                let text: String = texts.filter_map(|block| block["text"].as_str()).collect();
                if text.is_empty() {
                    return Err("the answer has no text in `content`".to_owned());
                }
                Ok(text)
            }
        }
    }
}
