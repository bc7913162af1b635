//! The public keys of an identity provider, found through its discovery document and cached.
//! Cached keys are read without waiting for anything. One refresh at a time runs in a task of its own, so a provider
//! that does not respond cannot delay callers whose keys are cached.

use super::Denial;
use crate::limits::{KEYS_AGAIN, KEYS_FRESH, KEYS_MAX, KEYS_STALE, KEYS_WAIT};
use http::Uri;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use onecall_backends::{FetchError, fetch_json, is_safe_url};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
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
    /// The URL of the keys, if the provider need not be asked for it.
    url: Option<String>,
    /// Accepts plain HTTP, which others on the network can change.
    allows_http: bool,
    cache: watch::Sender<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    keys: Arc<[PublicKey]>,
    /// When they were fetched; `None` if there are none.
    fetched: Option<Instant>,
    is_refreshing: bool,
    /// When the last refresh ended, whatever its outcome.
    refreshed: Option<Instant>,
}

impl Cache {
    fn is_usable(&self) -> bool {
        is_within(self.fetched, KEYS_STALE)
    }
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
            cache: watch::Sender::default(),
        }
    }

    /// The keys that may have signed a token. Waits only if no keys are cached at all. A token that names an unknown
    /// key is refused at once while the keys are refreshed.
    pub(super) async fn candidates(
        self: &Arc<Self>,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<Vec<DecodingKey>, Denial> {
        let unavailable = |text: &str| Denial::Unavailable(text.to_owned());
        if !self.cache.borrow().is_usable() {
            self.refresh();
            let mut cache = self.cache.subscribe();
            let ended = cache.wait_for(|cache| !cache.is_refreshing);
            let ended = tokio::time::timeout(KEYS_WAIT, ended).await;
            if !ended.is_ok_and(|cache| cache.is_ok_and(|cache| cache.is_usable())) {
                return Err(unavailable(
                    "the keys of the identity provider are not known",
                ));
            }
        }
        let (found, is_fresh) = {
            let cache = self.cache.borrow();
            let found = matching(&cache.keys, algorithm, id);
            (found, is_within(cache.fetched, KEYS_FRESH))
        };
        if found.is_empty() || !is_fresh {
            self.refresh();
        }
        if found.is_empty() && self.cache.borrow().is_refreshing {
            return Err(unavailable(
                "the token names an unknown key, and the keys are being fetched",
            ));
        }
        Ok(found)
    }

    /// Starts a refresh, unless one is running or has just ended.
    fn refresh(self: &Arc<Self>) {
        let starts = self.cache.send_if_modified(|cache| {
            let starts = !cache.is_refreshing && !is_within(cache.refreshed, KEYS_AGAIN);
            cache.is_refreshing |= starts;
            starts
        });
        if !starts {
            return;
        }
        let ending = Ending(Arc::clone(self));
        tokio::spawn(async move {
            let keys = &ending.0;
            match keys.fetch().await {
                Ok(fetched) => keys.cache.send_modify(|cache| {
                    cache.keys = fetched.into();
                    cache.fetched = Some(Instant::now());
                }),
                // Cached keys stay in use until they are too old.
                Err(error) => {
                    let issuer = &keys.issuer;
                    tracing::warn!(issuer, %error, "the keys of the identity provider could not be fetched");
                }
            }
        });
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

/// Ends a refresh, even one that panics.
struct Ending(Arc<Keys>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.cache.send_modify(|cache| {
            cache.is_refreshing = false;
            cache.refreshed = Some(Instant::now());
        });
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

    /// A key server that answers a request only when the test says so.
    async fn key_server() -> (TcpListener, Arc<Keys>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let keys = Keys::new("https://idp.example", Some(&url), false);
        (listener, Arc::new(keys))
    }

    async fn answer(listener: &TcpListener) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert_ne!(stream.read(&mut request).await.unwrap(), 0);
        let length = SET.len();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
        let answer = format!("{head}\r\nContent-Length: {length}\r\n\r\n{SET}");
        stream.write_all(answer.as_bytes()).await.unwrap();
    }

    async fn found(keys: &Arc<Keys>, id: Option<&str>) -> Result<usize, Denial> {
        let found = keys.candidates(Algorithm::EdDSA, id).await;
        found.map(|found| found.len())
    }

    async fn later(time: Duration) {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }

    #[tokio::test]
    async fn a_caller_who_leaves_does_not_keep_the_keys_from_others() {
        let (listener, keys) = key_server().await;
        let own = Arc::clone(&keys);
        let first = tokio::spawn(async move { found(&own, None).await });
        let mut cache = keys.cache.subscribe();
        cache.wait_for(|cache| cache.is_refreshing).await.unwrap();
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        answer(&listener).await;
        assert_eq!(found(&keys, Some("k")).await, Ok(1));
    }

    #[tokio::test]
    async fn a_key_server_that_never_answers_delays_no_caller_whose_key_is_cached() {
        let (listener, keys) = key_server().await;
        let (first, ()) = tokio::join!(found(&keys, Some("k")), answer(&listener));
        assert_eq!(first, Ok(1));
        later(KEYS_AGAIN).await;

        // An unknown key starts a refresh that never ends; everybody is answered at once.
        let unknown = found(&keys, Some("other"));
        let unknown = tokio::time::timeout(Duration::from_secs(1), unknown).await;
        assert!(
            matches!(unknown, Ok(Err(Denial::Unavailable(_)))),
            "{unknown:?}"
        );
        let (stream, _) = listener.accept().await.unwrap();
        for _ in 0..3 {
            let known = tokio::time::timeout(Duration::from_secs(1), found(&keys, Some("k"))).await;
            assert_eq!(known, Ok(Ok(1)));
        }
        // The interval begins when that refresh has ended, not when it began.
        let mut cache = keys.cache.subscribe();
        drop((stream, listener));
        cache.wait_for(|cache| !cache.is_refreshing).await.unwrap();
        assert_eq!(
            found(&keys, Some("other")).await,
            Ok(0),
            "refused without another request"
        );
        assert!(!keys.cache.borrow().is_refreshing);
        later(KEYS_AGAIN).await;
        assert!(matches!(
            found(&keys, Some("other")).await,
            Err(Denial::Unavailable(_))
        ));
        assert_eq!(found(&keys, Some("k")).await, Ok(1));
    }

    #[tokio::test]
    async fn keys_that_are_not_fresh_are_used_while_they_are_fetched_again() {
        let (listener, keys) = key_server().await;
        let (first, ()) = tokio::join!(found(&keys, Some("k")), answer(&listener));
        assert_eq!(first, Ok(1));
        later(KEYS_FRESH).await;
        assert_eq!(found(&keys, Some("k")).await, Ok(1));
        assert!(keys.cache.borrow().is_refreshing);
        let _open = listener.accept().await.unwrap();
        later(KEYS_STALE).await;
        assert!(!keys.cache.borrow().is_usable());
    }
}
