//! Clients of the handshake era over HTTP.

use crate::client::Http;
use crate::world::{World, configured};
use onecall_engine::journal::Phase;
use serde_json::{Value, json};

#[tokio::test]
async fn every_handshake_revision_opens_a_session() {
    let world = World::start().await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Http::new(world.address);
        let opened = client.initialize(version, json!({})).await;
        assert_eq!(opened["protocolVersion"], version);
        assert_eq!(
            opened["serverInfo"],
            json!({ "name": "test", "version": "1.2.3" })
        );
        let result = client
            .legacy_result("tools/call", json!({ "name": "three" }))
            .await;
        assert_eq!(result["structuredContent"]["text"], "done");
        assert!(result.get("resultType").is_none());
    }
    world.end().await;
}

/// The event that lets a client take a stream up again came with 2025-11-25; older clients cannot read it.
#[tokio::test]
async fn only_clients_that_know_it_get_an_empty_event_first() {
    let world = World::start().await;
    let revisions = [
        ("2025-03-26", false),
        ("2025-06-18", false),
        ("2025-11-25", true),
    ];
    for (revision, knows_it) in revisions {
        let mut client = Http::new(world.address);
        let params = json!({ "protocolVersion": revision, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let opened = client.legacy("initialize", params).await.text().await;
        assert_eq!(opened.contains("retry:"), knows_it, "{opened}");
        client.initialize(revision, json!({})).await;
        for method in ["tools/list", "ping"] {
            let answer = client.legacy(method, json!({})).await.text().await;
            assert_eq!(answer.contains("retry:"), knows_it, "{answer}");
            assert_eq!(answer.matches("data: {").count(), 1, "{answer}");
        }
        let mut stream = client.get().await;
        let call = json!({ "name": "demo_toggle" });
        client.legacy_result("tools/call", call).await;
        let first = stream.first_event().await;
        assert_eq!(first.contains("retry:"), knows_it, "{first}");
    }
    world.end().await;
}

#[tokio::test]
async fn structured_content_is_an_object_for_them() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-06-18", json!({})).await;
    let listed = client.legacy_result("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    let odd = tools.iter().find(|tool| tool["name"] == "odd_odd").unwrap();
    assert_eq!(odd["outputSchema"]["type"], "object");
    let result = client
        .legacy_result("tools/call", json!({ "name": "odd_odd" }))
        .await;
    assert_eq!(result["structuredContent"], json!({ "result": [1, 2, 3] }));
    assert_eq!(result["content"][0]["type"], "hologram");
    world.end().await;
}

#[tokio::test]
async fn nothing_a_backend_sends_is_lost_on_any_way_through() {
    let world = World::start().await;
    let sent = r#"{"zulu":{"b":123456789012345678901234567890,"a":2},"content":[{"type":"hologram","depth":3,"annotations":{"audience":["martian"]}}],"structuredContent":"#;
    let legacy =
        format!(r#""result":{sent}{{"result":[1,2,3]}},"_meta":{{"vendor.example/x":null}}}}}}"#);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Http::new(world.address);
        client.initialize(revision, json!({})).await;
        let answer = client
            .legacy("tools/call", json!({ "name": "odd_odd" }))
            .await;
        let text = answer.text().await;
        assert!(text.contains(&legacy), "{revision}: {text}");
    }
    // A modern client that wants to hear of progress is answered by `rmcp` too.
    let call = json!({ "name": "odd_odd", "_meta": { "progressToken": "p" } });
    let mut client = Http::new(world.address);
    let text = client.modern("tools/call", call).await.text().await;
    assert!(
        text.contains(&format!(r#""result":{sent}[1,2,3],"#)),
        "{text}"
    );
    world.end().await;
}

#[tokio::test]
async fn results_of_backends_are_whole_in_batches_and_resumed_streams() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-03-26", json!({})).await;
    let call = |id: i64, name: &str, arguments: &Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": name, "arguments": arguments } })
    };
    let large = "data: [\n\n\r\"".repeat(20_000);
    let batch = json!([
        call(11, "odd_odd", &json!({})),
        call(12, "demo_echo", &json!({ "text": large })),
        call(13, "odd_odd", &json!({})),
    ]);
    let mut answer = client.post(&client.session_headers(), &batch).await;
    for _ in 0..3 {
        let message = answer.next().await.unwrap();
        match message["id"].as_i64().unwrap() {
            12 => assert_eq!(message["result"]["content"][0]["text"], large),
            _ => assert_eq!(message["result"]["content"][0]["type"], "hologram"),
        }
    }
    assert!(answer.next().await.is_none());
    world.end().await;

    let world = World::start_with_fixture().await;
    let mut client = Http::new(world.address);
    client
        .initialize("2025-11-25", json!({ "sampling": {} }))
        .await;
    let call = json!({ "name": "test_sampling", "arguments": { "prompt": "Say something." } });
    let mut lost = client.legacy("tools/call", call).await;
    let question = lost.next().await.unwrap();
    drop(lost);
    let mut stream = client.get_from("0/0").await;
    assert_eq!(stream.next().await.unwrap(), question);
    let said = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Something." } });
    client.respond(&question["id"], &said).await;
    let response = stream.next().await.unwrap();
    assert_eq!(response["id"], client.last_id());
    assert!(response["result"]["content"].is_array(), "{response}");
    world.end().await;
}

#[tokio::test]
async fn progress_arrives_on_the_stream_of_the_call() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let call = json!({ "name": "three", "_meta": { "progressToken": 7 } });
    let mut answer = client.legacy("tools/call", call).await;
    for number in 1..=3 {
        let message = answer.next().await.unwrap();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progress"], f64::from(number));
    }
    assert_eq!(answer.next().await.unwrap()["id"], client.last_id());
    world.end().await;
}

#[tokio::test]
async fn the_items_of_a_loop_are_progress() {
    let tools = "- name: many\n  description: d\n  steps:\n  - {id: each, type: forEach, collection: '[1, 2, 3, 4]', maxParallel: 1, step: {type: tool, tool: demo.slow, arguments: {ms: 150}}}\n";
    let world = World::serving(configured(tools)).await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let call = json!({ "name": "many", "_meta": { "progressToken": 7 } });
    let mut answer = client.legacy("tools/call", call).await;
    let mut told = Vec::new();
    loop {
        let message = answer.next().await.unwrap();
        if message.get("method").is_none() {
            break;
        }
        let params = &message["params"];
        assert_eq!(params["total"], 5.0, "{params}");
        told.push((params["progress"].as_f64(), params["message"].clone()));
    }
    assert!(
        told.contains(&(Some(2.0), json!("each: item 2 of 4"))),
        "{told:?}"
    );
    assert_eq!(told.last(), Some(&(Some(5.0), json!("each: completed"))));
    assert!(told.is_sorted_by(|one, next| one.0 < next.0), "{told:?}");
    world.end().await;
}

#[tokio::test]
async fn they_are_told_what_their_revision_knows() {
    let world = World::serving(configured(
        "- {name: say, description: d, steps: [{id: s, tool: demo.echo}]}\n",
    ))
    .await;
    let mut client = Http::new(world.address);
    let opened = client.initialize("2025-11-25", json!({})).await;
    // A session is never given a task.
    assert!(
        opened["capabilities"].get("extensions").is_none(),
        "{opened}"
    );
    for uri in ["demo://notes/none", "onecall://runs/none"] {
        let mut missing = client.legacy("resources/read", json!({ "uri": uri })).await;
        let error = &missing.response().await["error"];
        assert_eq!(error["code"], -32002, "{error}");
        let mut modern = Http::new(world.address);
        let mut missing = modern.modern("resources/read", json!({ "uri": uri })).await;
        assert_eq!(missing.response().await["error"]["code"], -32602);
    }
    let mut modern = Http::new(world.address);
    let found = modern.modern_result("server/discover", json!({})).await;
    let extensions = &found["capabilities"]["extensions"];
    assert!(
        extensions["io.modelcontextprotocol/tasks"].is_object(),
        "{found}"
    );
    world.end().await;
}

#[tokio::test]
async fn a_disconnect_says_nothing_and_a_notification_cancels() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let answer = client
        .legacy("tools/call", json!({ "name": "endless" }))
        .await;
    world.newest_comes_to("endless", Phase::Running).await;
    drop(answer);
    // The connection is closed by now: another call on it gets through.
    client
        .legacy_result("tools/call", json!({ "name": "nothing" }))
        .await;
    world.newest_comes_to("endless", Phase::Running).await;
    let cancelled = json!({ "requestId": client.last_id() - 1 });
    client.notify("notifications/cancelled", cancelled).await;
    world.newest_comes_to("endless", Phase::Cancelled).await;
    world.end().await;
}

#[tokio::test]
async fn a_changed_list_is_told_to_sessions() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let mut stream = client.get().await;
    client
        .legacy_result("tools/call", json!({ "name": "demo_toggle" }))
        .await;
    let mut awaited = vec!["prompts", "resources", "tools"];
    while !awaited.is_empty() {
        let message = stream.next().await.unwrap();
        let method = message["method"].as_str().unwrap();
        awaited.retain(|kind| method != format!("notifications/{kind}/list_changed"));
    }
    world.end().await;
}

#[tokio::test]
async fn a_question_nobody_can_be_asked_leaves_a_handle() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let result = client
        .legacy_result("tools/call", json!({ "name": "approve" }))
        .await;
    assert_eq!(result["isError"], true);
    let error = &result["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "pending.input");
    let run = error["run_id"].as_str().unwrap();
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains(&format!("onecall runs answer {run} sure name=…")),
        "{text}"
    );
    world.end().await;
}
