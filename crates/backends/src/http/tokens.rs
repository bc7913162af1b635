//! Access tokens for a backend: OAuth client credentials and token exchange (RFC 8693). A token is
//! kept until shortly before it expires, and fetched anew once the backend has refused it. What a
//! caller showed is given to the token server alone.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::body::read_limited;
use super::endpoint::{Endpoint, EndpointFault};
use crate::call::CallerToken;
use crate::error::RequestError;
use crate::limits::{
    TOKEN_BYTES_MAX, TOKEN_EARLY, TOKEN_LASTS_DEFAULT, TOKEN_LASTS_MAX, TOKEN_TIMEOUT, TOKENS_MAX,
};
use crate::options::{Grant, HttpOptions, TokenOptions};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// The tokens of one backend.
#[derive(Debug)]
pub(super) struct Tokens {
    endpoint: Endpoint,
    /// Credentials of the client, where it has a secret.
    basic: Option<HeaderValue>,
    options: TokenOptions,
    /// By what they were exchanged for; our own under none.
    kept: std::sync::Mutex<HashMap<Option<CallerToken>, Arc<Cell>>>,
}

/// One token. Locked while it is fetched: many calls make one request for it.
type Cell = Mutex<Held>;

/// What is known of a token.
#[derive(Debug, Default)]
struct Held {
    kept: Option<Kept>,
    /// When it could not be had last, and why.
    failed: Option<(Instant, String)>,
}

/// The token that the caller of a connection showed last. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown(Arc<std::sync::Mutex<Option<CallerToken>>>);

impl Shown {
    pub(crate) fn set(&self, token: CallerToken) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }

    fn get(&self) -> Option<CallerToken> {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.clone()
    }
}

#[derive(Debug)]
struct Kept {
    bearer: HeaderValue,
    until: Instant,
}

impl Kept {
    fn is_good(&self) -> bool {
        self.until > Instant::now()
    }
}

/// What a token server answers; everything else in it is passed over.
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: Option<String>,
    expires_in: Option<Value>,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
    error_description: Option<String>,
}

impl Tokens {
    pub(super) fn new(options: &TokenOptions) -> Result<Self, EndpointFault> {
        let endpoint = Endpoint::new(&HttpOptions {
            url: options.url.clone(),
            headers: Vec::new(),
            tokens: None,
        })?;
        if !endpoint.is_safe_for_secrets() {
            let reason = "credentials go to https:// or to this machine only";
            return Err(EndpointFault::Url(reason.to_owned()));
        }
        let basic = options.client_secret.as_ref().map(|secret| {
            let pair = format!("{}:{}", encode(&options.client_id), encode(secret));
            HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
        });
        let basic = basic.transpose();
        let invalid = |_| EndpointFault::Header("`Authorization` is not a valid header".to_owned());
        let mut basic = basic.map_err(invalid)?;
        if let Some(basic) = &mut basic {
            basic.set_sensitive(true);
        }
        Ok(Self {
            endpoint,
            options: options.clone(),
            basic,
            kept: std::sync::Mutex::default(),
        })
    }

    /// The value of `Authorization`, if there is to be one. A token that cannot be had means that nothing is sent.
    pub(super) async fn bearer(&self, shown: &Shown) -> Result<Option<HeaderValue>, RequestError> {
        let subject = shown.get();
        let Some(form) = form(&self.options, subject.as_ref()) else {
            return Ok(None);
        };
        let cell = self.cell(subject);
        let began = Instant::now();
        let mut held = cell.lock().await;
        if let Some(kept) = held.kept.as_ref().filter(|kept| kept.is_good()) {
            return Ok(Some(kept.bearer.clone()));
        }
        // Those who waited for it meanwhile would each wait as long for the same.
        let failed = held.failed.as_ref().filter(|(at, _)| *at >= began);
        if let Some((_, reason)) = failed {
            return Err(self.missing(reason));
        }
        let fetched = tokio::time::timeout(TOKEN_TIMEOUT, self.fetch(form)).await;
        let slow = || Err("it did not answer in time".to_owned());
        match fetched.unwrap_or_else(|_| slow()) {
            Ok(fresh) => Ok(Some(held.kept.insert(fresh).bearer.clone())),
            Err(reason) => {
                let missing = self.missing(&reason);
                held.failed = Some((Instant::now(), reason));
                Err(missing)
            }
        }
    }

    fn missing(&self, reason: &str) -> RequestError {
        let server = self.endpoint.uri();
        RequestError::NotSent(format!("no token from {server}: {reason}"))
    }

    /// Where the token for a subject is kept. Those that nobody waits for make room, the useless ones first.
    fn cell(&self, subject: Option<CallerToken>) -> Arc<Cell> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= TOKENS_MAX && !kept.contains_key(&subject) {
            let is_good = |cell: &Cell| {
                let token = cell.try_lock();
                token.is_ok_and(|held| held.kept.as_ref().is_some_and(Kept::is_good))
            };
            kept.retain(|_, cell| Arc::strong_count(cell) > 1 || is_good(cell));
            if kept.len() >= TOKENS_MAX {
                kept.retain(|_, cell| Arc::strong_count(cell) > 1);
            }
        }
        Arc::clone(kept.entry(subject).or_default())
    }

    /// The backend refused this token; the next request fetches another.
    pub(super) async fn forget(&self, refused: &HeaderValue, shown: &Shown) {
        let cell = self.cell(shown.get());
        let kept = &mut cell.lock().await.kept;
        if kept.as_ref().is_some_and(|kept| kept.bearer == *refused) {
            *kept = None;
        }
    }

    async fn fetch(&self, form: String) -> Result<Kept, String> {
        let mut headers = HeaderMap::new();
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(header::CONTENT_TYPE, kind);
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, json);
        if let Some(basic) = &self.basic {
            headers.insert(header::AUTHORIZATION, basic.clone());
        }
        let sent = self
            .endpoint
            .send_as_is(Method::POST, headers, Bytes::from(form))
            .await;
        let response = sent.map_err(RequestError::into_reason)?;
        let status = response.status();
        let body = read_limited(response.into_body(), TOKEN_BYTES_MAX).await;
        let body = body.map_err(RequestError::into_reason)?;
        if !status.is_success() {
            let refused: Option<Refused> = serde_json::from_slice(&body).ok();
            return Err(match refused {
                Some(refused) => {
                    let more = refused.error_description.map(|text| format!(" ({text})"));
                    format!("it refused: {}{}", refused.error, more.unwrap_or_default())
                }
                None => format!("it answered with HTTP status {status}"),
            });
        }
        let granted: Granted = serde_json::from_slice(&body)
            .map_err(|_| "its answer holds no `access_token`".to_owned())?;
        kept(&granted)
    }
}

fn kept(granted: &Granted) -> Result<Kept, String> {
    if let Some(kind) = &granted.token_type
        && !kind.eq_ignore_ascii_case("bearer")
    {
        return Err(format!("its tokens are of type `{kind}`, not bearer"));
    }
    let bearer = HeaderValue::from_str(&format!("Bearer {}", granted.access_token));
    let mut bearer = bearer.map_err(|_| "its token fits in no header".to_owned())?;
    bearer.set_sensitive(true);
    let seconds = match &granted.expires_in {
        Some(Value::Number(number)) => number.as_u64(),
        // Some servers write the number as text.
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    let lasts = seconds.map_or(TOKEN_LASTS_DEFAULT, Duration::from_secs);
    let lasts = lasts.min(TOKEN_LASTS_MAX);
    let early = TOKEN_EARLY.min(lasts / 10);
    Ok(Kept {
        bearer,
        until: Instant::now() + lasts.saturating_sub(early),
    })
}

/// The body of the request, with no more than the grant needs. `None` where there is nothing to show: requests that
/// belong to no caller then go without a token, unless we have a secret of our own.
fn form(options: &TokenOptions, caller: Option<&CallerToken>) -> Option<String> {
    let mut fields: Vec<(&str, &str)> = Vec::new();
    match (&options.grant, caller) {
        (Grant::ClientCredentials, _) => fields.push(("grant_type", "client_credentials")),
        (Grant::ExchangeCaller { .. }, None) if options.client_secret.is_some() => {
            fields.push(("grant_type", "client_credentials"));
        }
        (Grant::ExchangeCaller { .. }, None) => return None,
        (Grant::ExchangeCaller { subject_token_type }, Some(caller)) => {
            fields.extend(exchange(caller.expose(), subject_token_type.as_deref()));
        }
        (
            Grant::Exchange {
                subject_token,
                subject_token_type,
            },
            _,
        ) => fields.extend(exchange(subject_token, subject_token_type.as_deref())),
    }
    if options.client_secret.is_none() && !options.client_id.is_empty() {
        fields.push(("client_id", &options.client_id));
    }
    let scopes = options.scopes.join(" ");
    if !scopes.is_empty() {
        fields.push(("scope", &scopes));
    }
    let optional = [
        ("audience", &options.audience),
        ("resource", &options.resource),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            fields.push((name, value));
        }
    }
    let pairs = fields
        .into_iter()
        .map(|(name, value)| format!("{name}={}", encode(value)));
    Some(pairs.collect::<Vec<_>>().join("&"))
}

fn exchange<'a>(token: &'a str, kind: Option<&'a str>) -> [(&'static str, &'a str); 4] {
    [
        ("grant_type", EXCHANGE),
        ("subject_token", token),
        ("subject_token_type", kind.unwrap_or(ACCESS_TOKEN)),
        ("requested_token_type", ACCESS_TOKEN),
    ]
}

/// `application/x-www-form-urlencoded`, as the credentials in a header want it too.
fn encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use onecall_testkit::faulty::{Reply, Server};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn those_who_wait_for_a_token_share_its_failure() {
        let refused = json!({ "error": "invalid_client" });
        let server = Server::start(move |_| Reply::Json(400, Vec::new(), refused.clone())).await;
        let tokens = Tokens::new(&TokenOptions {
            url: server.url.clone(),
            client_id: "me".to_owned(),
            client_secret: Some("secret".to_owned()),
            scopes: Vec::new(),
            audience: None,
            resource: None,
            grant: Grant::ClientCredentials,
        });
        let (tokens, shown) = (tokens.unwrap(), Shown::default());
        let all = futures::future::join_all((0..8).map(|_| tokens.bearer(&shown)));
        for outcome in all.await {
            let Err(RequestError::NotSent(reason)) = outcome else {
                panic!("a token")
            };
            assert!(reason.ends_with("it refused: invalid_client"), "{reason}");
        }
        assert_eq!(server.seen().len(), 1);
        tokens.bearer(&shown).await.unwrap_err();
        assert_eq!(server.seen().len(), 2, "a later call tries again");
    }
}
