//! Who is let in: tokens of a list, tokens of an identity provider, and nobody else.

use crate::answer_page;
use crate::client::Http;
use crate::provider::{AUDIENCE, Key, Provider, now};
use crate::world::{World, workflow};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, StatusCode};
use onecall_config::settings::Server;
use onecall_gateway::{Access, AccessOptions, BearerToken, OidcOptions};
use serde_json::{Value, json};
use std::time::Duration;

fn server() -> Server {
    Server {
        name: "test".to_owned(),
        workflows: vec![workflow("nothing", Vec::new())],
        ..Server::default()
    }
}

/// Principals, each with the token `<name>-0123456789abcdef`.
fn listed(principals: &[&str]) -> AccessOptions {
    let tokens = principals.iter().map(|principal| BearerToken {
        principal: (*principal).to_owned(),
        token: format!("{principal}-0123456789abcdef"),
    });
    AccessOptions {
        tokens: tokens.collect(),
        oidc: None,
    }
}

pub(crate) fn trusting(provider: &Provider) -> AccessOptions {
    AccessOptions {
        tokens: Vec::new(),
        oidc: Some(OidcOptions {
            issuer: provider.issuer().to_owned(),
            audience: AUDIENCE.to_owned(),
            jwks_url: None,
            resource: None,
            algorithms: Vec::new(),
            leeway: None,
            scopes: vec!["call".to_owned()],
            offered_scopes: vec!["profile".to_owned()],
            principal_claim: "sub".to_owned(),
            allows_http: false,
        }),
    }
}

/// Status and challenge of a call with this token.
async fn shown(world: &World, token: Option<&str>) -> (StatusCode, String) {
    let mut client = match token {
        Some(token) => Http::with_token(world.address, token),
        None => Http::new(world.address),
    };
    let call = client.modern("tools/call", json!({ "name": "nothing" }));
    let mut answer = call.await;
    let challenge = answer.headers.get("www-authenticate");
    let challenge = challenge.map(|text| text.to_str().unwrap().to_owned());
    let body = answer.response().await;
    assert_eq!(body["result"].is_object(), answer.status == StatusCode::OK);
    (answer.status, challenge.unwrap_or_default())
}

#[tokio::test]
async fn a_token_of_the_list_lets_in_until_it_is_withdrawn() {
    let access = Access::new(&listed(&["ada", "bob"])).unwrap();
    let world = World::guarded(server(), access.clone()).await;
    let bob = "bob-0123456789abcdef";
    let (status, challenge) = shown(&world, None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(challenge, "Bearer realm=\"onecall\"");
    let (status, challenge) = shown(&world, Some("eve-0123456789abcdef")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    assert_eq!(shown(&world, Some(bob)).await.0, StatusCode::OK);
    access.replace(&listed(&["ada"])).unwrap();
    assert_eq!(shown(&world, Some(bob)).await.0, StatusCode::UNAUTHORIZED);
    access.replace(&AccessOptions::default()).unwrap();
    let ada = shown(&world, Some("ada-0123456789abcdef")).await;
    assert_eq!(
        ada.0,
        StatusCode::UNAUTHORIZED,
        "the last token is withdrawn"
    );
    assert!(Access::new(&AccessOptions::default()).is_err());
    world.end().await;
}

#[tokio::test]
async fn every_path_but_health_asks_and_a_token_stands_in_its_header_alone() {
    let access = Access::new(&listed(&["ada"])).unwrap();
    let world = World::guarded(server(), access).await;
    let client = Http::new(world.address);
    let ada = ("authorization", "bearer ada-0123456789abcdef");
    for path in [
        "/status",
        "/metrics",
        "/mcp",
        "/mcp?access_token=ada-0123456789abcdef",
    ] {
        let answer = client.send(Method::GET, path, &[], "").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    for path in ["/health", "/readyz"] {
        let answer = client.send(Method::GET, path, &[], "").await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
    }
    let answer = client.send(Method::GET, "/status", &[ada], "").await;
    assert_eq!(answer.status, StatusCode::OK);
    let basic = ("authorization", "Basic YWRhOjE=");
    let long = format!("Bearer {}", "x".repeat(20_000));
    for headers in [&[basic][..], &[ada, ada], &[("authorization", &long)]] {
        let answer = client.send(Method::GET, "/status", headers, "").await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        let challenge = answer.headers["www-authenticate"].to_str().unwrap();
        assert!(challenge.contains("invalid_request"), "{challenge}");
    }
    let nowhere = "/.well-known/oauth-protected-resource";
    let answer = client.send(Method::GET, nowhere, &[], "").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    world.end().await;
}

#[tokio::test]
async fn a_challenge_leads_to_the_identity_provider() {
    let provider = Provider::start(&[]).await;
    let access = Access::new(&trusting(&provider)).unwrap();
    let world = World::guarded(server(), access).await;
    let (status, challenge) = shown(&world, None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (_, url) = challenge.split_once("resource_metadata=\"").unwrap();
    let path = format!("http://{}", world.address);
    let path = url.trim_end_matches('"').strip_prefix(&path).unwrap();
    assert_eq!(path, "/.well-known/oauth-protected-resource/mcp");
    assert!(challenge.contains("scope=\"call\""), "{challenge}");
    let client = Http::new(world.address);
    for path in [path, "/.well-known/oauth-protected-resource"] {
        let answer = client.send(Method::GET, path, &[], "").await;
        let document: Value = serde_json::from_str(&answer.text().await).unwrap();
        let expected = json!({
            "resource": format!("http://{}/mcp", world.address),
            "authorization_servers": [provider.issuer()],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["call", "profile"],
        });
        assert_eq!(document, expected);
    }
    world.end().await;
}

#[tokio::test]
async fn a_person_answers_where_the_server_is_known_to_be() {
    let provider = Provider::start(&[]).await;
    let mut options = trusting(&provider);
    options.tokens = listed(&["ada"]).tokens;
    let oidc = options.oidc.as_mut().unwrap();
    oidc.resource = Some("https://tools.example.com/x/mcp".to_owned());
    let access = Access::new(&options).unwrap();
    let world = World::guarded(crate::world::server(), access).await;
    let mut client = Http::with_token(world.address, "ada-0123456789abcdef");
    let call = client.modern_result("tools/call", json!({ "name": "approve" }));
    let pending = call.await;
    let text = pending["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains(" https://tools.example.com/x/answer/"),
        "{text}"
    );
    // The proxy that stands there forwards under a host of its own, or under the public one.
    let (_, rest) = text.split_once("/answer/").unwrap();
    let path = format!("/answer/{}", rest.split_whitespace().next().unwrap());
    let client = Http::new(world.address);
    let own = world.address.to_string();
    for host in [own.as_str(), "tools.example.com", "tools.example.com:443"] {
        let from = ("https://tools.example.com", host);
        let sent = answer_page::submit(&client, &path, from, "f.name=Ada&action=accept").await;
        assert_eq!(sent.status, StatusCode::OK, "{host}");
    }
    let elsewhere = ("https://tools.example.com:8443", own.as_str());
    let sent = answer_page::submit(&client, &path, elsewhere, "f.name=Ada&action=accept").await;
    assert_eq!(sent.status, StatusCode::FORBIDDEN);
    world.end().await;
}

/// Claims of a sound token, less or more.
fn but(claims: &Value, key: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    claims[key] = value;
    if claims[key].is_null() {
        claims.as_object_mut().unwrap().shift_remove(key);
    }
    claims
}

/// Tokens that are let in.
fn sound_tokens(edwards: &Key, elliptic: &Key, sound: &Value) -> Vec<String> {
    let none = json!({});
    vec![
        edwards.sign(&none, sound),
        elliptic.sign(&none, sound),
        edwards.sign(&json!({ "kid": null }), sound),
        edwards.sign(&json!({ "typ": "at+JWT" }), sound),
        edwards.sign(&json!({ "typ": null }), sound),
        edwards.sign(&none, &but(sound, "typ", json!("Bearer"))),
        edwards.sign(&none, &but(sound, "token_use", json!("access"))),
        edwards.sign(&none, &but(sound, "aud", json!(AUDIENCE))),
        edwards.sign(&none, &but(sound, "exp", json!(now() - 30))),
        edwards.sign(
            &none,
            &but(&but(sound, "scope", Value::Null), "scp", json!(["call"])),
        ),
    ]
}

/// Tokens that are not, each with the reason.
fn unsound_tokens(edwards: &Key, stranger: &Key, sound: &Value) -> Vec<(&'static str, String)> {
    let none = json!({});
    let unsigned = |header: Value| {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.c2ln", part(&header), part(sound))
    };
    let soon = now() + 600;
    vec![
        (
            "has expired",
            edwards.sign(&none, &but(sound, "exp", json!(now() - 90))),
        ),
        (
            "lacks `exp`",
            edwards.sign(&none, &but(sound, "exp", Value::Null)),
        ),
        (
            "not valid yet",
            edwards.sign(&none, &but(sound, "nbf", json!(soon))),
        ),
        (
            "in the future",
            edwards.sign(&none, &but(sound, "iat", json!(soon))),
        ),
        (
            "another audience",
            edwards.sign(&none, &but(sound, "aud", json!("x"))),
        ),
        (
            "lacks `exp`, `iss` or `aud`",
            edwards.sign(&none, &but(sound, "aud", Value::Null)),
        ),
        (
            "another issuer",
            edwards.sign(&none, &but(sound, "iss", json!("https://evil.example"))),
        ),
        (
            "names nobody",
            edwards.sign(&none, &but(sound, "sub", Value::Null)),
        ),
        (
            "names nobody",
            edwards.sign(&none, &but(sound, "sub", json!("a\nb"))),
        ),
        (
            "signature of the token is wrong",
            stranger.sign(&none, sound),
        ),
        ("no key", edwards.sign(&json!({ "kid": "other" }), sound)),
        (
            "not understood",
            edwards.sign(&json!({ "crit": ["b64"] }), sound),
        ),
        ("no key", edwards.sign(&json!({ "alg": "ES256" }), sound)),
        ("cannot be read", unsigned(json!({ "alg": "none" }))),
        (
            "not accepted",
            unsigned(json!({ "alg": "HS256", "kid": "secret" })),
        ),
        ("cannot be read", "just-some-text-of-somebody".to_owned()),
    ]
}

/// Tokens that say they are for another purpose, and one of several issuers.
fn tokens_of_other_kinds(edwards: &Key, sound: &Value) -> Vec<(&'static str, String)> {
    let kind = |header: Value| edwards.sign(&header, sound);
    let claim = |key: &str, value: Value| edwards.sign(&json!({}), &but(sound, key, value));
    let issuers = json!([sound["iss"], "https://evil.example"]);
    let other = "not an access token";
    vec![
        (other, kind(json!({ "typ": "logout+jwt" }))),
        (other, kind(json!({ "typ": "id_token" }))),
        (other, claim("typ", json!("ID"))),
        (other, claim("token_use", json!("id"))),
        ("another issuer", claim("iss", issuers)),
        ("another issuer", claim("iss", json!([sound["iss"]]))),
    ]
}

#[tokio::test]
async fn a_token_of_the_provider_must_be_sound_in_every_respect() {
    let (edwards, elliptic) = (Key::edwards("one"), Key::elliptic("two"));
    let stranger = Key::edwards("one");
    let provider = Provider::start(&[&edwards, &elliptic]).await;
    let access = Access::new(&trusting(&provider)).unwrap();
    let world = World::guarded(server(), access).await;
    let sound = provider.claims("ada");
    for token in &sound_tokens(&edwards, &elliptic, &sound) {
        assert_eq!(shown(&world, Some(token)).await.0, StatusCode::OK);
    }
    let mut unsound = unsound_tokens(&edwards, &stranger, &sound);
    unsound.extend(tokens_of_other_kinds(&edwards, &sound));
    for (why, token) in &unsound {
        let (status, challenge) = shown(&world, Some(token)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{why}");
        assert!(
            challenge.contains("invalid_token") && challenge.contains(why),
            "{why}: {challenge}"
        );
    }
    let narrow = edwards.sign(&json!({}), &but(&sound, "scope", json!("openid recall")));
    let (status, challenge) = shown(&world, Some(&narrow)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let wanted = "error=\"insufficient_scope\"";
    assert!(
        challenge.contains(wanted) && challenge.contains("scope=\"call\""),
        "{challenge}"
    );
    assert_eq!(provider.fetched(), 1, "the keys are kept");
    world.end().await;
}

#[tokio::test]
async fn keys_are_looked_up_anew_when_they_change_but_not_for_every_stranger() {
    let (old, new) = (Key::edwards("old"), Key::edwards("new"));
    let provider = Provider::start(&[&old]).await;
    let access = Access::new(&trusting(&provider)).unwrap();
    let world = World::guarded(server(), access).await;
    let token = |key: &Key| key.sign(&json!({}), &provider.claims("ada"));
    assert_eq!(shown(&world, Some(&token(&old))).await.0, StatusCode::OK);
    provider.change_keys(&[&new]);
    for _ in 0..3 {
        let (status, _) = shown(&world, Some(&token(&new))).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(provider.fetched(), 1, "strangers do not make requests");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    // It is refused until the keys have come, and so is every other token with an unknown key.
    let (status, _) = shown(&world, Some(&token(&new))).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    while shown(&world, Some(&token(&new))).await.0 != StatusCode::OK {}
    assert_eq!(
        shown(&world, Some(&token(&old))).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(provider.fetched(), 2);
    world.end().await;
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_lets_nobody_in() {
    let key = Key::edwards("one");
    let provider = Provider::start(&[&key]).await;
    let mut options = trusting(&provider);
    let oidc = options.oidc.as_mut().unwrap();
    oidc.jwks_url = Some("http://127.0.0.1:1/keys".to_owned());
    let world = World::guarded(server(), Access::new(&options).unwrap()).await;
    let token = key.sign(&json!({}), &provider.claims("ada"));
    for _ in 0..2 {
        let (status, challenge) = shown(&world, Some(&token)).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(challenge, "");
    }
    let mut plain = trusting(&provider);
    let oidc = plain.oidc.as_mut().unwrap();
    oidc.jwks_url = Some("http://idp.example/keys".to_owned());
    let other = World::guarded(server(), Access::new(&plain).unwrap()).await;
    assert_eq!(
        shown(&other, Some(&token)).await.0,
        StatusCode::SERVICE_UNAVAILABLE
    );
    plain.oidc.as_mut().unwrap().algorithms = vec!["HS256".to_owned()];
    assert!(Access::new(&plain).is_err());
    world.end().await;
    other.end().await;
}
