//! What passes between clients and a backend: resources, prompts, progress, and what the backend asks back.

use crate::client::Http;
use crate::world::World;
use serde_json::{Value, json};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[tokio::test]
async fn resources_and_prompts_reach_clients_of_both_eras() {
    let world = World::start_with_fixture().await;
    let mut modern = Http::new(world.address);
    let listed = modern.modern_result("resources/list", json!({})).await;
    let uris = listed["resources"].as_array().unwrap().iter();
    assert!(
        uris.clone()
            .any(|resource| resource["uri"] == "test://static-text")
    );
    assert!(listed["ttlMs"].is_u64() && listed["cacheScope"].is_string());
    let read = json!({ "uri": "test://template/7/data" });
    let read = modern.modern_result("resources/read", read).await;
    assert!(
        read["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("\"7\"")
    );
    assert_eq!(
        (&read["ttlMs"], &read["resultType"]),
        (&json!(0), &json!("complete"))
    );
    let mut gone = modern
        .modern("resources/read", json!({ "uri": "test://gone" }))
        .await;
    let error = gone.response().await["error"].clone();
    assert_eq!(
        (&error["code"], &error["data"]["uri"]),
        (&json!(-32602), &json!("test://gone"))
    );

    let mut legacy = Http::new(world.address);
    let opened = legacy.initialize("2025-11-25", json!({})).await;
    let declared = opened["capabilities"].as_object().unwrap();
    for capability in ["tools", "resources", "prompts", "completions", "logging"] {
        assert!(declared.contains_key(capability), "{capability}");
    }
    let got =
        json!({ "name": "test_prompt_with_arguments", "arguments": { "arg1": "a", "arg2": "b" } });
    let got = legacy.legacy_result("prompts/get", got).await;
    assert!(
        got["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("arg2='b'")
    );
    assert!(got.get("resultType").is_none());
    let listed = legacy.legacy_result("prompts/list", json!({})).await;
    assert!(listed.get("ttlMs").is_none());
    world.end().await;
}

#[tokio::test]
async fn a_backend_asks_the_client_that_called() {
    let world = World::start_with_fixture().await;
    let call = json!({ "name": "test_sampling", "arguments": { "prompt": "Say something." } });
    let said = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Something." } });
    // A modern client carries the question itself.
    let mut modern = Http::new(world.address);
    let mut asking = call.clone();
    asking["_meta"] = json!({ CAPABILITIES: { "sampling": {} } });
    let asked = modern.modern_result("tools/call", asking.clone()).await;
    assert_eq!(
        asked["inputRequests"]["answer"]["method"],
        "sampling/createMessage"
    );
    assert_ne!(asked["requestState"], "fixture");
    asking["requestState"] = asked["requestState"].clone();
    asking["inputResponses"] = json!({ "answer": said });
    let result = modern.modern_result("tools/call", asking.clone()).await;
    assert!(
        result["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Something.")
    );
    // Its state is of this call alone.
    asking["arguments"]["prompt"] = json!("Something else.");
    let mut other = modern.modern("tools/call", asking).await;
    assert_eq!(other.response().await["error"]["code"], -32602);
    // A client that did not offer it is not asked.
    let mut refused = modern.modern("tools/call", call.clone()).await;
    let error = refused.response().await["error"].clone();
    assert_eq!(error["code"], -32021);
    assert!(error["data"]["requiredCapabilities"]["sampling"].is_object());

    let mut legacy = Http::new(world.address);
    legacy
        .initialize("2025-11-25", json!({ "sampling": {} }))
        .await;
    let mut answer = legacy.legacy("tools/call", call).await;
    let request = answer.next().await.unwrap();
    assert_eq!(request["method"], "sampling/createMessage", "{request}");
    legacy.respond(&request["id"], &said).await;
    let result = answer.response().await;
    let text = result["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.contains("Something."), "{text}");
    world.end().await;
}

#[tokio::test]
async fn progress_and_logs_are_told_to_those_who_want_them() {
    let world = World::start_with_fixture().await;
    let mut client = Http::new(world.address);
    let call = json!({ "name": "test_tool_with_progress", "_meta": { "progressToken": "p" } });
    let mut answer = client.modern("tools/call", call).await;
    for wanted in [0.0, 50.0, 100.0] {
        let message = answer.next().await.unwrap();
        assert_eq!(message["params"]["progress"], wanted, "{message}");
        assert_eq!(message["params"]["progressToken"], "p");
    }
    let level = "io.modelcontextprotocol/logLevel";
    let call = json!({ "name": "nothing", "_meta": { level: "debug" } });
    let mut answer = client.modern("tools/call", call).await;
    let message = answer.next().await.unwrap();
    assert_eq!(message["method"], "notifications/message", "{message}");
    let warnings = json!({ "name": "nothing", "_meta": { level: "warning" } });
    let quiet = client.modern("tools/call", warnings).await;
    assert!(!quiet.is_stream(), "nothing went wrong, nothing is told");
    world.end().await;
}

#[tokio::test]
async fn a_watched_resource_and_changed_prompts_are_told() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let uri = "demo://kept/k";
    let listen =
        json!({ "notifications": { "resourceSubscriptions": [uri], "promptsListChanged": true } });
    let mut listener = client.modern("subscriptions/listen", listen).await;
    let first = listener.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let mut session = Http::new(world.address);
    session.initialize("2025-11-25", json!({})).await;
    for (method, uri) in [
        ("resources/subscribe", uri),
        ("resources/unsubscribe", uri),
        ("resources/subscribe", uri),
        ("resources/subscribe", "demo://kept/other"),
    ] {
        session.legacy_result(method, json!({ "uri": uri })).await;
    }
    let mut stream = session.get().await;
    let put = |key: &str| json!({ "name": "demo_put", "arguments": { "key": key, "value": 1 } });
    let updated = async |answer: &mut crate::client::Answer| -> Value {
        loop {
            let message = answer.next().await.unwrap();
            if message["method"] == "notifications/resources/updated" {
                return message["params"]["uri"].clone();
            }
        }
    };
    session.legacy_result("tools/call", put("k")).await;
    assert_eq!(updated(&mut stream).await, uri);
    assert_eq!(updated(&mut listener).await, uri);
    session.legacy_result("tools/call", put("other")).await;
    let next = updated(&mut stream).await;
    assert_eq!(next, "demo://kept/other", "an update is told once");
    world.end().await;
}
