//! A backend that is called with what each caller's own token is exchanged for.

use crate::access::trusting;
use crate::client::Http;
use crate::provider::{Key, Provider};
use crate::world::{World, backend_at, calls, workflow};
use onecall_config::settings::{Backend, Server, Subject, TokenServer};
use onecall_gateway::Access;
use onecall_testkit::faulty::{self, Reply, Seen, answer};
use serde_json::{Value, json};

/// Gives a token that names whose it is; our own where nobody is named.
async fn token_server() -> faulty::Server {
    faulty::Server::start(|seen| {
        let subject = seen
            .text
            .split('&')
            .find_map(|field| field.strip_prefix("subject_token="));
        // The payload of a JWT names the subject; the signature stays behind.
        let token = subject.map_or("own".to_owned(), |jwt| format!("for-{}", subject_of(jwt)));
        let granted = json!({ "access_token": token, "expires_in": 3600 });
        Reply::Json(200, Vec::new(), granted)
    })
    .await
}

fn subject_of(jwt: &str) -> String {
    use base64::Engine as _;
    let payload = jwt.split('.').nth(1).unwrap();
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload);
    let claims: Value = serde_json::from_slice(&payload.unwrap()).unwrap();
    claims["sub"].as_str().unwrap().to_owned()
}

/// Tells every caller with what it was called.
fn tells(seen: &Seen) -> Reply {
    let shown = seen
        .headers
        .get("authorization")
        .cloned()
        .unwrap_or_default();
    let result = match seen.body["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({ "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {}, "resources": {} } }),
        "tools/list" => json!({ "tools": [{ "name": "do", "inputSchema": { "type": "object" } }] }),
        "resources/list" => json!({ "resources": [{ "uri": "a://b", "name": "b" }] }),
        "resources/read" => json!({ "contents": [{ "uri": "a://b", "text": shown }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": shown }] }),
        _ => {
            return Reply::Json(
                404,
                Vec::new(),
                answer(seen, "error", json!({ "code": -32601 })),
            );
        }
    };
    Reply::Json(200, Vec::new(), answer(seen, "result", result))
}

fn server(url: &str, token_url: &str) -> Server {
    let tokens = TokenServer {
        url: token_url.to_owned(),
        client_id: "gateway".to_owned(),
        client_secret: Some("s3cret".to_owned()),
        scopes: Vec::new(),
        audience: None,
        resource: None,
        exchange: Some(Subject {
            token: None,
            kind: None,
        }),
    };
    let backend = Backend {
        tokens: Some(tokens),
        ..backend_at("crm", url)
    };
    Server {
        name: "test".to_owned(),
        backends: vec![backend],
        workflows: vec![workflow("once", vec![calls("call", "crm.do", json!({}))])],
        ..Server::default()
    }
}

/// What the backend saw in a direct call, in a step of a run and in the read of a resource.
async fn seen_by_backend(client: &mut Http) -> Vec<String> {
    let mut seen = Vec::new();
    for tool in ["crm_do", "once"] {
        let result = client
            .modern_result("tools/call", json!({ "name": tool }))
            .await;
        seen.push(result["content"].to_string());
    }
    let read = client.modern_result("resources/read", json!({ "uri": "a://b" }));
    seen.push(read.await["contents"].to_string());
    seen
}

#[tokio::test]
async fn each_principal_reaches_the_backend_with_its_own_exchanged_token() {
    let (tokens, crm) = (token_server().await, faulty::Server::start(tells).await);
    let key = Key::edwards("one");
    let provider = Provider::start(&[&key]).await;
    let access = Access::new(&trusting(&provider)).unwrap();
    let world = World::guarded(server(&crm.url, &tokens.url), access).await;
    let jwt = |name: &str| key.sign(&json!({}), &provider.claims(name));
    let (jwt_of_ada, jwt_of_bob) = (jwt("ada"), jwt("bob"));
    let mut ada = Http::with_token(world.address, &jwt_of_ada);
    let mut bob = Http::with_token(world.address, &jwt_of_bob);
    let (of_ada, of_bob) = tokio::join!(seen_by_backend(&mut ada), seen_by_backend(&mut bob));
    for (name, seen) in [("ada", of_ada), ("bob", of_bob)] {
        for text in seen {
            assert!(
                text.contains(&format!("Bearer for-{name}")),
                "{name}: {text}"
            );
        }
    }
    for request in crm.seen() {
        let shown = format!("{:?}{}", request.headers, request.text);
        assert!(
            !shown.contains(&jwt_of_ada) && !shown.contains(&jwt_of_bob),
            "{shown}"
        );
    }
    let exchanged = tokens.seen().into_iter();
    let exchanged = exchanged.filter(|seen| seen.text.contains("subject_token="));
    assert_eq!(exchanged.count(), 2, "one exchange a principal");
    world.end().await;
}
