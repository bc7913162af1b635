//! The answer page as browsers use it: where a form may come from, and what a person is shown when it may not.

use crate::client::{Answer, Http};
use crate::world::World;
use http::{Method, StatusCode};
use serde_json::{Value, json};

/// What Chromium sends with a form, less `Host`, `Origin` and `Referer`.
const CHROMIUM: [(&str, &str); 10] = [
    ("cache-control", "max-age=0"),
    ("upgrade-insecure-requests", "1"),
    ("content-type", "application/x-www-form-urlencoded"),
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    ),
    (
        "accept",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
    ),
    ("sec-fetch-site", "same-origin"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-user", "?1"),
    ("sec-fetch-dest", "document"),
    ("accept-language", "en-US,en;q=0.9"),
];

/// A form sent as Chromium sends it from a page at `origin`, to the server known as `host`.
pub(crate) async fn submit(
    client: &Http,
    path: &str,
    (origin, host): (&str, &str),
    form: &str,
) -> Answer {
    let mut headers = CHROMIUM.to_vec();
    let referer = format!("{origin}{path}");
    headers.extend([("origin", origin), ("host", host), ("referer", &referer)]);
    client
        .send(Method::POST, path, &headers, form.to_owned())
        .await
}

/// The path of the page that a call answers with.
pub(crate) async fn page_of(client: &mut Http, call: Value) -> String {
    let pending = client.modern_result("tools/call", call).await;
    let text = pending["content"][0]["text"].as_str().unwrap();
    let (_, rest) = text.split_once("/answer/").unwrap();
    let token = rest.split_whitespace().next().unwrap();
    format!("/answer/{token}")
}

#[tokio::test]
async fn a_browser_sends_the_form_from_wherever_it_got_it() {
    let world = World::start_with(|options| {
        options.host = "0.0.0.0".to_owned();
        options.allow_anonymous = true;
        options.allowed_hosts = vec!["box.example".to_owned()];
    })
    .await;
    let mut client = Http::new(world.address);
    let port = world.address.port();
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("192.0.2.7:{port}"),
        format!("[2001:db8::7]:{port}"),
        "box.example".to_owned(),
        "box.example:8080".to_owned(),
    ] {
        let path = page_of(&mut client, json!({ "name": "approve" })).await;
        let page = client.send(Method::GET, &path, &[("host", &host)], "").await;
        assert_eq!(page.status, StatusCode::OK, "{host}");
        // With `no-referrer` browsers would say `Origin: null`.
        assert_eq!(page.headers["referrer-policy"], "same-origin");
        let origin = format!("http://{host}");
        let form = "f.name=Ada&action=accept";
        let sent = submit(&client, &path, (&origin, &host), form).await;
        assert_eq!(sent.status, StatusCode::OK, "{host}");
        assert!(sent.text().await.contains("Your answer was taken"));
    }
    world.end().await;
}

#[tokio::test]
async fn a_form_from_elsewhere_is_refused_with_a_page() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let path = page_of(&mut client, json!({ "name": "approve" })).await;
    let here = world.address.to_string();
    let own = format!("http://{here}");
    for (origin, host) in [
        ("https://evil.example", here.as_str()),
        ("null", here.as_str()),
        ("http://evil.example", "evil.example"),
        (own.as_str(), "evil.example"),
    ] {
        let form = "f.name=Eve&action=accept";
        let refused = submit(&client, &path, (origin, host), form).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{origin} {host}");
        let kind = refused.headers["content-type"].to_str().unwrap();
        assert!(kind.starts_with("text/html"), "{kind}");
        let text = refused.text().await;
        assert!(text.contains("cannot be used from here"), "{text}");
    }
    let still = client.send(Method::GET, &path, &[], "").await;
    assert_eq!(still.status, StatusCode::OK);
    world.end().await;
}
