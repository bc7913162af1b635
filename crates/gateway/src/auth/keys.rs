//! The public keys of an identity provider: found through its own description of itself, kept for a while, and looked
//! up anew when a token names a key that is not among them, since providers change their keys.

use super::Denial;
use crate::limits::{KEYS_AGAIN, KEYS_FRESH, KEYS_MAX, KEYS_STALE};
use http::Uri;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use onecall_backends::{FetchError, fetch_json, is_safe_url};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

/// One key, with what it may be used for.
#[derive(Debug)]
pub(super) struct PublicKey {
    id: Option<String>,
    algorithm: Option<String>,
    pub(super) key: DecodingKey,
}

#[derive(Debug)]
pub(super) struct Keys {
    issuer: String,
    /// Where the keys are, if the provider need not be asked.
    url: Option<String>,
    /// Plain HTTP will do, which somebody on the way can change.
    allows_http: bool,
    /// Held while they are fetched: many tokens make one request.
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    keys: Arc<[PublicKey]>,
    /// When they were got.
    since: Option<Instant>,
    /// When they were last asked for, with whatever outcome.
    tried: Option<Instant>,
}

#[derive(Debug, thiserror::Error)]
enum KeysError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("`{0}` is not https")]
    Plain(String),
    #[error("the identity provider says it is `{0}`")]
    OtherIssuer(String),
    #[error("`{0}` names no `jwks_uri`")]
    NoUrl(String),
    #[error("`{0}` holds no keys that can be used")]
    NoKeys(String),
}

impl Keys {
    pub(super) fn new(issuer: &str, url: Option<&str>, allows_http: bool) -> Self {
        Self {
            issuer: issuer.to_owned(),
            url: url.map(str::to_owned),
            allows_http,
            kept: Arc::default(),
        }
    }

    /// The keys that may have signed a token.
    pub(super) async fn candidates(
        self: &Arc<Self>,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<Vec<DecodingKey>, Denial> {
        let unknown = || {
            let text = "the keys of the identity provider are not known";
            Denial::Unavailable(text.to_owned())
        };
        let mut kept = Arc::clone(&self.kept).lock_owned().await;
        let is_wanting =
            matching(&kept.keys, algorithm, id).is_empty() || !is_within(kept.since, KEYS_FRESH);
        if is_wanting && !is_within(kept.tried, KEYS_AGAIN) {
            // It goes on if this caller leaves, or one who does could keep the keys from all others.
            let renewed = tokio::spawn(Arc::clone(self).renewed(kept)).await;
            kept = renewed.map_err(|_| unknown())??;
        }
        if kept.since.is_none() {
            return Err(unknown());
        }
        Ok(matching(&kept.keys, algorithm, id))
    }

    /// The same keys, or those that the provider has now.
    async fn renewed(
        self: Arc<Self>,
        mut kept: OwnedMutexGuard<Kept>,
    ) -> Result<OwnedMutexGuard<Kept>, Denial> {
        kept.tried = Some(Instant::now());
        match self.fetch().await {
            Ok(keys) => {
                kept.keys = keys.into();
                kept.since = Some(Instant::now());
            }
            // What was known yesterday is better than nobody let in, for a while.
            Err(error) if is_within(kept.since, KEYS_STALE) => {
                let issuer = &self.issuer;
                tracing::warn!(issuer, %error, "the keys could not be looked up anew");
            }
            Err(error) => {
                kept.keys = Arc::default();
                kept.since = None;
                return Err(Denial::Unavailable(error.to_string()));
            }
        }
        Ok(kept)
    }

    async fn fetch(&self) -> Result<Vec<PublicKey>, KeysError> {
        let url = match &self.url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let set = fetch_json(self.safe(&url)?).await?;
        let keys: Vec<PublicKey> = set["keys"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(public_key)
            .take(KEYS_MAX)
            .collect();
        if keys.is_empty() {
            return Err(KeysError::NoKeys(url));
        }
        Ok(keys)
    }

    /// Asks the provider where its keys are.
    async fn discover(&self) -> Result<String, KeysError> {
        let mut last = KeysError::NoUrl(self.issuer.clone());
        for url in descriptions(&self.issuer) {
            match fetch_json(self.safe(&url)?).await {
                Ok(description) => return self.keys_url(&description, url),
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    fn keys_url(&self, description: &Value, url: String) -> Result<String, KeysError> {
        match description["issuer"].as_str() {
            Some(issuer) if issuer == self.issuer => {}
            other => return Err(KeysError::OtherIssuer(other.unwrap_or("nobody").to_owned())),
        }
        let keys = description["jwks_uri"].as_str();
        keys.map(str::to_owned).ok_or(KeysError::NoUrl(url))
    }

    /// Whoever can change the keys on the way can sign tokens.
    fn safe<'u>(&self, url: &'u str) -> Result<&'u str, KeysError> {
        if self.allows_http || is_safe_url(url) {
            return Ok(url);
        }
        Err(KeysError::Plain(url.to_owned()))
    }
}

fn is_within(since: Option<Instant>, time: Duration) -> bool {
    since.is_some_and(|at| at.elapsed() < time)
}

/// Where a provider describes itself: below its own URL, or at the well-known path before it (RFC 8414).
fn descriptions(issuer: &str) -> Vec<String> {
    let issuer = issuer.trim_end_matches('/');
    let mut urls = vec![format!("{issuer}/.well-known/openid-configuration")];
    if let Ok(uri) = issuer.parse::<Uri>()
        && let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority())
    {
        let path = uri.path().trim_end_matches('/');
        let well_known = "/.well-known/oauth-authorization-server";
        urls.push(format!("{scheme}://{authority}{well_known}{path}"));
    }
    urls
}

fn matching(keys: &[PublicKey], algorithm: Algorithm, id: Option<&str>) -> Vec<DecodingKey> {
    let name = serde_json::to_value(algorithm).unwrap_or_default();
    let fits = |own: &&PublicKey| {
        own.key.family() == algorithm.family()
            && own.algorithm.as_ref().is_none_or(|own| name == **own)
            && id.is_none_or(|id| own.id.as_deref().is_none_or(|own| own == id))
    };
    let keys = keys.iter().filter(fits);
    keys.map(|own| own.key.clone()).collect()
}

/// `None` for keys of other kinds and uses; a secret key is none of a provider.
fn public_key(value: &Value) -> Option<PublicKey> {
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    let is_secret = key.family() == jsonwebtoken::AlgorithmFamily::Hmac;
    let signs = matches!(
        jwk.common.public_key_use,
        None | Some(PublicKeyUse::Signature)
    );
    (signs && !is_secret).then(|| PublicKey {
        id: jwk.common.key_id,
        algorithm: value["alg"].as_str().map(str::to_owned),
        key,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    const SET: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    #[tokio::test]
    async fn a_caller_who_leaves_does_not_keep_the_keys_from_others() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let keys = Arc::new(Keys::new("https://idp.example", Some(&url), false));
        let own = Arc::clone(&keys);
        let first = tokio::spawn(async move { own.candidates(Algorithm::EdDSA, None).await });
        let (mut stream, _) = listener.accept().await.unwrap();
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());

        let mut request = [0; 4096];
        assert_ne!(stream.read(&mut request).await.unwrap(), 0);
        let length = SET.len();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
        let answer = format!("{head}\r\nContent-Length: {length}\r\n\r\n{SET}");
        stream.write_all(answer.as_bytes()).await.unwrap();
        let found = keys.candidates(Algorithm::EdDSA, Some("k")).await;
        assert_eq!(found.unwrap().len(), 1);
    }
}
