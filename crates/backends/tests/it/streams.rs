//! Event streams over HTTP: what comes on them beside messages, and what becomes of their connections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecall_mcp::Era;
use onecall_testkit::faulty::{Reply, Seen, Server, answer, done, modern};
use serde_json::{Value, json};

use crate::http::http;
use crate::world::{PATIENCE, call, start};

/// A handshake server without sessions; `get` answers the wish for a stream.
fn handshake(get: impl Fn(&Seen) -> Reply) -> impl Fn(&Seen) -> Reply {
    move |seen| {
        let result = match seen.body["method"].as_str() {
            None if seen.verb == "GET" => return get(seen),
            Some("initialize") => json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
            Some("tools/list") => json!({ "tools": [{ "name": "do" }] }),
            Some("tools/call") => return done(seen),
            Some(_) | None => return Reply::Json(202, Vec::new(), json!("Accepted")),
        };
        Reply::Json(200, Vec::new(), answer(seen, "result", result))
    }
}

#[tokio::test]
async fn a_change_is_heard_behind_what_is_no_message() {
    let asked = AtomicUsize::new(0);
    let server = Server::start(handshake(move |_| {
        if asked.fetch_add(1, Ordering::SeqCst) > 0 {
            return Reply::Json(405, Vec::new(), Value::Null);
        }
        let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        let events = [
            "event: ping\ndata: 12:00",
            "data: hello",
            &format!("data: {changed}"),
        ];
        Reply::Events(events.map(|event| format!("{event}\n\n")).to_vec())
    }))
    .await;
    let backends = start(vec![http("b", &server.url, Some(Era::Legacy))]);
    backends.settle(PATIENCE).await;
    let lists = || {
        let methods = server.methods();
        methods.iter().filter(|own| *own == "tools/list").count()
    };
    let read_again = async {
        while lists() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, read_again).await.unwrap();
    backends.shutdown().await;
}

#[tokio::test]
async fn connections_of_streams_are_reused_as_well() {
    for in_chunks in [false, true] {
        let server = Server::start(modern(move |seen| {
            let done = answer(seen, "result", json!({ "content": [] }));
            let events = vec![format!("data: {done}\n\n")];
            if in_chunks {
                Reply::Chunks(events)
            } else {
                Reply::Events(events)
            }
        }))
        .await;
        let backends = start(vec![http("b", &server.url, None)]);
        for _ in 0..100 {
            call(&backends, "b", "do", json!({})).await.unwrap();
        }
        assert_eq!(server.seen().len(), 102);
        // The next call may begin before the end of the last stream has come.
        let most = if in_chunks { 4 } else { 1 };
        assert!(server.connections() <= most, "{}", server.connections());
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_stream_that_goes_on_behind_its_answer_delays_nobody() {
    let server = Server::start(modern(|seen| {
        let done = answer(seen, "result", json!({ "content": [] }));
        let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n";
        Reply::Endless(format!("{head}data: {done}\n\n"), b": on\n\n".to_vec())
    }))
    .await;
    let backends = start(vec![http("b", &server.url, None)]);
    for _ in 0..10 {
        call(&backends, "b", "do", json!({})).await.unwrap();
    }
    backends.shutdown().await;
}

#[tokio::test]
async fn a_message_that_is_taken_with_a_body_costs_no_connection() {
    let server = Server::start(|seen: &Seen| match seen.body["method"].as_str() {
        Some("tools/call") => {
            let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
            let done = answer(seen, "result", json!({ "content": [] }));
            Reply::Events(
                [ping, done]
                    .map(|event| format!("data: {event}\n\n"))
                    .to_vec(),
            )
        }
        // Our answer to the ping, and what else needs none.
        None if seen.verb == "POST" => Reply::Json(202, Vec::new(), json!("Accepted")),
        _ => handshake(|_| Reply::Json(405, Vec::new(), Value::Null))(seen),
    })
    .await;
    let backends = start(vec![http("b", &server.url, Some(Era::Legacy))]);
    for _ in 0..50 {
        call(&backends, "b", "do", json!({})).await.unwrap();
    }
    assert!(server.connections() < 10, "{}", server.connections());
    backends.shutdown().await;
}
