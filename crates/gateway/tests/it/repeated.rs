//! Calls that are made again under the client's own key, calls that belong to a trace, and callers that leave.

use crate::client::Http;
use crate::world::World;
use onecall_engine::journal::{Filter, Phase};
use serde_json::{Value, json};

const KEY: &str = "dev.onecall/idempotency-key";

fn run_of(result: &Value) -> &str {
    let run = &result["_meta"]["dev.onecall/run"]["run_id"];
    run.as_str().unwrap_or_else(|| panic!("no run in {result}"))
}

#[tokio::test]
async fn the_same_key_and_arguments_are_the_same_run() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = |tool: &str, key: &str| json!({ "name": tool, "_meta": { KEY: key } });
    let first = client
        .modern_result("tools/call", call("three", "k1"))
        .await;
    let again = client
        .modern_result("tools/call", call("three", "k1"))
        .await;
    assert_eq!(run_of(&first), run_of(&again));
    assert_eq!(first["structuredContent"], again["structuredContent"]);
    let other = client
        .modern_result("tools/call", call("three", "k2"))
        .await;
    assert_ne!(run_of(&first), run_of(&other));
    let tool = client
        .modern_result("tools/call", call("patient", "k1"))
        .await;
    assert_ne!(run_of(&first), run_of(&tool));
    let runs = world
        .runtime
        .journal()
        .list(Filter::default())
        .await
        .unwrap();
    assert_eq!(runs.len(), 3);
    let mut wrong = call("three", "k1");
    wrong["arguments"] = json!({ "more": 1 });
    let refused = client.modern_result("tools/call", wrong).await;
    assert_eq!(
        refused["_meta"]["dev.onecall/error"]["code"],
        "input.invalid"
    );
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("idempotency key"), "{text}");
    for bad in [json!(7), json!(""), json!("x".repeat(300))] {
        let call = json!({ "name": "three", "_meta": { KEY: bad } });
        let mut answer = client.modern("tools/call", call).await;
        assert_eq!(answer.response().await["error"]["code"], -32602);
    }
    world.end().await;
}

#[tokio::test]
async fn a_call_repeated_while_its_run_goes_on_attaches_to_it() {
    let world = World::start().await;
    let call = json!({ "name": "patient", "_meta": { KEY: "k" } });
    let (mut one, mut two) = (Http::new(world.address), Http::new(world.address));
    let (first, second) = tokio::join!(
        one.modern_result("tools/call", call.clone()),
        two.modern_result("tools/call", call)
    );
    assert_eq!(run_of(&first), run_of(&second));
    world.end().await;
}

#[tokio::test]
async fn a_trace_reaches_the_backend_with_a_span_of_ours() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let meta = json!({ "traceparent": parent, "tracestate": "a=b", "vendor.example/x": 1 });
    for tool in ["traced", "odd_meta"] {
        let call = json!({ "name": tool, "_meta": meta });
        let result = client.modern_result("tools/call", call).await;
        let seen = &result["structuredContent"];
        let span = seen["traceparent"].as_str().unwrap();
        assert!(span.contains(trace) && span != parent, "{tool}: {span}");
        assert_eq!(seen["tracestate"], "a=b", "{tool}");
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let opened = client.post(&[], &body).await;
    let session = opened.headers["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client
        .post(&[("mcp-session-id", &session)], &initialized)
        .await;
    let headers = [
        ("traceparent", parent.as_str()),
        ("mcp-session-id", &session),
    ];
    let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "traced" } });
    let result = client.post(&headers, &body).await.response().await;
    let span = result["result"]["structuredContent"]["traceparent"]
        .as_str()
        .unwrap();
    assert!(span.contains(trace), "{span}");
    world.end().await;
}

#[tokio::test]
async fn a_workflow_may_go_on_without_its_client() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = json!({ "name": "stubborn", "_meta": { "progressToken": 1 } });
    {
        let answer = client.modern("tools/call", call);
        tokio::pin!(answer);
        tokio::select! {
            _ = &mut answer => panic!("answered too early"),
            () = world.newest_comes_to("stubborn", Phase::Running) => {}
        }
    }
    world.newest_comes_to("stubborn", Phase::Completed).await;
    world.end().await;
}
