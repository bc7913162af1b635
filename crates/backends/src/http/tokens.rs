//! Access tokens for a backend: OAuth client credentials and token exchange (RFC 8693). A token is
//! kept until shortly before it expires, and fetched anew once the backend has refused it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::body::read_limited;
use super::endpoint::{Endpoint, EndpointFault};
use crate::error::RequestError;
use crate::limits::{
    TOKEN_BYTES_MAX, TOKEN_EARLY, TOKEN_LASTS_DEFAULT, TOKEN_LASTS_MAX, TOKEN_TIMEOUT,
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
    form: Bytes,
    /// Held while one is fetched: many calls make one request for a token.
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    bearer: HeaderValue,
    until: Instant,
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
        let mut basic = basic.map_err(|_| EndpointFault::Header("authorization".to_owned()))?;
        if let Some(basic) = &mut basic {
            basic.set_sensitive(true);
        }
        Ok(Self {
            endpoint,
            form: Bytes::from(form(options)),
            basic,
            kept: Mutex::default(),
        })
    }

    /// The value of `Authorization`. A token that cannot be had means that nothing is sent.
    pub(super) async fn bearer(&self) -> Result<HeaderValue, RequestError> {
        let mut kept = self.kept.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.until > Instant::now()) {
            return Ok(kept.bearer.clone());
        }
        let fetched = tokio::time::timeout(TOKEN_TIMEOUT, self.fetch()).await;
        let slow = || Err("it did not answer in time".to_owned());
        let fresh = fetched.unwrap_or_else(|_| slow());
        let fresh = fresh.map_err(|reason| {
            let server = self.endpoint.uri();
            RequestError::NotSent(format!("no token from {server}: {reason}"))
        })?;
        Ok(kept.insert(fresh).bearer.clone())
    }

    /// The backend refused this token; the next request fetches another.
    pub(super) async fn forget(&self, refused: &HeaderValue) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|kept| kept.bearer == *refused) {
            *kept = None;
        }
    }

    async fn fetch(&self) -> Result<Kept, String> {
        let mut headers = HeaderMap::new();
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(header::CONTENT_TYPE, kind);
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, json);
        if let Some(basic) = &self.basic {
            headers.insert(header::AUTHORIZATION, basic.clone());
        }
        let sent = self.endpoint.post_as_is(headers, self.form.clone()).await;
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

/// The body of the request, with no more than the grant needs.
fn form(options: &TokenOptions) -> String {
    let mut fields: Vec<(&str, &str)> = Vec::new();
    match &options.grant {
        Grant::ClientCredentials => fields.push(("grant_type", "client_credentials")),
        Grant::Exchange {
            subject_token,
            subject_token_type,
        } => fields.extend([
            ("grant_type", EXCHANGE),
            ("subject_token", subject_token.as_str()),
            (
                "subject_token_type",
                subject_token_type.as_deref().unwrap_or(ACCESS_TOKEN),
            ),
            ("requested_token_type", ACCESS_TOKEN),
        ]),
    }
    if options.client_secret.is_none() {
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
    pairs.collect::<Vec<_>>().join("&")
}

/// `application/x-www-form-urlencoded`, as the credentials in a header want it too.
fn encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
