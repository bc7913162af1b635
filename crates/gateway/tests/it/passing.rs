//! What passes between clients and a backend: resources, prompts, progress, and what the backend asks back.

use crate::client::{Http, MODERN};
use crate::world::World;
use http::Method;
use onecall_mcp::Era;
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
    let (uri, long) = ("demo://kept/k", "u".repeat(8 * 1024 + 1));
    let listen = json!({ "notifications": { "resourceSubscriptions": [long, uri], "promptsListChanged": true } });
    let mut listener = client.modern("subscriptions/listen", listen).await;
    let first = listener.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let accepted = &first["params"]["notifications"];
    assert_eq!(accepted["resourceSubscriptions"], json!([uri]));
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
    let long = json!({ "uri": long });
    let refused = session.legacy("resources/subscribe", long).await;
    let refused = refused.text().await;
    let told = "the URI of a resource to watch has at most 8192 bytes";
    assert!(refused.contains(told), "{refused}");
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

/// The text that a tool of a backend heard when it was called with these arguments.
async fn heard(client: &mut Http, era: Era, meta: Value, arguments: &str) -> Value {
    let place = "arguments as they are written";
    let mut params = json!({ "name": "odd_heard", "arguments": place });
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    match era {
        Era::Modern => {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            for (key, value) in meta.as_object().unwrap() {
                params["_meta"][key] = value.clone();
            }
            headers.extend([
                ("mcp-protocol-version", MODERN),
                ("mcp-method", "tools/call"),
                ("mcp-name", "odd_heard"),
            ]);
        }
        Era::Legacy => headers.extend(client.session_headers()),
    }
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let body = body.to_string().replace(&format!("{place:?}"), arguments);
    let mut answer = client.send(Method::POST, "/mcp", &headers, body).await;
    answer.response().await["result"]["content"][0]["text"].clone()
}

#[tokio::test]
async fn arguments_of_a_passed_call_go_on_as_they_came() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    for (given, passed) in [
        (
            r#"{"n":123456789012345678901234567890,"f":1.10,"e":1e400,"s":"\ud800","b":1,"a":2}"#,
            r#"{"n":123456789012345678901234567890,"f":1.10,"e":1e400,"s":"\ud800","b":1,"a":2}"#,
        ),
        // A line of a child's input ends at its first line break.
        ("{\n\"a\": [1,\r\n2.0]}", "{ \"a\": [1,  2.0]}"),
        // Two readers could take two values.
        (r#"{"a":{"b":1,"b":2}}"#, r#"{"a":{"b":2}}"#),
        ("null", "{}"),
    ] {
        for (era, meta) in [
            (Era::Modern, json!({})),
            (Era::Modern, json!({ "progressToken": "p" })),
            (Era::Legacy, json!({})),
        ] {
            let told = heard(&mut client, era, meta.clone(), given).await;
            assert_eq!(told, passed, "{era:?} {meta}");
        }
    }
    world.end().await;
}

#[tokio::test]
async fn arguments_that_a_workflow_cannot_hold_are_refused_in_words() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"three","arguments":{"n":1e400}}}"#;
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    headers.extend(client.session_headers());
    let mut answer = client.send(Method::POST, "/mcp", &headers, body).await;
    let result = answer.response().await["result"].clone();
    let error = &result["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "input.invalid", "{result}");
    let said = error["message"].as_str().unwrap();
    assert!(said.contains("number out of range"), "{said}");
    world.end().await;
}
