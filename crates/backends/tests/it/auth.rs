//! Credentials for backends: tokens from a token server, kept, renewed once, never sent elsewhere.

use std::sync::atomic::{AtomicUsize, Ordering};

use onecall_backends::{
    BackendName, BackendOptions, Backends, Call, CallerId, CallerToken, Grant, Requester,
    StartError, TokenOptions, TransportOptions,
};
use onecall_testkit::faulty::{Reply, Seen, Server, answer, done, modern};
use serde_json::{Value, json};

use crate::world::{PATIENCE, call, client_info, complete, start, way};

fn token_options(url: &str) -> TokenOptions {
    TokenOptions {
        url: url.to_owned(),
        client_id: "me".to_owned(),
        client_secret: Some("s:cret".to_owned()),
        scopes: vec!["read".to_owned(), "write".to_owned()],
        audience: Some("https://api.example".to_owned()),
        resource: None,
        grant: Grant::ClientCredentials,
    }
}

fn backend(url: &str, tokens: TokenOptions) -> BackendOptions {
    let mut options = BackendOptions::http("b", url);
    options.call_timeout = Some(PATIENCE);
    if let TransportOptions::Http(http) = &mut options.transport {
        http.tokens = Some(tokens);
    }
    options
}

/// Gives tokens `t1`, `t2` and so on.
async fn token_server(lasts: Value) -> Server {
    let given = AtomicUsize::new(0);
    Server::start(move |_| {
        let number = given.fetch_add(1, Ordering::SeqCst) + 1;
        let token = json!({ "access_token": format!("t{number}"), "token_type": "Bearer",
            "expires_in": lasts });
        Reply::Json(200, Vec::new(), token)
    })
    .await
}

/// A backend that takes one token only.
async fn guarded(token: &'static str) -> Server {
    let serve = modern(done);
    Server::start(move |seen| {
        if seen.headers.get("authorization").map(String::as_str) == Some(token) {
            serve(seen)
        } else {
            Reply::Json(401, Vec::new(), Value::Null)
        }
    })
    .await
}

fn bodies(server: &Server) -> Vec<String> {
    server
        .seen()
        .iter()
        .map(|seen: &Seen| seen.text.clone())
        .collect()
}

#[tokio::test]
async fn a_token_is_fetched_once_and_used_for_every_request() {
    let tokens = token_server(json!(3600)).await;
    let server = guarded("Bearer t1").await;
    let backends = start(vec![backend(&server.url, token_options(&tokens.url))]);
    let calls = (0..8).map(|_| call(&backends, "b", "do", json!({})));
    for outcome in futures::future::join_all(calls).await {
        outcome.unwrap();
    }
    let asked = tokens.seen();
    assert_eq!(asked.len(), 1);
    // `me:s%3Acret`, encoded as RFC 6749 wants it.
    assert_eq!(asked[0].headers["authorization"], "Basic bWU6cyUzQWNyZXQ=");
    assert_eq!(
        bodies(&tokens),
        ["grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fapi.example"]
    );
    backends.shutdown().await;
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let tokens = token_server(json!("3600")).await;
    let server = guarded("Bearer t2").await;
    let backends = start(vec![backend(&server.url, token_options(&tokens.url))]);
    // The first token is refused, the second serves for everything.
    call(&backends, "b", "do", json!({})).await.unwrap();
    assert_eq!(tokens.seen().len(), 2);
    backends.shutdown().await;
    let closed = guarded("Bearer none").await;
    let backends = start(vec![backend(&closed.url, token_options(&tokens.url))]);
    let denied = call(&backends, "b", "do", json!({})).await.unwrap_err();
    assert!(denied.to_string().contains("HTTP status 401"), "{denied}");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_token_that_expires_is_fetched_again() {
    let tokens = token_server(json!(0)).await;
    let server = Server::start(modern(done)).await;
    let backends = start(vec![backend(&server.url, token_options(&tokens.url))]);
    call(&backends, "b", "do", json!({})).await.unwrap();
    call(&backends, "b", "do", json!({})).await.unwrap();
    // Discovery, list and two calls.
    assert_eq!(tokens.seen().len(), 4);
    backends.shutdown().await;
}

#[tokio::test]
async fn a_subject_token_is_exchanged_and_never_passed_on() {
    let tokens = token_server(json!(3600)).await;
    let server = guarded("Bearer t1").await;
    let mut options = token_options(&tokens.url);
    options.client_secret = None;
    options.scopes.clear();
    options.audience = None;
    options.resource = Some("https://api.example/mcp".to_owned());
    options.grant = Grant::Exchange {
        subject_token: "subject".to_owned(),
        subject_token_type: None,
    };
    let backends = start(vec![backend(&server.url, options)]);
    call(&backends, "b", "do", json!({})).await.unwrap();
    let body = bodies(&tokens).remove(0);
    for part in [
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange",
        "subject_token=subject",
        "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token",
        "client_id=me",
        "resource=https%3A%2F%2Fapi.example%2Fmcp",
    ] {
        assert!(
            body.split('&').any(|field| field == part),
            "{part} in {body}"
        );
    }
    for seen in server.seen() {
        assert_eq!(seen.headers["authorization"], "Bearer t1");
    }
    backends.shutdown().await;
}

/// What is no tool call goes with the rights of its caller as well, never with our own.
async fn reads_with_the_rights_of_its_caller(backends: &Backends, server: &Server) {
    let params = || json!({ "uri": "a://b" });
    let from = Requester {
        id: Some(CallerId("ada".into())),
        token: Some(CallerToken::new("ada")),
        pages: None,
    };
    let before = server.seen().len();
    let name = BackendName::from("b");
    let read = backends.request(&name, "resources/read", params().into(), &from);
    let _ = read.await;
    let nobody = Requester::default();
    let read = backends.request(&name, "resources/read", params().into(), &nobody);
    let refused = read.await.unwrap_err();
    assert_eq!(way(&refused), "NoCaller");
    let read: Vec<_> = server.seen().split_off(before);
    let whose = read
        .iter()
        .map(|seen| seen.headers["authorization"].as_str());
    assert_eq!(whose.collect::<Vec<_>>(), ["Bearer for-ada"]);
}

#[tokio::test]
async fn the_token_of_each_caller_is_exchanged_and_kept_apart() {
    // Gives a token that names the subject, so that the backend can tell whose call it is.
    let tokens = Server::start(|seen| {
        let subject = seen
            .text
            .split('&')
            .find_map(|field| field.strip_prefix("subject_token="));
        let token = format!("for-{}", subject.unwrap_or("nobody"));
        Reply::Json(
            200,
            Vec::new(),
            json!({ "access_token": token, "expires_in": 3600 }),
        )
    })
    .await;
    let server = Server::start(modern(|seen| {
        let told =
            json!({ "content": [{ "type": "text", "text": seen.headers["authorization"] }] });
        Reply::Json(200, Vec::new(), answer(seen, "result", told))
    }))
    .await;
    let mut options = token_options(&tokens.url);
    options.grant = Grant::ExchangeCaller {
        subject_token_type: None,
    };
    let backends = start(vec![backend(&server.url, options)]);
    backends.settle(PATIENCE).await;
    let as_caller = |name: &'static str| {
        let backends = backends.clone();
        async move {
            let mut call = Call::new("do", json!({}));
            call.caller = Some(CallerId(name.into()));
            call.token = Some(CallerToken::new(name));
            let output = complete(backends.call(&"b".into(), call).await).unwrap();
            output.content()[0]["text"].as_str().unwrap().to_owned()
        }
    };
    let (ada, bob) = tokio::join!(as_caller("ada"), as_caller("bob"));
    assert_eq!(
        (ada.as_str(), bob.as_str()),
        ("Bearer for-ada", "Bearer for-bob")
    );
    assert_eq!(as_caller("ada").await, "Bearer for-ada");
    // One of our own for the list, and one for each caller.
    assert_eq!(tokens.seen().len(), 3);
    // Nobody's call is sent without a caller's token, and none is passed on as it is.
    let refused = call(&backends, "b", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&refused), "NoCaller");
    assert!(!refused.may_have_acted());
    assert!(
        refused.to_string().contains("no caller is here"),
        "{refused}"
    );
    reads_with_the_rights_of_its_caller(&backends, &server).await;
    let sent = server.seen();
    let headers = sent
        .iter()
        .map(|seen| seen.headers["authorization"].as_str());
    assert!(
        headers
            .into_iter()
            .all(|header| header.starts_with("Bearer for-"))
    );
    backends.shutdown().await;
}

#[tokio::test]
async fn a_token_server_that_refuses_is_named_and_nothing_is_sent() {
    let refusing = Server::start(|_| {
        let error = json!({ "error": "invalid_client", "error_description": "unknown" });
        Reply::Json(401, Vec::new(), error)
    })
    .await;
    let redirecting = Server::start(|_| {
        Reply::Json(
            302,
            vec![("location", "http://127.0.0.1:9/".to_owned())],
            Value::Null,
        )
    })
    .await;
    let garbage = Server::start(|_| Reply::Json(200, Vec::new(), json!({ "no": 1 }))).await;
    let server = Server::start(modern(done)).await;
    for (tokens, said) in [
        (&refusing, "it refused: invalid_client (unknown)"),
        (&redirecting, "HTTP status 302"),
        (&garbage, "no `access_token`"),
    ] {
        let backends = start(vec![backend(&server.url, token_options(&tokens.url))]);
        let failed = call(&backends, "b", "do", json!({})).await.unwrap_err();
        assert_eq!(
            (way(&failed).as_str(), failed.may_have_acted()),
            ("Unavailable", false)
        );
        assert!(failed.to_string().contains(said), "{failed}");
        backends.shutdown().await;
    }
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn a_secret_goes_over_no_open_wire() {
    let options = backend(
        "http://127.0.0.1:1/mcp",
        token_options("http://tokens.example/"),
    );
    let refused = Backends::start(&client_info(), vec![options]).unwrap_err();
    assert!(matches!(refused, StartError::TokenUrl { .. }), "{refused}");
    let text = refused.to_string();
    for part in ["https", "`http://tokens.example/`"] {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn a_token_that_is_said_to_last_for_ever_is_used() {
    for lasts in [json!(u64::MAX), json!(u64::MAX.to_string())] {
        let tokens = token_server(lasts).await;
        let server = guarded("Bearer t1").await;
        let backends = start(vec![backend(&server.url, token_options(&tokens.url))]);
        call(&backends, "b", "do", json!({})).await.unwrap();
        assert_eq!(bodies(&tokens).len(), 1);
        backends.shutdown().await;
    }
}

#[test]
fn a_header_beside_a_token_is_refused() {
    let mut options = backend(
        "http://127.0.0.1:1/mcp",
        token_options("http://127.0.0.1:1/"),
    );
    if let TransportOptions::Http(http) = &mut options.transport {
        let own = ("Authorization".to_owned(), "mine".to_owned());
        http.headers.push(own);
    }
    let refused = Backends::start(&client_info(), vec![options]).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("`Authorization` is given twice"), "{text}");
}
