//! Batches of messages: revision 2025-03-26 takes them, all others refuse them by name.

use crate::client::Http;
use crate::world::World;
use http::StatusCode;
use onecall_engine::journal::Phase;
use serde_json::{Value, json};

fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn each_message_of_a_batch_is_answered() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-03-26", json!({})).await;
    let batch = json!([
        request(11, "tools/list", &json!({})),
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        request(12, "tools/call", &json!({ "name": "three" })),
        request(13, "no/such/method", &json!({})),
        { "jsonrpc": "1.0", "id": 14, "method": "ping" },
    ]);
    let answer = client.post(&client.session_headers(), &batch).await;
    assert_eq!(answer.status, StatusCode::OK);
    let text = answer.text().await;
    assert!(!text.contains("retry:"), "{text}");
    let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages: Vec<Value> = events
        .map(|event| serde_json::from_str(event).unwrap())
        .collect();
    let of = |id: i64| messages.iter().find(|message| message["id"] == id).unwrap();
    assert!(of(11)["result"]["tools"].is_array());
    assert_eq!(of(12)["result"]["structuredContent"]["text"], "done");
    assert_eq!(of(13)["error"]["code"], -32601);
    assert_eq!(of(14)["error"]["code"], -32600);
    assert_eq!(messages.len(), 4, "{text}");

    let told = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    let answer = client.post(&client.session_headers(), &told).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);

    let cancelled = json!([
        request(21, "tools/call", &json!({ "name": "endless" })),
        request(22, "tools/call", &json!({ "name": "nothing" })),
    ]);
    let answer = client.post(&client.session_headers(), &cancelled).await;
    world.newest_comes_to("endless", Phase::Running).await;
    let cancel = json!([{ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 21 } }]);
    client.post(&client.session_headers(), &cancel).await;
    world.newest_comes_to("endless", Phase::Cancelled).await;
    drop(answer);
    world.end().await;
}

#[tokio::test]
async fn batches_that_may_not_be_are_refused_in_words() {
    let world = World::start().await;
    let mut old = Http::new(world.address);
    old.initialize("2025-03-26", json!({})).await;
    let many: Vec<Value> = (0..101)
        .map(|number| request(number, "ping", &json!({})))
        .collect();
    let cases = [
        (json!([]), "the batch is empty"),
        (json!(many), "more than 100 messages"),
        (
            json!([request(1, "initialize", &json!({}))]),
            "`initialize` cannot be part of a batch",
        ),
    ];
    for (batch, why) in cases {
        let mut refused = old.post(&old.session_headers(), &batch).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        let told = refused.response().await;
        let text = told["error"]["message"].as_str().unwrap();
        assert!(text.contains(why), "{text}");
    }
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut client = Http::new(world.address);
        client.initialize(revision, json!({})).await;
        let batch = json!([request(1, "ping", &json!({}))]);
        let mut refused = client.post(&client.session_headers(), &batch).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        let told = refused.response().await;
        let text = told["error"]["message"].as_str().unwrap();
        assert!(text.starts_with("batches belong to revision 2025-03-26"));
    }
    world.end().await;
}
