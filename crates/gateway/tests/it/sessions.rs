//! Sessions of handshake clients: how many, how long, and how they end.

use crate::client::Http;
use crate::world::World;
use http::{Method, StatusCode};
use onecall_engine::journal::Phase;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn there_may_be_so_many_and_an_ended_one_makes_room() {
    let world = World::start_with(|options| options.sessions_max = 2).await;
    let mut first = Http::new(world.address);
    first.initialize("2025-11-25", json!({})).await;
    let mut second = Http::new(world.address);
    second.initialize("2025-11-25", json!({})).await;
    let mut third = Http::new(world.address);
    let mut refused = third.legacy("initialize", json!({})).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers["retry-after"], "10");
    assert_eq!(refused.response().await["error"]["code"], -32603);
    // A modern client has no session and needs none.
    third.modern_result("tools/list", json!({})).await;
    let headers = second.session_headers();
    let ended = second.send(Method::DELETE, "/mcp", &headers, "").await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    third.initialize("2025-06-18", json!({})).await;
    first.legacy_result("tools/list", json!({})).await;
    world.end().await;
}

/// Clients that were let in with the head of `initialize`, and send the rest once all of them are.
#[tokio::test]
async fn slow_openings_do_not_pass_the_limit() {
    let world = World::start_with(|options| options.sessions_max = 3).await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } })
    .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let mut opening = Vec::new();
    for _ in 0..12 {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // It is told to go on when its body is awaited.
        let mut told = [0; 25];
        stream.read_exact(&mut told).await.unwrap();
        assert!(told.starts_with(b"HTTP/1.1 100"), "{told:?}");
        opening.push(stream);
    }
    let mut answers = Vec::new();
    for stream in &mut opening {
        stream.write_all(body.as_bytes()).await.unwrap();
    }
    for mut stream in opening {
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        let read = tokio::time::timeout(crate::world::PATIENCE, read).await;
        read.expect("an answer in time").unwrap();
        answers.push(answer);
    }
    let opened = |answer: &&String| answer.starts_with("HTTP/1.1 200");
    assert_eq!(answers.iter().filter(opened).count(), 3, "{answers:?}");
    for refused in answers.iter().filter(|answer| !opened(answer)) {
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains("retry-after: 10"), "{refused}");
        assert!(
            refused.contains("there are 3 sessions already"),
            "{refused}"
        );
    }
    world.end().await;
}

#[tokio::test]
async fn an_ended_or_silent_session_is_unknown() {
    let idle = Duration::from_millis(300);
    let world = World::start_with(|options| options.session_idle = idle).await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let headers = client.session_headers();
    let ended = client.send(Method::DELETE, "/mcp", &headers, "").await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    let headers = client.session_headers();
    let again = client.send(Method::DELETE, "/mcp", &headers, "").await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    assert!(again.text().await.contains("no such session"));

    let mut silent = Http::new(world.address);
    silent.initialize("2025-11-25", json!({})).await;
    let expired = async {
        loop {
            // A request within the session would keep it alive.
            let answer = silent.send(Method::GET, "/status", &[], "").await;
            let status: serde_json::Value = serde_json::from_str(&answer.text().await).unwrap();
            if status["sessions"] == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::world::PATIENCE, expired)
        .await
        .expect("the session expires");
    let mut answer = silent.legacy("tools/list", json!({})).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(answer.response().await["error"]["message"].is_string());
    world.end().await;
}

#[tokio::test]
async fn every_refusal_is_json() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let stream = [("accept", "text/event-stream")];
    let both = [("accept", "application/json, text/event-stream")];
    let text = [("content-type", "text/plain"), both[0]];
    let json = [
        ("content-type", "application/json"),
        ("accept", "application/json"),
    ];
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let cases = [
        (Method::PUT, &both[..], "", StatusCode::METHOD_NOT_ALLOWED),
        (Method::GET, &stream[..], "", StatusCode::BAD_REQUEST),
        (Method::DELETE, &[][..], "", StatusCode::BAD_REQUEST),
        (
            Method::POST,
            &text[..],
            ping,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (Method::POST, &json[..], ping, StatusCode::NOT_ACCEPTABLE),
    ];
    for (method, headers, body, status) in cases {
        let answer = client.send(method.clone(), "/mcp", headers, body).await;
        assert_eq!(answer.status, status, "{method} {headers:?}");
        assert_eq!(answer.headers["content-type"], "application/json");
        let body: serde_json::Value = serde_json::from_str(&answer.text().await).unwrap();
        assert!(body["error"]["message"].is_string(), "{body}");
    }
    let modern = [("mcp-protocol-version", crate::client::MODERN), stream[0]];
    let answer = client.send(Method::GET, "/mcp", &modern, "").await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.headers["allow"], "POST");
    client.modern_result("tools/list", json!({})).await;
    world.end().await;
}

#[tokio::test]
async fn a_client_that_never_says_that_it_is_ready_is_a_session() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } });
    client.legacy("initialize", params).await.response().await;
    let status = client.send(Method::GET, "/status", &[], "").await;
    let status: serde_json::Value = serde_json::from_str(&status.text().await).unwrap();
    assert_eq!(status["sessions"], 1);
    world.end().await;
}

#[tokio::test]
async fn a_client_that_says_again_that_it_is_ready_is_one_session() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    for _ in 0..3 {
        client.notify("notifications/initialized", json!({})).await;
    }
    client.legacy_result("tools/list", json!({})).await;
    let status = client.send(Method::GET, "/status", &[], "").await;
    let status: Value = serde_json::from_str(&status.text().await).unwrap();
    assert_eq!(status["sessions"], 1);
    world.end().await;
}

#[tokio::test]
async fn a_client_that_lost_the_stream_of_its_call_reads_on() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client
        .initialize("2025-11-25", json!({ "elicitation": {} }))
        .await;
    let mut lost = client
        .legacy("tools/call", json!({ "name": "approve" }))
        .await;
    let question = lost.next().await.unwrap();
    drop(lost);
    // It has seen the event that opened the stream, and nothing of the question.
    let mut stream = client.get_from("0/0").await;
    assert_eq!(stream.next().await.unwrap(), question);
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    client.respond(&question["id"], &answer).await;
    let response = stream.next().await.unwrap();
    assert_eq!(response["id"], client.last_id());
    assert_eq!(response["result"]["structuredContent"], answer);
    assert!(stream.next().await.is_none());
    // What is answered cannot be read again, and a stream that says nothing is not opened for it.
    // To be told 404 would mean that the session is gone.
    for place in ["0/0", "9/7", "9", "x", ""] {
        let refused = client.get_from(place).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{place}");
    }
    client.legacy_result("tools/list", json!({})).await;
    world.end().await;
}

#[tokio::test]
async fn a_client_that_comes_back_after_the_end_of_its_call_has_the_answer() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let mut lost = client
        .legacy("tools/call", json!({ "name": "patient" }))
        .await;
    assert!(lost.first_event().await.contains("id: 0/0"));
    world.newest_comes_to("patient", Phase::Running).await;
    drop(lost);
    world.newest_comes_to("patient", Phase::Completed).await;
    // Its answer is given a moment after its end; another call through the same session is behind it.
    client
        .legacy_result("tools/call", json!({ "name": "three" }))
        .await;
    let mut stream = client.get_from("0/0").await;
    assert_eq!(stream.status, StatusCode::OK);
    let response = stream.next().await.unwrap();
    assert_eq!(response["id"], client.last_id() - 1);
    assert_ne!(response["result"]["isError"], true, "{response}");
    assert!(stream.next().await.is_none());
    world.end().await;
}
