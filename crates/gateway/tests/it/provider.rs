//! An identity provider on this machine: it describes itself, gives its keys, changes them, and signs what it is told.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) const AUDIENCE: &str = "onecall-test";

enum Pair {
    Edwards(Ed25519KeyPair),
    Elliptic(EcdsaKeyPair),
}

/// A key with its name.
pub(crate) struct Key {
    id: &'static str,
    pair: Pair,
}

impl Key {
    pub(crate) fn edwards(id: &'static str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        Self {
            id,
            pair: Pair::Edwards(pair),
        }
    }

    pub(crate) fn elliptic(id: &'static str) -> Self {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        Self {
            id,
            pair: Pair::Elliptic(pair),
        }
    }

    fn public(&self) -> Value {
        match &self.pair {
            Pair::Edwards(pair) => {
                let x = URL_SAFE_NO_PAD.encode(pair.public_key());
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.id, "use": "sig", "x": x })
            }
            Pair::Elliptic(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
                json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": self.id, "x": x, "y": y })
            }
        }
    }

    /// A token with this header and these claims; what the header leaves out is added.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let mut full = json!({ "typ": "JWT", "kid": self.id });
        full["alg"] = match &self.pair {
            Pair::Edwards(_) => json!("EdDSA"),
            Pair::Elliptic(_) => json!("ES256"),
        };
        for (key, value) in header.as_object().into_iter().flatten() {
            full[key] = value.clone();
        }
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&full), part(claims));
        let signature = match &self.pair {
            Pair::Edwards(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::Elliptic(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message.as_bytes());
                signed.unwrap().as_ref().to_vec()
            }
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

struct Shared {
    issuer: String,
    keys: Mutex<Vec<Value>>,
    fetched: AtomicUsize,
}

pub(crate) struct Provider(Arc<Shared>);

impl Provider {
    pub(crate) async fn start(keys: &[&Key]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            issuer: format!("http://{}/realm", listener.local_addr().unwrap()),
            keys: Mutex::default(),
            fetched: AtomicUsize::new(0),
        });
        let router = Router::new()
            .route("/realm/.well-known/openid-configuration", get(describe))
            .route("/realm/keys", get(give_keys))
            .with_state(Arc::clone(&shared));
        // Ends with the test that started it.
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let provider = Self(shared);
        provider.change_keys(keys);
        provider
    }

    pub(crate) fn change_keys(&self, keys: &[&Key]) {
        *self.0.keys.lock().unwrap() = keys.iter().map(|key| key.public()).collect();
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// How often the keys were asked for.
    pub(crate) fn fetched(&self) -> usize {
        self.0.fetched.load(Ordering::SeqCst)
    }

    /// Claims of a sound token.
    pub(crate) fn claims(&self, subject: &str) -> Value {
        json!({ "iss": self.issuer(), "aud": [AUDIENCE, "other"], "sub": subject, "exp": now() + 300,
            "iat": now(), "scope": "openid call" })
    }
}

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

async fn describe(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let issuer = &shared.issuer;
    Json(json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") }))
}

async fn give_keys(State(shared): State<Arc<Shared>>) -> Json<Value> {
    shared.fetched.fetch_add(1, Ordering::SeqCst);
    let secret = json!({ "kty": "oct", "kid": "secret", "k": "c2VjcmV0" });
    let mut keys = shared.keys.lock().unwrap().clone();
    keys.push(secret);
    Json(json!({ "keys": keys }))
}
