//! Clients of the stateless era over HTTP.

use crate::client::Http;
use crate::world::World;
use http::StatusCode;
use onecall_engine::journal::Phase;
use serde_json::{Value, json};

#[tokio::test]
async fn tools_are_listed_whole_and_in_order() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let discovered = client.modern_result("server/discover", json!({})).await;
    assert_eq!(
        discovered["supportedVersions"],
        json!(["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
    );
    let listed = client.modern_result("tools/list", json!({})).await;
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names[..10],
        [
            "three",
            "endless",
            "approve",
            "nothing",
            "patient",
            "stubborn",
            "slow",
            "consult",
            "interview",
            "traced"
        ]
    );
    let tools = &names[10..names.len() - 1];
    assert!(tools.contains(&"asking_ask") && tools.contains(&"demo_add"));
    assert_eq!(names.last(), Some(&"workflow_result"));
    let odd = names.iter().position(|name| *name == "odd_odd").unwrap();
    let odd = &listed["tools"][odd];
    assert_eq!(
        odd.to_string(),
        r#"{"zeta":[1],"name":"odd_odd","inputSchema":{"type":"object","x-vendor":true},"outputSchema":{"type":"array","items":{"type":"integer"}},"execution":{"taskSupport":"forbidden"}}"#
    );
    assert_eq!(listed["resultType"], "complete");
    assert!(listed["ttlMs"].is_u64() && listed["cacheScope"].is_string());
    world.end().await;
}

#[tokio::test]
async fn nothing_a_backend_sends_is_lost() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let answer = client
        .modern("tools/call", json!({ "name": "odd_odd" }))
        .await;
    let text = answer.text().await;
    let result = r#""result":{"zulu":{"b":123456789012345678901234567890,"a":2},"content":[{"type":"hologram","depth":3,"annotations":{"audience":["martian"]}}],"structuredContent":[1,2,3],"_meta":{"vendor.example/x":null,"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1.2.3"}},"resultType":"complete"}}"#;
    assert!(text.ends_with(result), "{text}");
    world.end().await;
}

#[tokio::test]
async fn a_workflow_answers_with_its_result_and_tells_its_progress() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let quiet = client
        .modern("tools/call", json!({ "name": "three" }))
        .await;
    assert!(!quiet.is_stream(), "no token, no stream");
    let call = json!({ "name": "three", "_meta": { "progressToken": "p" } });
    let mut answer = client.modern("tools/call", call).await;
    assert!(answer.is_stream());
    let mut progress = Vec::new();
    let response = loop {
        let message = answer.next().await.unwrap();
        if message["method"] != "notifications/progress" {
            break message;
        }
        let params = &message["params"];
        assert_eq!(params["progressToken"], "p");
        assert_eq!(params["total"], 3.0);
        progress.push((
            params["progress"].as_f64().unwrap(),
            params["message"].clone(),
        ));
    };
    let told = |number: f64, text: &str| (number, Value::from(text));
    assert_eq!(
        progress,
        [
            told(1.0, "first: completed"),
            told(2.0, "second: completed"),
            told(3.0, "third: completed")
        ]
    );
    let result = &response["result"];
    assert_eq!(
        result["structuredContent"],
        json!({ "text": "done", "ms": 40 })
    );
    assert!(result["_meta"]["dev.onecall/run"]["run_id"].is_string());
    assert!(answer.next().await.is_none());
    world.end().await;
}

#[tokio::test]
async fn a_client_that_wants_the_log_is_told_what_a_run_does() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = json!({ "name": "three", "_meta": { "io.modelcontextprotocol/logLevel": "debug" } });
    let mut stream = client.modern("tools/call", call).await;
    let mut said = Vec::new();
    while let Some(message) = stream.next().await {
        let data = &message["params"]["data"];
        let words = data["message"].as_str().map(str::to_owned);
        said.extend(words.filter(|_| data["step"] == "first"));
    }
    assert_eq!(said, ["attempt 1 began", "completed"]);
    world.end().await;
}

#[tokio::test]
async fn closing_the_stream_cancels_the_run() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = client.modern("tools/call", json!({ "name": "endless" }));
    tokio::select! {
        _ = call => panic!("it has no end"),
        () = world.newest_comes_to("endless", Phase::Running) => {}
    }
    world.newest_comes_to("endless", Phase::Cancelled).await;
    world.end().await;
}

#[tokio::test]
async fn a_changed_list_is_told_to_listeners() {
    let world = World::start().await;
    let mut listener = Http::new(world.address);
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let mut stream = listener.modern("subscriptions/listen", wanted).await;
    let first = stream.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let mut client = Http::new(world.address);
    let toggle = json!({ "name": "demo_toggle" });
    client.modern_result("tools/call", toggle).await;
    let second = stream.next().await.unwrap();
    assert_eq!(second["method"], "notifications/tools/list_changed");
    world.stop.cancel();
    let last = stream.next().await.expect("a graceful end");
    assert_eq!(last["id"], listener.last_id());
    world.end().await;
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_protocol() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    for params in [
        json!({ "name": "none" }),
        json!({}),
        json!({ "name": "nothing", "arguments": [] }),
    ] {
        let mut answer = client.modern("tools/call", params).await;
        assert_eq!(answer.response().await["error"]["code"], -32602);
    }
    for method in ["no/such", "ping", "logging/setLevel", "tasks/result"] {
        let mut answer = client.modern(method, json!({})).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method}");
        assert_eq!(answer.response().await["error"]["code"], -32601);
    }
    world.end().await;
}

#[tokio::test]
async fn a_call_in_flight_is_answered_when_the_server_stops() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = json!({ "name": "demo_slow", "arguments": { "ms": 300 } });
    let call = client.modern_result("tools/call", call);
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        world.stop.cancel();
    };
    let (result, ()) = tokio::join!(call, stop);
    assert_eq!(result["structuredContent"]["ms"], 300);
    world.end().await;
}
