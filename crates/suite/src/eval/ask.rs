//! Asking one question: samples, unusable answers, recorded judgements.

use super::provider::{Asked, Kind, Provider};
use super::{Evaluation, prompt};
use crate::limits::JUDGE_TIME_MAX;
use onecall_workflow::stored::hash_text;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One usable answer of a judge, or the sum of its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Judgement {
    pub(super) score: f64,
    pub(super) reason: String,
}

/// The judgements that were recorded, and what judging needs from outside.
#[derive(Debug)]
pub struct Judgements {
    known: Mutex<BTreeMap<String, Judgement>>,
    is_changed: Mutex<bool>,
    /// The keys of providers by the name of their variable.
    keys: BTreeMap<String, String>,
    /// Judgements are cached even if the suite does not ask for it.
    records: bool,
    /// No request is made.
    replays: bool,
    timeout: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("they are not judgements: {0}")]
pub struct ReadJudgementsError(#[from] serde_json::Error);

impl Default for Judgements {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            is_changed: Mutex::default(),
            keys: BTreeMap::new(),
            records: false,
            replays: false,
            timeout: JUDGE_TIME_MAX,
        }
    }
}

impl Judgements {
    /// Judgements as `text` gave them.
    pub fn parse(text: &str) -> Result<Self, ReadJudgementsError> {
        Ok(Self {
            known: Mutex::new(serde_json::from_str(text)?),
            ..Self::default()
        })
    }

    /// With the keys of providers, by the name of their variable.
    #[must_use]
    pub fn with_keys(self, keys: BTreeMap<String, String>) -> Self {
        Self { keys, ..self }
    }

    /// Judgements are cached and reused even if the suite does not ask for it.
    #[must_use]
    pub fn recording(self, records: bool) -> Self {
        Self { records, ..self }
    }

    /// No request is made: only recorded judgements are used.
    #[must_use]
    pub fn replaying(self, replays: bool) -> Self {
        Self { replays, ..self }
    }

    /// How long a judge may take to answer.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// All judgements, if some are new.
    pub fn changed(&self) -> Option<String> {
        let is_changed = *lock(&self.is_changed);
        let text = serde_json::to_string_pretty(&*lock(&self.known));
        is_changed.then(|| text.expect("judgements are JSON") + "\n")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a question has no judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unjudged {
    /// Nobody can be asked.
    Deferred(String),
    /// The judge was asked, and its answer cannot be used.
    Unusable(String),
}

/// A member of the jury that can be asked.
#[derive(Debug)]
pub(super) struct Juror {
    pub(super) model: String,
    pub(super) weight: f64,
    provider: Provider,
}

/// Asks the judges of one composition.
#[derive(Debug)]
pub(super) struct Asker<'a> {
    pub(super) jurors: Result<Vec<Juror>, String>,
    samples: u32,
    is_cached: bool,
    judgements: &'a Judgements,
}

impl<'a> Asker<'a> {
    pub(super) fn new(evaluation: &Evaluation, judgements: &'a Judgements) -> Self {
        let judge = evaluation.judge.clone().unwrap_or_default();
        Self {
            jurors: jurors(evaluation, judgements),
            samples: judge.samples.max(1),
            is_cached: judge.is_cached || judgements.replays || judgements.records,
            judgements,
        }
    }

    /// The mean of the samples that can be used.
    pub(super) async fn ask(
        &self,
        juror: &Juror,
        question: &str,
        candidate: &str,
    ) -> Result<Judgement, Unjudged> {
        let samples = self.samples.to_string();
        let parts = [&juror.model, prompt::VERSION, &samples, question, candidate];
        let key = hash_text(&parts.join("\0"));
        if self.is_cached {
            let known = lock(&self.judgements.known).get(&key).cloned();
            if let Some(known) = known {
                return Ok(known);
            }
        }
        if self.judgements.replays {
            let text = "there is no recorded judgement, and `--replay` makes no request";
            return Err(Unjudged::Deferred(text.to_owned()));
        }
        let mut usable = Vec::new();
        let mut last = String::new();
        for _ in 0..self.samples {
            match self.sample(juror, question, candidate).await {
                Ok(judgement) => usable.push(judgement),
                Err(reason) => last = reason,
            }
        }
        let Some(first) = usable.first() else {
            return Err(Unjudged::Unusable(last));
        };
        let count = u32::try_from(usable.len()).unwrap_or(u32::MAX);
        let sum: f64 = usable.iter().map(|judgement| judgement.score).sum();
        let judgement = Judgement {
            score: sum / f64::from(count),
            reason: first.reason.clone(),
        };
        if self.is_cached {
            lock(&self.judgements.known).insert(key, judgement.clone());
            *lock(&self.judgements.is_changed) = true;
        }
        Ok(judgement)
    }

    /// One answer. An answer that is not JSON is requested once more.
    async fn sample(
        &self,
        juror: &Juror,
        question: &str,
        candidate: &str,
    ) -> Result<Judgement, String> {
        let mut messages = vec![prompt::user(question, candidate)];
        let asked = async |messages: &[String]| {
            let asked = Asked {
                model: &juror.model,
                system: prompt::SYSTEM,
                messages,
                temperature: if self.samples > 1 { 0.3 } else { 0.0 },
                timeout: self.judgements.timeout,
            };
            juror.provider.ask(&asked).await
        };
        let first = asked(&messages).await?;
        if let Some(judgement) = parsed(&first) {
            return Ok(judgement);
        }
        messages.push(first);
        messages.push(prompt::NUDGE.to_owned());
        let second = asked(&messages).await?;
        parsed(&second).ok_or_else(|| {
            let shown = crate::difference::cut(second.trim());
            format!("the judge did not answer with `{{reason, score, pass}}`: {shown}")
        })
    }
}

/// The JSON object of an answer. A score counts; without one `pass` does.
fn parsed(answer: &str) -> Option<Judgement> {
    let start = answer.find('{')?;
    let end = answer.rfind('}')?;
    let object: Value = serde_json::from_str(answer.get(start..=end)?).ok()?;
    let pass = object.get("pass").and_then(Value::as_bool);
    let score = match object.get("score") {
        Some(Value::Number(score)) => score.as_f64()?.clamp(0.0, 1.0),
        Some(_) => return None,
        None => f64::from(u8::from(pass?)),
    };
    let reason = object.get("reason").and_then(Value::as_str);
    Some(Judgement {
        score,
        reason: crate::difference::cut(reason.unwrap_or_default()),
    })
}

/// The jury, or why no model can be asked.
fn jurors(evaluation: &Evaluation, judgements: &Judgements) -> Result<Vec<Juror>, String> {
    let Some(judge) = &evaluation.judge else {
        return Err("no model provider: the suite has no `judge`".to_owned());
    };
    let juror = |provider: Option<&String>, model: &str, weight| {
        let provider = provider.or(judge.provider.as_ref());
        let provider = provider_of(provider, model, evaluation, judgements)?;
        Ok(Juror {
            model: model.to_owned(),
            weight,
            provider,
        })
    };
    if judge.jury.is_empty() {
        let model = judge.model.as_ref().ok_or("`judge` names no `model`")?;
        return Ok(vec![juror(None, model, 1.0)?]);
    }
    let members = judge.jury.iter();
    members
        .map(|member| juror(member.provider.as_ref(), &member.model, member.weight))
        .collect()
}

fn provider_of(
    name: Option<&String>,
    model: &str,
    evaluation: &Evaluation,
    judgements: &Judgements,
) -> Result<Provider, String> {
    let stated = match name {
        Some(name) => evaluation.providers.get(name),
        // The only provider of the suite need not be named.
        None if evaluation.providers.len() == 1 => evaluation.providers.values().next(),
        None => None,
    };
    let built_in = || match name {
        Some(name) => Some(Kind::of(name)),
        None => Kind::of_model(model),
    };
    let kind = stated.map(|own| own.kind).or_else(built_in);
    let kind = kind.ok_or_else(|| format!("no model provider is known for `{model}`"))?;
    let own_url = stated.and_then(|own| own.base_url.clone());
    let variable = match stated.and_then(|own| own.key_variable.as_deref()) {
        Some(variable) => Some(variable),
        // A server of one's own may want no key.
        None if own_url.is_some() => None,
        None => Some(kind.key_variable()),
    };
    let key = match variable {
        // Recorded judgements need no key.
        Some(_) if judgements.replays => None,
        Some(variable) => {
            let key = judgements.keys.get(variable).cloned();
            Some(key.ok_or_else(|| format!("no model provider: `{variable}` is not set"))?)
        }
        None => None,
    };
    Ok(Provider {
        kind,
        base_url: own_url.unwrap_or_else(|| kind.base_url().to_owned()),
        key,
    })
}

impl Evaluation {
    /// The environment variables that may hold keys.
    pub(crate) fn key_variables(&self) -> Vec<String> {
        let own = self.providers.values();
        let own = own.filter_map(|provider| provider.key_variable.clone());
        let built_in = [Kind::OpenAi, Kind::Anthropic].map(|kind| kind.key_variable().to_owned());
        own.chain(built_in).collect()
    }
}
