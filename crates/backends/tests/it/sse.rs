//! The two-endpoint transport of 2024-11-05, by its own option and as a fall-back.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use onecall_backends::{BackendOptions, HttpOptions, TransportOptions};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::world::{call, start};

type Streams = Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>>;

async fn server() -> String {
    let streams = Streams::default();
    let router = Router::new()
        .route("/sse", get(open))
        .route("/messages", post(message))
        .with_state(streams);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
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

async fn message(State(streams): State<Streams>, body: String) -> http::StatusCode {
    let message: Value = serde_json::from_str(&body).unwrap();
    if message["method"] == "initialize" {
        // One stream for all callers: a question could reach the wrong one.
        assert_eq!(message["params"]["capabilities"], json!({}));
    }
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({ "protocolVersion": "2024-11-05", "capabilities": {} }),
        "tools/list" => json!({ "tools": [{ "name": "do" }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "old" }] }),
        _ => return http::StatusCode::ACCEPTED,
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    let streams = streams.lock().unwrap();
    streams
        .last()
        .unwrap()
        .send(format!("event: message\ndata: {answer}\n\n"))
        .unwrap();
    http::StatusCode::ACCEPTED
}

#[tokio::test]
async fn an_old_server_is_called_by_option_and_by_fall_back() {
    let url = server().await;
    let sse = TransportOptions::Sse(HttpOptions {
        url: url.clone(),
        ..HttpOptions::default()
    });
    for options in [
        BackendOptions::new("b", sse),
        BackendOptions::http("b", &url),
    ] {
        let backends = start(vec![options]);
        let said = call(&backends, "b", "do", json!({})).await.unwrap();
        assert_eq!(said.content_map()["text"], "old");
        backends.shutdown().await;
    }
}
