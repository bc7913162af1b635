//! Sessions and eras of HTTP servers that come and go behind one address.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use onecall_backends::{Call, CallerId, SessionScope};
use onecall_testkit::faulty::{Reply, Seen, Server, answer, done, modern};
use serde_json::{Value, json};

use crate::http::http;
use crate::world::{PATIENCE, call, complete, start, way};

/// A legacy server whose sessions are numbered and can be forgotten.
fn sessions(opened: Arc<AtomicUsize>, valid: Arc<AtomicUsize>) -> impl Fn(&Seen) -> Reply {
    sessions_lost(opened, valid, |_| Reply::Json(404, Vec::new(), Value::Null))
}

/// The same with a refusal of its own for sessions that it does not know.
fn sessions_lost(
    opened: Arc<AtomicUsize>,
    valid: Arc<AtomicUsize>,
    refused: impl Fn(&Seen) -> Reply,
) -> impl Fn(&Seen) -> Reply {
    move |seen| {
        let method = seen.body["method"].as_str().unwrap_or_default();
        if seen.verb == "DELETE" {
            return Reply::Json(405, Vec::new(), Value::Null);
        }
        if method == "initialize" {
            let number = opened.fetch_add(1, Ordering::SeqCst) + 1;
            let result = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
            let session = vec![("mcp-session-id", number.to_string())];
            return Reply::Json(200, session, answer(seen, "result", result));
        }
        if method == "server/discover" {
            return Reply::Json(400, Vec::new(), Value::Null);
        }
        let session = seen
            .headers
            .get("mcp-session-id")
            .and_then(|id| id.parse::<usize>().ok());
        if session.is_none_or(|session| session < valid.load(Ordering::SeqCst)) {
            return refused(seen);
        }
        match method {
            _ if seen.verb == "GET" => Reply::Events(Vec::new()),
            "ping" => Reply::Json(200, Vec::new(), answer(seen, "result", json!({}))),
            "tools/list" => Reply::Json(
                200,
                Vec::new(),
                answer(seen, "result", json!({ "tools": [{ "name": "do" }] })),
            ),
            "tools/call" => done(seen),
            _ => Reply::Json(202, Vec::new(), Value::Null),
        }
    }
}

#[tokio::test]
async fn a_forgotten_session_is_opened_again_once_for_all_calls() {
    let (opened, valid) = (Arc::default(), Arc::default());
    let server = Server::start(sessions(Arc::clone(&opened), Arc::clone(&valid))).await;
    let backends = start(vec![http("b", &server.url, None)]);
    call(&backends, "b", "do", json!({})).await.unwrap();
    valid.store(2, Ordering::SeqCst);
    let calls = (0..10).map(|_| call(&backends, "b", "do", json!({})));
    for outcome in futures::future::join_all(calls).await {
        outcome.unwrap();
    }
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    let versions = server
        .seen()
        .into_iter()
        .filter(|seen| seen.body["method"] == "tools/call");
    assert!(
        versions
            .into_iter()
            .all(|seen| seen.headers["mcp-protocol-version"] == "2025-06-18")
    );
    backends.shutdown().await;
    assert!(server.seen().iter().any(|seen| seen.verb == "DELETE"));
}

/// A refusal with status 400 and this error.
fn bad_request(code: i64, message: &'static str) -> impl Fn(&Seen) -> Reply {
    move |seen| {
        let error = json!({ "code": code, "message": message });
        Reply::Json(400, Vec::new(), answer(seen, "error", error))
    }
}

fn count(server: &Server, method: &str) -> usize {
    let methods = server.methods();
    methods.iter().filter(|own| *own == method).count()
}

#[tokio::test]
async fn a_session_that_is_refused_with_400_is_opened_again() {
    type Refusal = Box<dyn Fn(&Seen) -> Reply + Send + Sync>;
    let refusals: [Refusal; 4] = [
        Box::new(bad_request(
            -32_000,
            "Bad Request: No valid session ID provided",
        )),
        Box::new(bad_request(-32_000, "Bad Request: Server not initialized")),
        Box::new(bad_request(-32_600, "Bad Request: Missing session ID")),
        Box::new(|_| Reply::Json(400, Vec::new(), Value::Null)),
    ];
    for refusal in refusals {
        let (opened, valid) = (Arc::default(), Arc::default());
        let sessions = sessions_lost(Arc::clone(&opened), Arc::clone(&valid), refusal);
        let server = Server::start(sessions).await;
        let backends = start(vec![http("b", &server.url, None)]);
        call(&backends, "b", "do", json!({})).await.unwrap();
        valid.store(2, Ordering::SeqCst);
        let calls = (0..10).map(|_| call(&backends, "b", "do", json!({})));
        for outcome in futures::future::join_all(calls).await {
            outcome.unwrap();
        }
        assert_eq!(opened.load(Ordering::SeqCst), 2);
        let listens_again = async {
            let is_new = |seen: &Seen| seen.verb == "GET" && seen.headers["mcp-session-id"] == "2";
            while !server.seen().iter().any(is_new) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, listens_again).await.unwrap();
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_400_that_is_not_about_the_session_leaves_it_open() {
    for code in [-32_000, -32_602] {
        let opened = Arc::new(AtomicUsize::new(0));
        let known = sessions(Arc::clone(&opened), Arc::default());
        let server = Server::start(move |seen| match seen.body["method"].as_str() {
            Some("tools/call") => bad_request(code, "the shop is closed")(seen),
            _ => known(seen),
        })
        .await;
        let backends = start(vec![http("b", &server.url, None)]);
        for _ in 0..2 {
            let refused = call(&backends, "b", "do", json!({})).await.unwrap_err();
            assert_eq!(way(&refused), format!("Rpc {code}"));
        }
        assert_eq!(count(&server, "tools/call"), 2, "none is sent again");
        assert_eq!(opened.load(Ordering::SeqCst), 1);
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_second_refusal_stands_and_the_server_is_connected_anew() {
    let is_strange = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_strange);
    let known = sessions(Arc::default(), Arc::default());
    let server = Server::start(move |seen| {
        let is_call = seen.body["method"] == "tools/call";
        if is_call && flag.load(Ordering::SeqCst) {
            return bad_request(-32_000, "No valid session ID provided")(seen);
        }
        known(seen)
    })
    .await;
    let backends = start(vec![http("b", &server.url, None)]);
    call(&backends, "b", "do", json!({})).await.unwrap();
    is_strange.store(true, Ordering::SeqCst);
    let refused = call(&backends, "b", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&refused), "Rpc -32000");
    assert_eq!(count(&server, "tools/call"), 3, "once more, and no more");
    is_strange.store(false, Ordering::SeqCst);
    let connected = async {
        while backends.status()[0].connects < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, connected).await.unwrap();
    call(&backends, "b", "do", json!({})).await.unwrap();
    backends.shutdown().await;
}

#[tokio::test]
async fn a_modern_server_that_is_replaced_by_a_handshake_server_is_found_out() {
    for (code, message) in [
        (-32_000, "Bad Request: No valid session ID provided"),
        (
            -32_600,
            "Bad Request: Unsupported protocol version: 2026-07-28",
        ),
    ] {
        let is_old = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_old);
        let old = sessions_lost(Arc::default(), Arc::default(), bad_request(code, message));
        let server = Server::start(move |seen| {
            if flag.load(Ordering::SeqCst) {
                old(seen)
            } else {
                modern(done)(seen)
            }
        })
        .await;
        let backends = start(vec![http("b", &server.url, None)]);
        call(&backends, "b", "do", json!({})).await.unwrap();
        is_old.store(true, Ordering::SeqCst);
        let called = call(&backends, "b", "do", json!({})).await;
        called.unwrap_or_else(|error| panic!("{code}: {error}"));
        assert_eq!(backends.status()[0].era, Some("legacy"));
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn the_era_is_found_once_for_all_callers() {
    let server = Server::start(sessions(Arc::default(), Arc::default())).await;
    let mut options = http("b", &server.url, None);
    options.session = SessionScope::PerClient;
    let backends = start(vec![options]);
    backends.settle(PATIENCE).await;
    for caller in ["Ada", "Bob"] {
        let mut own = Call::new("do", json!({}));
        own.caller = Some(CallerId(caller.into()));
        complete(backends.call(&"b".into(), own).await).unwrap();
    }
    let methods = server.methods();
    let count = |name: &str| methods.iter().filter(|own| *own == name).count();
    assert_eq!((count("initialize"), count("server/discover")), (3, 1));
    backends.shutdown().await;
}

/// A handshake server in whose place there is a modern one once the flag is set, which refuses whatever a handshake
/// server is asked with this code.
async fn replaced(code: i64, is_new: Arc<AtomicBool>) -> Server {
    let old = sessions(Arc::default(), Arc::default());
    Server::start(move |seen| {
        let version = seen.headers.get("mcp-protocol-version");
        let is_modern = version.is_some_and(|version| version == "2026-07-28");
        match (is_new.load(Ordering::SeqCst), is_modern) {
            (false, _) => old(seen),
            (true, true) => modern(done)(seen),
            (true, false) => {
                let error = json!({ "code": code, "message": "not in this way" });
                Reply::Json(400, Vec::new(), answer(seen, "error", error))
            }
        }
    })
    .await
}

/// What it refused it did not do, so the call is made again in its way.
#[tokio::test]
async fn a_server_that_speaks_another_era_now_is_found_again() {
    for code in [-32_020, -32_022, -32_602] {
        let is_new = Arc::new(AtomicBool::new(false));
        let server = replaced(code, Arc::clone(&is_new)).await;
        let backends = start(vec![http("b", &server.url, None)]);
        call(&backends, "b", "do", json!({})).await.unwrap();
        is_new.store(true, Ordering::SeqCst);
        let called = call(&backends, "b", "do", json!({})).await;
        called.unwrap_or_else(|error| panic!("{code}: {error}"));
        assert_eq!(backends.status()[0].era, Some("modern"));
        backends.shutdown().await;
    }
}
