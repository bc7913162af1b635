//! More clients than there is room for: requests beyond the limit are refused in words, connections wait.

use crate::client::Http;
use crate::world::{PATIENCE, World};
use http::{Method, StatusCode};
use onecall_engine::journal::Phase;
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_request_beyond_the_limit_is_told_to_come_back() {
    let world = World::start_with(|options| options.requests_max = 1).await;
    let mut listener = Http::new(world.address);
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let mut heard = listener.modern("subscriptions/listen", wanted).await;
    assert_eq!(heard.status, StatusCode::OK);
    heard.next().await.unwrap();

    let mut busy = Http::new(world.address);
    busy.initialize("2025-11-25", json!({})).await;
    let stream = busy.get().await;
    let answer = busy
        .legacy("tools/call", json!({ "name": "endless" }))
        .await;
    world.newest_comes_to("endless", Phase::Running).await;

    let mut other = Http::new(world.address);
    let mut refused = other.modern("tools/list", json!({})).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers["retry-after"], "1");
    let told = refused.response().await;
    assert_eq!(told["id"], other.last_id());
    let text = told["error"]["message"].as_str().unwrap();
    assert!(text.starts_with("1 requests are being worked on"), "{text}");
    // What is no request gets through, so that the one that is worked on can be cancelled.
    let cancelled = json!({ "requestId": busy.last_id() });
    busy.notify("notifications/cancelled", cancelled).await;
    world.newest_comes_to("endless", Phase::Cancelled).await;
    drop(answer);
    let free = async {
        while other.modern("tools/list", json!({})).await.status != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let free = tokio::time::timeout(PATIENCE, free).await;
    free.expect("there is room again");
    drop(stream);
    world.end().await;
}

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_for_another_to_end() {
    let world = World::start_with(|options| options.connections_max = 1).await;
    let first = TcpStream::connect(world.address).await.unwrap();
    let client = Http::new(world.address);
    let mut asking = Box::pin(client.send(Method::GET, "/health", &[], ""));
    let soon = tokio::time::timeout(Duration::from_millis(300), &mut asking).await;
    assert!(soon.is_err(), "it was answered while another was open");
    drop(first);
    assert_eq!(asking.await.status, StatusCode::OK);
    world.end().await;
}

#[tokio::test]
async fn a_connection_that_says_nothing_or_half_of_it_is_closed() {
    let world = World::start_with(|options| {
        options.connection_idle = Duration::from_millis(200);
    })
    .await;
    for (said, wanted) in [
        ("", ""),
        ("POST /mcp HTT", ""),
        (
            "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
        ),
        (
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{",
            "HTTP/1.1 408 Request Timeout\r\n",
        ),
    ] {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let closed = stream.read_to_string(&mut answer);
        tokio::time::timeout(PATIENCE, closed)
            .await
            .unwrap()
            .unwrap();
        assert!(answer.starts_with(wanted), "{said}: {answer}");
        assert_eq!(answer.is_empty(), wanted.is_empty(), "{said}: {answer}");
    }
    // One that waits for its answer is not idle.
    let mut client = Http::new(world.address);
    let result = client
        .modern_result("tools/call", json!({ "name": "patient" }))
        .await;
    assert_eq!(result["structuredContent"]["ms"], 400);
    client.initialize("2025-11-25", json!({})).await;
    let call = json!({ "name": "patient" });
    let result = client.legacy_result("tools/call", call).await;
    assert_eq!(result["structuredContent"]["ms"], 400);
    world.end().await;
}

#[tokio::test]
async fn a_leaving_server_says_so_until_its_calls_are_answered() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = tokio::spawn(async move {
        let call = json!({ "name": "slow" });
        client.modern_result("tools/call", call).await
    });
    world.newest_comes_to("slow", Phase::Running).await;
    world.stop.cancel();
    let mut other = Http::new(world.address);
    let ready = other.send(Method::GET, "/readyz", &[], "").await;
    assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
    let health = other.send(Method::GET, "/health", &[], "").await;
    assert_eq!(health.status, StatusCode::OK);
    let mut refused = other.modern("tools/list", json!({})).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers["retry-after"], "1");
    let told = refused.response().await;
    let text = told["error"]["message"].as_str().unwrap();
    assert!(text.starts_with("the server is leaving"), "{text}");
    let answer = call.await.unwrap();
    assert_eq!(answer["structuredContent"]["text"], "done");
    world.end().await;
}

#[tokio::test]
async fn a_passed_call_that_outlasts_the_leaving_server_is_answered() {
    let world = World::start_with(|options| options.grace = Duration::ZERO).await;
    let call = json!({ "name": "demo_slow", "arguments": { "ms": 600_000 } });
    let mut old = Http::new(world.address);
    old.initialize("2025-11-25", json!({})).await;
    let mut stream = old.legacy("tools/call", call.clone()).await;
    // A modern client that hears nothing but the answer.
    let mut client = Http::new(world.address);
    let modern = tokio::spawn(async move { client.modern_result("tools/call", call).await });
    let sent = async {
        while world.runtime.backends().iter().all(|own| own.in_flight < 2) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, sent).await.unwrap();
    world.stop.cancel();
    let old = stream.response().await["result"].clone();
    for answer in [old, modern.await.unwrap()] {
        let error = &answer["_meta"]["dev.onecall/error"];
        assert_eq!(error["code"], "unknown_outcome.unanswered", "{answer}");
        // The tool is known to be read-only, so a second call does no harm.
        assert_eq!(error["retryable"], true, "{answer}");
    }
    world.end().await;
}
