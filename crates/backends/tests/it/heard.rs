//! What a server tells of its lists while nobody can hear it: nothing of it is lost once it is heard again. And how its
//! questions are answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onecall_backends::{BackendOptions, Backends, Call};
use onecall_mcp::RpcError;
use onecall_testkit::faulty::{Reply, Seen, Server, answer, done, modern};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::world::{PATIENCE, start};

/// A list that is longer each time it is read.
fn growing(seen: &Seen, reads: &AtomicUsize) -> Reply {
    let count = 0..=reads.fetch_add(1, Ordering::SeqCst);
    let tools: Vec<Value> = count
        .map(|number| json!({ "name": format!("t{number}") }))
        .collect();
    result(seen, json!({ "tools": tools }))
}

fn result(seen: &Seen, value: Value) -> Reply {
    Reply::Json(200, Vec::new(), answer(seen, "result", value))
}

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true } })
}

/// Waits until the list was read so often.
async fn read_times(server: &Server, times: usize) -> Backends {
    let backends = start(vec![BackendOptions::http("b", &server.url)]);
    let mut lists = backends.tool_lists();
    backends.settle(PATIENCE).await;
    let grown = lists.wait_for(|lists| {
        let first = lists.lists.first();
        first.is_some_and(|(_, tools)| tools.len() >= times)
    });
    let grown = tokio::time::timeout(PATIENCE, grown).await;
    grown.expect("the list is read again").unwrap();
    backends
}

/// A modern server whose change streams are acknowledged and then do as they are told.
async fn modern_server(stream: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Server {
    let reads = AtomicUsize::new(0);
    modern_server_listing(move |seen| growing(seen, &reads), stream).await
}

async fn modern_server_listing(
    list: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    stream: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> Server {
    Server::start(move |seen| match seen.body["method"].as_str() {
        Some("server/discover") => {
            let capabilities = capabilities();
            result(
                seen,
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities }),
            )
        }
        Some("tools/list") => list(seen),
        Some("subscriptions/listen") => stream(seen),
        _ => modern(done)(seen),
    })
    .await
}

fn acknowledgement(seen: &Seen) -> String {
    let tag = json!({ "io.modelcontextprotocol/subscriptionId": seen.body["id"] });
    let method = "notifications/subscriptions/acknowledged";
    let message = json!({ "jsonrpc": "2.0", "method": method, "params": { "_meta": tag } });
    format!("data: {message}\n\n")
}

/// A change stream that is acknowledged, stays, and tells nothing.
fn endless(seen: &Seen) -> Reply {
    let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n";
    Reply::Endless(format!("{head}{}", acknowledgement(seen)), b": \n".to_vec())
}

/// A handshake server that asks in a call; the sender gets what it is answered.
async fn asking_server(answered: mpsc::UnboundedSender<String>) -> Server {
    Server::start(move |seen| match seen.body["method"].as_str() {
        Some("initialize") => {
            let opened =
                json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} } });
            result(seen, opened)
        }
        Some("tools/list") => result(seen, json!({ "tools": [{ "name": "t" }] })),
        Some("tools/call") => {
            let question = json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                "params": { "message": "which?" } });
            let called = answer(seen, "result", json!({ "content": [] }));
            let events = [question, called].map(|message| format!("data: {message}\n\n"));
            Reply::Events(events.to_vec())
        }
        Some("notifications/initialized") => Reply::Json(202, Vec::new(), Value::Null),
        None if seen.text.contains(r#""id":"q""#) => {
            answered.send(seen.text.clone()).unwrap();
            Reply::Json(202, Vec::new(), Value::Null)
        }
        _ => {
            let error = answer(
                seen,
                "error",
                json!({ "code": -32601, "message": "unknown" }),
            );
            Reply::Json(404, Vec::new(), error)
        }
    })
    .await
}

#[tokio::test]
async fn an_error_that_answers_a_question_is_heard_as_it_was_written() {
    let (sender, mut answered) = mpsc::unbounded_channel();
    let server = asking_server(sender).await;
    let backends = start(vec![BackendOptions::http("b", &server.url)]);
    let error = r#"{"z":1e400,"code":5000000000,"message":"no"}"#;
    let raw = RawValue::from_string(error.to_owned()).unwrap();
    for (reply, told) in [
        (Some(Err(RpcError::from_raw(&raw))), error.to_owned()),
        (
            None,
            json!({ "code": -32601, "message": "method `elicitation/create` is not known here" })
                .to_string(),
        ),
    ] {
        let (asker, mut questions) = mpsc::channel(1);
        let mut call = Call::new("t", json!({}));
        call.asker = Some(asker);
        backends.call(&"b".into(), call).await.unwrap();
        let question = questions.recv().await.unwrap();
        // One that is dropped is refused.
        if let Some(reply) = reply {
            question.reply.send(reply).unwrap();
        } else {
            drop(question);
        }
        let heard = tokio::time::timeout(PATIENCE, answered.recv()).await;
        let wanted = format!(r#"{{"jsonrpc":"2.0","id":"q","error":{told}}}"#);
        assert_eq!(heard.unwrap().unwrap(), wanted);
    }
    backends.shutdown().await;
}

#[tokio::test]
async fn what_changed_before_the_stream_was_there_is_seen() {
    let server = modern_server(endless).await;
    read_times(&server, 2).await.shutdown().await;
}

/// The list says that it lasts for a second at least; the first reading is that of the connection, the second that of
/// the stream, where there is one.
#[tokio::test]
async fn a_list_that_has_lasted_its_time_is_read_again_whatever_is_told() {
    for is_refused in [true, false] {
        let reads = AtomicUsize::new(0);
        let server = modern_server_listing(
            move |seen| {
                let count = 0..=reads.fetch_add(1, Ordering::SeqCst);
                let tools: Vec<Value> = count
                    .map(|number| json!({ "name": format!("t{number}") }))
                    .collect();
                result(seen, json!({ "tools": tools, "ttlMs": 1 }))
            },
            move |seen| {
                if is_refused {
                    let error = json!({ "code": -32601, "message": "unknown" });
                    return Reply::Json(404, Vec::new(), answer(seen, "error", error));
                }
                endless(seen)
            },
        )
        .await;
        read_times(&server, 4).await.shutdown().await;
    }
}

#[tokio::test]
async fn a_stream_that_broke_is_opened_again_and_the_list_is_read() {
    let server = modern_server(|seen| Reply::Events(vec![acknowledgement(seen)])).await;
    read_times(&server, 4).await.shutdown().await;
}

#[tokio::test]
async fn a_handshake_stream_is_opened_again_also_after_trouble() {
    let (reads, streams) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let opened = Arc::clone(&streams);
    let server = Server::start(move |seen| {
        if seen.verb == "GET" {
            return match opened.fetch_add(1, Ordering::SeqCst) {
                0 | 2 => Reply::Events(vec![": hello\n\n".to_owned()]),
                1 => Reply::Json(503, Vec::new(), Value::Null),
                _ => Reply::Hang,
            };
        }
        match seen.body["method"].as_str() {
            Some("initialize") => {
                let capabilities = capabilities();
                result(
                    seen,
                    json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities }),
                )
            }
            Some("tools/list") => growing(seen, &reads),
            Some("server/discover") => Reply::Json(
                400,
                Vec::new(),
                answer(seen, "error", json!({ "code": -32601 })),
            ),
            _ => Reply::Json(202, Vec::new(), Value::Null),
        }
    })
    .await;
    let backends = read_times(&server, 2).await;
    assert!(streams.load(Ordering::SeqCst) >= 3);
    backends.shutdown().await;
}
