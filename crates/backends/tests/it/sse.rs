//! The two-endpoint transport of 2024-11-05, by its own option and as a fall-back.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::StatusCode;
use onecall_backends::{BackendOptions, HttpOptions, TransportOptions};
use onecall_mcp::limits::MESSAGE_BYTES_MAX;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::world::{PATIENCE, call, start, way};

type Streams = Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>>;

async fn server() -> (String, AbortOnDropHandle<()>) {
    let streams = Streams::default();
    let router = Router::new()
        .route("/sse", get(open))
        .route("/messages", post(message))
        .with_state(streams);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, AbortOnDropHandle::new(serving))
}

async fn open(State(streams): State<Streams>) -> Response {
    let (sender, receiver) = mpsc::unbounded_channel();
    sender
        .send("event: endpoint\ndata: /messages\n\n".to_owned())
        .unwrap();
    streams.lock().unwrap().push(sender);
    let chunks = futures::stream::unfold(receiver, |mut receiver| async {
        receiver
            .recv()
            .await
            .map(|chunk| (Ok::<_, Infallible>(chunk), receiver))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    response
        .headers_mut()
        .insert("content-type", "text/event-stream".parse().unwrap());
    response
}

/// No connection is used for a second message.
async fn message(State(streams): State<Streams>, body: String) -> impl IntoResponse {
    let (status, body) = answer(&streams, &body);
    (status, [("connection", "close")], body)
}

/// Calls of `do` are answered; other tools are named after their fault.
fn answer(streams: &Streams, body: &str) -> (StatusCode, String) {
    let accepted = (StatusCode::ACCEPTED, String::new());
    let message: Value = serde_json::from_str(body).unwrap();
    if message["method"] == "initialize" {
        // One stream for all callers: a question could reach the wrong one.
        assert_eq!(message["params"]["capabilities"], json!({}));
    }
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({ "protocolVersion": "2024-11-05", "capabilities": {} }),
        "tools/list" => json!({ "tools": [{ "name": "do" }] }),
        "tools/call" => match message["params"]["name"].as_str().unwrap() {
            "denied" => return (StatusCode::UNAUTHORIZED, String::new()),
            "wrong" => return (StatusCode::BAD_REQUEST, "no".to_owned()),
            "forgotten" => return (StatusCode::NOT_FOUND, String::new()),
            "busy" => return (StatusCode::SERVICE_UNAVAILABLE, String::new()),
            "refused" => {
                let error = json!({ "code": -32602, "message": "no" });
                let refusal = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
                return (StatusCode::BAD_REQUEST, refusal.to_string());
            }
            "long" => json!({ "content": [], "more": "x".repeat(MESSAGE_BYTES_MAX) }),
            _ => json!({ "content": [{ "type": "text", "text": "old" }] }),
        },
        _ => return accepted,
    };
    let id = &message["id"];
    let streams = streams.lock().unwrap();
    streams
        .last()
        .unwrap()
        .send(format!(
            "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n\n"
        ))
        .unwrap();
    accepted
}

fn sse(url: &str) -> BackendOptions {
    let http = HttpOptions {
        url: url.to_owned(),
        ..HttpOptions::default()
    };
    let mut options = BackendOptions::new("b", TransportOptions::Sse(http));
    options.call_timeout = Some(PATIENCE);
    options
}

#[tokio::test]
async fn an_old_server_is_called_by_option_and_by_fall_back() {
    let (url, _serving) = server().await;
    for options in [sse(&url), BackendOptions::http("b", &url)] {
        let backends = start(vec![options]);
        let said = call(&backends, "b", "do", json!({})).await.unwrap();
        assert_eq!(said.content_map()["text"], "old");
        assert_eq!(backends.status()[0].transport, "sse");
        backends.shutdown().await;
    }
}

/// Refuses what comes before it was told that the client is ready, and takes its time over that.
async fn strict(
    State((streams, is_ready)): State<(Streams, Arc<AtomicBool>)>,
    body: String,
) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    if message["method"] == "notifications/initialized" {
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        is_ready.store(true, Ordering::SeqCst);
    } else if message["method"] != "initialize" && !is_ready.load(Ordering::SeqCst) {
        return (StatusCode::BAD_REQUEST, "not initialized").into_response();
    }
    answer(&streams, &body).into_response()
}

#[tokio::test]
async fn nothing_is_asked_of_a_server_before_it_took_that_the_client_is_ready() {
    let streams = Streams::default();
    let messages = post(strict).with_state((Arc::clone(&streams), Arc::default()));
    let router = Router::new()
        .route("/sse", get(open))
        .with_state(streams)
        .route("/messages", messages);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let _serving = AbortOnDropHandle::new(serving);
    let backends = start(vec![sse(&url)]);
    let said = call(&backends, "b", "do", json!({})).await.unwrap();
    assert_eq!(said.content_map()["text"], "old");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_refused_message_ends_its_call_at_once() {
    let (url, serving) = server().await;
    let backends = start(vec![sse(&url)]);
    for (tool, code) in [
        ("denied", "Denied"),
        ("wrong", "Unavailable"),
        ("busy", "UnknownOutcome"),
        ("refused", "Rpc -32602"),
        ("long", "Limit"),
        ("forgotten", "Unavailable"),
    ] {
        let ended = call(&backends, "b", tool, json!({})).await.unwrap_err();
        assert_eq!(way(&ended), code, "{tool}: {ended}");
        // A connection that is of no use any more is replaced.
        call(&backends, "b", "do", json!({})).await.unwrap();
    }
    assert_eq!(backends.status()[0].connects, 3);
    let reason = backends.status()[0].last_error.clone().unwrap();
    assert!(reason.contains("404"), "{reason}");
    // The stream stays, and nobody takes messages any more.
    drop(serving);
    let refused = async {
        loop {
            let ended = call(&backends, "b", "do", json!({})).await;
            if let Err(error) = ended {
                return error;
            }
        }
    };
    let refused = tokio::time::timeout(PATIENCE, refused).await.unwrap();
    assert_eq!(
        (way(&refused).as_str(), refused.may_have_acted()),
        ("Unavailable", false)
    );
    backends.shutdown().await;
}

type Peers = Arc<Mutex<BTreeSet<SocketAddr>>>;

/// Says that it took a message, and remembers on what connection that came.
async fn accepting(
    State((streams, peers)): State<(Streams, Peers)>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    body: String,
) -> impl IntoResponse {
    peers.lock().unwrap().insert(peer);
    let (status, _) = answer(&streams, &body);
    (status, "Accepted")
}

#[tokio::test]
async fn messages_that_are_taken_with_a_body_share_connections() {
    let (streams, peers) = (Streams::default(), Peers::default());
    let messages = post(accepting).with_state((Arc::clone(&streams), Arc::clone(&peers)));
    let router = Router::new()
        .route("/sse", get(open))
        .with_state(streams)
        .route("/messages", messages)
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let _serving = AbortOnDropHandle::new(serving);
    let backends = start(vec![sse(&url)]);
    for _ in 0..50 {
        call(&backends, "b", "do", json!({})).await.unwrap();
    }
    let used = peers.lock().unwrap().len();
    assert!(used < 10, "{used} connections");
    backends.shutdown().await;
}
