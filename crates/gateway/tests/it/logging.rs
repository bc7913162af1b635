//! Log messages of calls: where they arrive.

use crate::client::Http;
use crate::world::{World, backend_at, workflow};
use onecall_config::settings::Server;
use onecall_testkit::faulty::{self, Reply, Seen, answer};
use serde_json::{Value, json};

/// A modern server that logs for every call.
fn logs(seen: &Seen) -> Reply {
    let result = match seen.body["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({ "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} } }),
        "tools/list" => json!({ "tools": [{ "name": "do", "inputSchema": { "type": "object" } }] }),
        "tools/call" => {
            let params = json!({ "level": "info", "logger": "backend", "data": 1 });
            let log =
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
            let result = answer(seen, "result", json!({ "content": [] }));
            let events = [log, result].map(|message| format!("data: {message}\n\n"));
            return Reply::Events(events.into());
        }
        _ => {
            let error = answer(seen, "error", json!({ "code": -32601 }));
            return Reply::Json(404, Vec::new(), error);
        }
    };
    Reply::Json(200, Vec::new(), answer(seen, "result", result))
}

/// What is told of a call before its answer.
async fn told(client: &mut Http, tool: &str) -> Vec<Value> {
    let mut answer = client.legacy("tools/call", json!({ "name": tool })).await;
    let mut told = Vec::new();
    loop {
        let message = answer.next().await.unwrap();
        if message.get("method").is_none() {
            return told;
        }
        assert_eq!(message["method"], "notifications/message", "{message}");
        told.push(message["params"]["logger"].clone());
    }
}

#[tokio::test]
async fn they_come_on_the_stream_of_their_call_in_a_session() {
    let backend = faulty::Server::start(logs).await;
    let world = World::serving(Server {
        name: "test".to_owned(),
        backends: vec![backend_at("crm", &backend.url)],
        workflows: vec![workflow("nothing", Vec::new())],
        ..Server::default()
    })
    .await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    for tool in ["nothing", "crm_do"] {
        // No level was set, so there are no messages.
        let call = json!({ "name": tool });
        let answered = client.legacy("tools/call", call.clone()).await;
        assert!(!answered.text().await.contains("notifications/message"));
        let progress = json!({ "name": tool, "_meta": { "progressToken": 1 } });
        for call in [call, progress] {
            let mut modern = Http::new(world.address);
            let answered = modern.modern("tools/call", call).await;
            assert!(!answered.text().await.contains("notifications/message"));
        }
    }
    let level = json!({ "level": "debug" });
    client.legacy_result("logging/setLevel", level).await;
    assert_eq!(told(&mut client, "nothing").await, ["onecall", "onecall"]);
    assert_eq!(told(&mut client, "crm_do").await, ["backend"]);
    world.end().await;
}
