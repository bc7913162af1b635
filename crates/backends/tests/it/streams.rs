//! Event streams over HTTP: what comes on them beside messages.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecall_mcp::Era;
use onecall_testkit::faulty::{Reply, Seen, Server, answer, done};
use serde_json::{Value, json};

use crate::http::http;
use crate::world::{PATIENCE, start};

/// A handshake server without sessions; `get` answers the wish for a stream.
fn handshake(get: impl Fn(&Seen) -> Reply) -> impl Fn(&Seen) -> Reply {
    move |seen| {
        let result = match seen.body["method"].as_str() {
            None if seen.verb == "GET" => return get(seen),
            Some("initialize") => json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
            Some("tools/list") => json!({ "tools": [{ "name": "do" }] }),
            Some("tools/call") => return done(seen),
            Some(_) | None => return Reply::Json(202, Vec::new(), Value::Null),
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
