//! Clients that no longer wait for what they asked of a backend: the backend is told, whatever was asked.

use crate::client::Http;
use crate::world::{PATIENCE, World, backend_at};
use onecall_config::settings::Server;
use onecall_testkit::faulty::{self, Reply, Seen, answer};
use serde_json::{Value, json};
use std::time::Duration;

/// A handshake backend that offers one thing of each kind and never answers for it.
fn hangs(seen: &Seen) -> Reply {
    let result = match seen.body["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {}, "resources": {}, "prompts": {}, "completions": {} },
            "serverInfo": { "name": "b", "version": "1" } }),
        "tools/list" => {
            json!({ "tools": [{ "name": "do", "inputSchema": { "type": "object" } }] })
        }
        "resources/list" => json!({ "resources": [{ "uri": "a://b", "name": "b" }] }),
        "resources/templates/list" => json!({ "resourceTemplates": [] }),
        "prompts/list" => json!({ "prompts": [{ "name": "p" }] }),
        "tools/call" | "resources/read" | "prompts/get" | "completion/complete" => {
            return Reply::Hang;
        }
        "notifications/initialized" | "notifications/cancelled" => {
            return Reply::Json(202, Vec::new(), Value::Null);
        }
        _ => {
            let error = json!({ "code": -32601, "message": "no" });
            return Reply::Json(404, Vec::new(), answer(seen, "error", error));
        }
    };
    Reply::Json(200, Vec::new(), answer(seen, "result", result))
}

fn requests() -> [(&'static str, Value); 4] {
    let prompt = json!({ "type": "ref/prompt", "name": "b_p" });
    [
        ("tools/call", json!({ "name": "b_do" })),
        ("resources/read", json!({ "uri": "a://b" })),
        ("prompts/get", json!({ "name": "b_p" })),
        (
            "completion/complete",
            json!({ "ref": prompt, "argument": { "name": "a", "value": "" } }),
        ),
    ]
}

fn before(backend: &faulty::Server) -> Server {
    Server {
        name: "test".to_owned(),
        backends: vec![backend_at("b", &backend.url)],
        ..Server::default()
    }
}

/// Waits until the backend has been sent a message this often.
async fn sent(backend: &faulty::Server, method: &str, times: usize) {
    let count = || {
        let methods = backend.methods().into_iter();
        methods.filter(|seen| seen == method).count()
    };
    let sent = async {
        while count() < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let sent = tokio::time::timeout(PATIENCE, sent).await;
    sent.unwrap_or_else(|_| panic!("{} of {times} times {method}", count()));
}

#[tokio::test]
async fn a_client_that_cancels_cancels_at_the_backend() {
    let backend = faulty::Server::start(hangs).await;
    let world = World::serving(before(&backend)).await;
    let mut session = Http::new(world.address);
    session.initialize("2025-11-25", json!({})).await;
    let mut cancelled = 0;
    for (method, params) in requests() {
        // A modern client closes its stream.
        let mut client = Http::new(world.address);
        tokio::select! {
            _ = client.modern(method, params.clone()) => panic!("{method} was answered"),
            () = sent(&backend, method, 1) => {}
        }
        drop(client);
        cancelled += 1;
        sent(&backend, "notifications/cancelled", cancelled).await;
        // A handshake client says so.
        let stream = session.legacy(method, params).await;
        sent(&backend, method, 2).await;
        let request = json!({ "requestId": session.last_id() });
        session.notify("notifications/cancelled", request).await;
        cancelled += 1;
        sent(&backend, "notifications/cancelled", cancelled).await;
        drop(stream);
    }
    world.end().await;
}

#[tokio::test]
async fn what_outlasts_the_leaving_server_is_answered() {
    for (method, params) in requests().into_iter().skip(1) {
        let backend = faulty::Server::start(hangs).await;
        let world = World::leaving_at_once(before(&backend)).await;
        let mut session = Http::new(world.address);
        session.initialize("2025-11-25", json!({})).await;
        let mut stream = session.legacy(method, params).await;
        sent(&backend, method, 1).await;
        world.stop.cancel();
        let answer = stream.response().await;
        let text = answer["error"]["message"].as_str();
        assert_eq!(text, Some("the server is leaving"), "{method}: {answer}");
        world.end().await;
    }
}
