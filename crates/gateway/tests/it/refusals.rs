//! Requests that are refused, each with its status, and nothing else disturbed.

use crate::client::{Http, MODERN};
use crate::world::{World, runtime};
use http::{Method, StatusCode};
use onecall_gateway::{HttpOptions, Mount, ServeError, serve_http};
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

#[tokio::test]
async fn callers_from_elsewhere_are_refused_on_every_path() {
    let world = World::start().await;
    let client = Http::new(world.address);
    let cases = [
        (("host", "evil.example"), StatusCode::FORBIDDEN),
        (("host", "localhost.evil.example:80"), StatusCode::FORBIDDEN),
        (("host", "192.168.1.7"), StatusCode::FORBIDDEN),
        (("host", "a b"), StatusCode::BAD_REQUEST),
        (("origin", "https://evil.example"), StatusCode::FORBIDDEN),
        (
            ("origin", "http://localhost.evil.example"),
            StatusCode::FORBIDDEN,
        ),
        (("origin", "null"), StatusCode::FORBIDDEN),
        (("host", "localhost:1"), StatusCode::OK),
        (("host", "[::1]:80"), StatusCode::OK),
        (("origin", "http://127.0.0.1:3000"), StatusCode::OK),
        (("origin", "http://localhost:6274"), StatusCode::OK),
    ];
    for (header, status) in cases {
        let answer = client.send(Method::GET, "/status", &[header], "").await;
        assert_eq!(answer.status, status, "{header:?}");
        // Probes come by whatever name their sender knows.
        for probe in ["/health", "/readyz"] {
            let answer = client.send(Method::GET, probe, &[header], "").await;
            assert_eq!(answer.status, StatusCode::OK, "{probe} {header:?}");
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let answer = client.post(&[header], &body).await;
        if status != StatusCode::OK {
            assert_eq!(answer.status, status, "{header:?}");
        }
    }
    let twice = [
        ("origin", "http://localhost"),
        ("origin", "http://localhost"),
    ];
    let answer = client.send(Method::GET, "/status", &twice, "").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    world.end().await;
}

#[tokio::test]
async fn a_public_url_lets_in_its_name_and_its_pages_and_is_where_links_lead() {
    let world = World::start_with(|options| {
        options.public_url = Some("https://Tools.example:8443/team".to_owned());
        options.allowed_hosts = vec!["inside.example".to_owned()];
    })
    .await;
    let mut client = Http::new(world.address);
    let cases = [
        (("host", "tools.example:8443"), StatusCode::OK),
        (("host", "tools.example"), StatusCode::OK),
        (("host", "inside.example:4483"), StatusCode::OK),
        (("host", "outside.example"), StatusCode::FORBIDDEN),
        (("origin", "https://tools.example:8443"), StatusCode::OK),
        (
            ("origin", "http://tools.example:8443"),
            StatusCode::FORBIDDEN,
        ),
    ];
    for (header, status) in cases {
        let answer = client.send(Method::GET, "/status", &[header], "").await;
        assert_eq!(answer.status, status, "{header:?}");
    }
    let call = json!({ "name": "approve" });
    let result = client.modern_result("tools/call", call).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains(" https://Tools.example:8443/team/answer/"),
        "{text}"
    );
    world.end().await;
}

#[test]
fn an_address_of_every_interface_is_shown_as_one_that_can_be_called() {
    let options = HttpOptions::new("0.0.0.0", 4483, "1");
    let url = options.base_url("0.0.0.0:4483".parse().unwrap());
    assert!(!url.contains("0.0.0.0") && url.ends_with(":4483"), "{url}");
    let url = options.base_url("127.0.0.1:1".parse().unwrap());
    assert_eq!(url, "http://127.0.0.1:1");
}

#[tokio::test]
async fn bodies_that_are_no_message_are_refused() {
    let world = World::start().await;
    let client = Http::new(world.address);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}{}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let cases = [
        ("{\"jsonrpc\":", StatusCode::BAD_REQUEST, -32700),
        ("\u{0}", StatusCode::BAD_REQUEST, -32700),
        ("", StatusCode::BAD_REQUEST, -32700),
        ("[]", StatusCode::BAD_REQUEST, -32600),
        (
            r#"{"id":1,"method":"ping"}"#,
            StatusCode::BAD_REQUEST,
            -32600,
        ),
        (&deep, StatusCode::BAD_REQUEST, -32600),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            StatusCode::BAD_REQUEST,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":7}"#,
            StatusCode::BAD_REQUEST,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"dev.onecall/raw"}"#,
            StatusCode::NOT_FOUND,
            -32601,
        ),
    ];
    for (body, status, code) in cases {
        let body = body.to_owned();
        let mut answer = client
            .send(Method::POST, "/mcp", &[JSON, BOTH], body.clone())
            .await;
        let start: String = body.chars().take(60).collect();
        assert_eq!(answer.status, status, "{start}");
        assert_eq!(answer.response().await["error"]["code"], code, "{start}");
    }
    let initialize =
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#;
    let listed = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":7}}"#;
    for (body, words) in [
        (initialize, "`initialize` do not fit: missing field"),
        (listed, "`_meta` must be an object"),
    ] {
        let mut answer = client.send(Method::POST, "/mcp", &[JSON, BOTH], body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body}");
        let refusal = answer.response().await;
        assert_eq!(refusal["id"], 1, "{refusal}");
        assert_eq!(refusal["error"]["code"], -32602, "{refusal}");
        let text = refusal["error"]["message"].as_str().unwrap();
        assert!(text.contains(words), "{text}");
    }
    let long = vec![b' '; 5 * 1024 * 1024];
    let mut answer = client.send(Method::POST, "/mcp", &[JSON, BOTH], long).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.response().await["error"]["code"], -32600);
    world.end().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_by_its_id_where_that_can() {
    let world = World::start().await;
    let client = Http::new(world.address);
    let odd = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"own":1e400}}}"#;
    let mut answer = client.send(Method::POST, "/mcp", &[JSON, BOTH], odd).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let refusal = answer.response().await;
    assert_eq!(refusal["id"], 7, "{refusal}");
    assert_eq!(refusal["error"]["code"], -32700, "{refusal}");
    world.end().await;
}

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    let world = World::start().await;
    let client = Http::new(world.address);
    let body = |method: &str| {
        json!({ "jsonrpc": "2.0", "id": 4, "method": method, "params": { "name": "nothing", "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        } } })
    };
    let version = ("mcp-protocol-version", MODERN);
    let call = ("mcp-method", "tools/call");
    let name = ("mcp-name", "nothing");
    let cases: [&[(&str, &str)]; 6] = [
        &[version, call],
        &[version, name],
        &[version, call, ("mcp-name", "three")],
        &[version, ("mcp-method", "tools/list"), name],
        &[version, call, call, name],
        &[version, call, ("mcp-name", "=?base64?!?=")],
    ];
    for headers in cases {
        let mut answer = client.post(headers, &body("tools/call")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{headers:?}");
        let response = answer.response().await;
        assert_eq!(response["error"]["code"], -32020, "{headers:?}");
        assert_eq!(response["id"], 4);
    }
    let encoded = ("mcp-name", "=?base64?bm90aGluZw==?=");
    let mut answer = client
        .post(&[version, call, encoded], &body("tools/call"))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.response().await["result"].is_object());
    world.end().await;
}

#[tokio::test]
async fn methods_and_versions_that_do_not_exist_are_named() {
    let world = World::start().await;
    let client = Http::new(world.address);
    let answer = client.send(Method::PUT, "/mcp", &[], "").await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    let answer = client.send(Method::GET, "/none", &[], "").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    let accept_json = ("accept", "application/json");
    let answer = client
        .send(
            Method::POST,
            "/mcp",
            &[JSON, accept_json],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        )
        .await;
    assert_eq!(answer.status, StatusCode::NOT_ACCEPTABLE);
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    } } });
    let headers = [
        ("mcp-protocol-version", "2031-01-01"),
        ("mcp-method", "tools/list"),
    ];
    let mut answer = client.post(&headers, &unknown).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let error = answer.response().await["error"].clone();
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"]["requested"], "2031-01-01");
    let lost = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let answer = client.post(&[("mcp-session-id", "nobody")], &lost).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    world.end().await;
}

#[tokio::test]
async fn methods_of_the_handshake_are_none_to_modern_clients() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let methods = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    ];
    for method in methods {
        let mut answer = client.modern(method, json!({})).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method}");
        let response = answer.response().await;
        assert_eq!(response["error"]["code"], -32601, "{method}: {response}");
    }
    world.end().await;
}

#[tokio::test]
async fn other_machines_are_let_in_only_when_told_so() {
    let runtime = runtime().await;
    let options = HttpOptions::new("0.0.0.0", 0, "1");
    let stop = CancellationToken::new();
    let refused = serve_http(
        vec![Mount::root(runtime.clone())],
        options,
        stop,
        |_| unreachable!(),
    )
    .await;
    assert!(matches!(refused, Err(ServeError::NotLoopback { .. })));
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_health_check_needs_no_session() {
    let world = World::start().await;
    let client = Http::new(world.address);
    let answer = client.send(Method::GET, "/health", &[], "").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.text().await, "ok\n");
    world.end().await;
}

#[tokio::test]
async fn an_unknown_tool_is_a_bad_request_in_the_modern_era() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    // Each takes another code path: plain calls, calls with other metadata, and calls with a progress token.
    for meta in [
        json!({}),
        json!({ "other": 1 }),
        json!({ "progressToken": 1 }),
    ] {
        let call = json!({ "name": "nowhere", "_meta": meta });
        let mut refused = client.modern("tools/call", call).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{meta}");
        let body = refused.response().await;
        assert_eq!(body["error"]["code"], -32602, "{body}");
        assert_eq!(body["id"], client.last_id());
        let call = json!({ "name": "nothing", "_meta": meta });
        let answered = client.modern("tools/call", call).await;
        assert_eq!(answered.status, StatusCode::OK, "{meta}");
    }
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let refused = client
        .legacy("tools/call", json!({ "name": "nowhere" }))
        .await;
    assert_eq!(refused.status, StatusCode::OK);
    world.end().await;
}
