//! Servers that send without end: whoever reads them leaves others on the thread their turn, time-outs above all. The
//! runtime of each test has one thread, and the server a runtime of its own, so that there is always more to read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecall_backends::BackendOptions;
use onecall_mcp::Era;
use onecall_testkit::faulty::{Reply, Seen, Server, answer, done, modern};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio_util::task::AbortOnDropHandle;

use crate::http::http;
use crate::world::{PATIENCE, call, start, way};

const HASTE: Duration = Duration::from_millis(500);
/// Far more turns than readers leave who wait only for what is not there yet.
const TURNS: usize = 4;

/// A server on a thread of its own.
struct Elsewhere {
    server: Option<Server>,
    runtime: Option<Runtime>,
}

impl Elsewhere {
    async fn start(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let server = runtime.spawn(Server::start(reply)).await.unwrap();
        Self {
            server: Some(server),
            runtime: Some(runtime),
        }
    }

    fn url(&self) -> &str {
        &self.server.as_ref().unwrap().url
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.server = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Counts the turns of somebody else on this thread.
fn bystander() -> (Arc<AtomicUsize>, AbortOnDropHandle<()>) {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let task = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    (turns, AbortOnDropHandle::new(task))
}

fn events(event: &str) -> Reply {
    let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n";
    let chunk = event.repeat(65_536 / event.len());
    Reply::Endless(head.to_owned(), chunk.into_bytes())
}

const NOTE: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{}}\n\n";

#[tokio::test]
async fn a_stream_of_small_events_leaves_others_their_turn_and_the_call_its_time_out() {
    for event in [NOTE, ": on\n\n"] {
        let server = Elsewhere::start(modern(move |_| events(event))).await;
        let mut options = http("b", server.url(), None);
        options.call_timeout = Some(HASTE);
        let backends = start(vec![options]);
        backends.settle(PATIENCE).await;
        let (turns, _bystander) = bystander();
        let late = call(&backends, "b", "do", json!({})).await.unwrap_err();
        assert_eq!(way(&late), "Timeout", "{event}: {late}");
        let turns = turns.load(Ordering::SeqCst);
        assert!(turns > TURNS, "{event}: {turns}");
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_change_stream_without_end_leaves_calls_their_turn() {
    let server = Elsewhere::start(|seen: &Seen| {
        let result = match seen.body["method"].as_str() {
            None if seen.verb == "GET" => return events(NOTE),
            Some("initialize") => json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
            Some("tools/list") => json!({ "tools": [{ "name": "do" }] }),
            Some("tools/call") => return done(seen),
            Some(_) | None => return Reply::Json(202, Vec::new(), json!("Accepted")),
        };
        Reply::Json(200, Vec::new(), answer(seen, "result", result))
    })
    .await;
    let backends = start(vec![http("b", server.url(), Some(Era::Legacy))]);
    backends.settle(PATIENCE).await;
    let (turns, _bystander) = bystander();
    for _ in 0..10 {
        call(&backends, "b", "do", json!({})).await.unwrap();
    }
    let called = turns.swap(0, Ordering::SeqCst);
    assert!(called > 0);
    // Also while nothing else happens than that the stream goes on.
    let has_turns = async {
        while turns.load(Ordering::SeqCst) <= TURNS {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let in_time = tokio::time::timeout(HASTE, has_turns).await;
    assert!(in_time.is_ok(), "{turns:?}");
    backends.shutdown().await;
}

#[tokio::test]
async fn many_events_that_are_no_messages_are_given_up_by_name() {
    for event in ["data: x\n\n", "event: ping\ndata: {}\n\n"] {
        let server = Elsewhere::start(modern(move |_| events(event))).await;
        let backends = start(vec![http("b", server.url(), None)]);
        let over = call(&backends, "b", "do", json!({})).await.unwrap_err();
        assert_eq!(way(&over), "Limit");
        let told = "a stream of more than 100000 events in a row that are no messages";
        assert!(over.to_string().ends_with(told), "{over}");
        backends.shutdown().await;
    }
    // The older transport waits for the event that names its endpoint.
    let server = Elsewhere::start(|seen: &Seen| match seen.verb.as_str() {
        "GET" => events("event: ping\ndata: {}\n\n"),
        _ => Reply::Json(405, Vec::new(), json!(null)),
    })
    .await;
    let mut options = BackendOptions::http("b", server.url());
    let onecall_backends::TransportOptions::Http(endpoint) = options.transport else {
        panic!("another transport")
    };
    options.transport = onecall_backends::TransportOptions::Sse(endpoint);
    let backends = start(vec![options]);
    let over = call(&backends, "b", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&over), "Unavailable");
    assert!(over.to_string().contains("that are no messages"), "{over}");
    backends.shutdown().await;
}
