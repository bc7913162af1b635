//! Pages that a backend sends people to: asked of clients that can open pages, in the words of their era, and of no others.

use crate::client::{Answer, Http};
use crate::world::{PATIENCE, World, backend_at, server};
use onecall_config::settings::Server;
use onecall_testkit::faulty::{self, Reply, Seen, answer};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DECLARED: &str = "io.modelcontextprotocol/clientCapabilities";

async fn before(url: &str) -> World {
    let server = Server {
        name: "test".to_owned(),
        backends: vec![backend_at("b", url)],
        ..Server::default()
    };
    World::serving(server).await
}

fn call(tool: &str, capabilities: &Value) -> Value {
    json!({ "name": tool, "arguments": {}, "_meta": { DECLARED: capabilities } })
}

/// A modern backend that asks in the mode its tool is named after, whatever the client declared.
fn asks_in_any_mode(seen: &Seen) -> Reply {
    let params = &seen.body["params"];
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let result = match seen.body["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({ "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} } }),
        "tools/list" => json!({ "tools": [tool("form"), tool("url"), tool("hologram")] }),
        "tools/call" if params["inputResponses"].is_object() => {
            json!({ "content": [], "structuredContent": params["inputResponses"] })
        }
        "tools/call" => {
            let asked = json!({ "mode": params["name"], "message": "Well?",
                "url": "https://example.com/x", "requestedSchema": { "type": "object", "properties": {} } });
            json!({ "resultType": "input_required", "requestState": "s",
                "inputRequests": { "k": { "method": "elicitation/create", "params": asked } } })
        }
        _ => {
            let error = json!({ "code": -32601, "message": "no" });
            return Reply::Json(404, Vec::new(), answer(seen, "error", error));
        }
    };
    Reply::Json(200, Vec::new(), answer(seen, "result", result))
}

#[tokio::test]
async fn a_question_reaches_no_client_that_did_not_declare_its_mode() {
    let backend = faulty::Server::start(asks_in_any_mode).await;
    let world = before(&backend.url).await;
    let forms = json!({ "elicitation": { "form": {} } });
    let pages = json!({ "elicitation": { "url": {} } });
    let bare = json!({ "elicitation": {} });
    for (tool, able, unable, mode) in [
        ("b_form", [&forms, &bare], vec![&pages], "form"),
        ("b_url", [&pages, &pages], vec![&forms, &bare], "url"),
    ] {
        for capabilities in able {
            let mut client = Http::new(world.address);
            let asked = client.modern_result("tools/call", call(tool, capabilities));
            let asked = asked.await;
            assert_eq!(asked["inputRequests"]["k"]["params"]["mode"], mode);
            let mut client = Http::new(world.address);
            client.initialize("2025-11-25", capabilities.clone()).await;
            let mut called = client.legacy("tools/call", call(tool, capabilities)).await;
            let asked = called.next().await.unwrap();
            assert_eq!(asked["params"]["mode"], mode, "{asked}");
            // Handshake clients want a name for a page.
            assert_eq!(asked["params"]["elicitationId"].is_string(), mode == "url");
            let accept = json!({ "action": "accept" });
            client.respond(&asked["id"], &accept).await;
            let result = called.response().await["result"].clone();
            assert_eq!(result["structuredContent"]["k"], accept, "{result}");
        }
        for capabilities in unable {
            let mut client = Http::new(world.address);
            let mut refused = client.modern("tools/call", call(tool, capabilities)).await;
            let modern = refused.response().await["error"].clone();
            let mut client = Http::new(world.address);
            client.initialize("2025-11-25", capabilities.clone()).await;
            let mut called = client.legacy("tools/call", call(tool, capabilities)).await;
            let first = called.next().await.unwrap();
            for error in [&modern, &first["error"]] {
                assert_eq!(error["code"], -32021, "{tool}: {error} {first}");
                let needed = json!({ "elicitation": { mode: {} } });
                assert_eq!(error["data"]["requiredCapabilities"], needed);
            }
        }
    }
    let all = json!({ "elicitation": { "form": {}, "url": {} } });
    let mut client = Http::new(world.address);
    let mut refused = client.modern("tools/call", call("b_hologram", &all)).await;
    assert_eq!(refused.response().await["error"]["code"], -32603);
    world.end().await;
}

/// A handshake backend that wants a page visited before the second call: the first is refused, whoever makes it.
fn wants_a_page(seen: &Seen, visited: &AtomicBool) -> Reply {
    let params = &seen.body["params"];
    let result = match seen.body["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {}, "resources": {} },
            "serverInfo": { "name": "b", "version": "1" } }),
        "tools/list" => {
            json!({ "tools": [{ "name": "do", "inputSchema": { "type": "object" } }] })
        }
        "resources/list" => json!({ "resources": [{ "uri": "a://b", "name": "b" }] }),
        "tools/call" | "resources/read" if !visited.swap(true, Ordering::SeqCst) => {
            let page = json!({ "mode": "url", "elicitationId": "e", "message": "Sign in.",
                "url": "https://example.com/sign-in" });
            let error = json!({ "code": -32042, "message": "sign in first",
                "data": { "elicitations": [page] } });
            return Reply::Json(200, Vec::new(), answer(seen, "error", error));
        }
        "resources/read" => json!({ "contents": [{ "uri": "a://b", "text": "read" }] }),
        "tools/call" => json!({ "content": [], "structuredContent": params }),
        "notifications/initialized" => return Reply::Json(202, Vec::new(), Value::Null),
        _ => {
            let error = json!({ "code": -32601, "message": "no" });
            return Reply::Json(404, Vec::new(), answer(seen, "error", error));
        }
    };
    Reply::Json(200, Vec::new(), answer(seen, "result", result))
}

#[tokio::test]
async fn a_page_that_must_be_visited_first_is_asked_in_the_way_of_each_era() {
    let visited = Arc::new(AtomicBool::new(false));
    let seen_by = Arc::clone(&visited);
    let backend = faulty::Server::start(move |seen| wants_a_page(seen, &seen_by)).await;
    let world = before(&backend.url).await;
    let pages = json!({ "elicitation": { "url": {} } });
    let read = json!({ "uri": "a://b", "_meta": { DECLARED: pages } });
    let mut modern = Http::new(world.address);
    for (name, params) in [
        ("tools/call", call("b_do", &pages)),
        ("resources/read", read),
    ] {
        visited.store(false, Ordering::SeqCst);
        let asked = modern.modern_result(name, params.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let request = &asked["inputRequests"]["page-1"];
        assert_eq!(request["method"], "elicitation/create");
        assert_eq!(request["params"]["url"], "https://example.com/sign-in");
        let mut again = params.clone();
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({ "page-1": { "action": "accept" } });
        let result = modern.modern_result(name, again.clone()).await;
        assert_eq!(result["resultType"], "complete", "{result}");
        // The handshake era knows nothing of answers that go with a call.
        let told = &result["structuredContent"];
        assert!(told.get("inputResponses").is_none(), "{told}");
        visited.store(false, Ordering::SeqCst);
        let asked = modern.modern_result(name, params).await;
        visited.store(false, Ordering::SeqCst);
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({ "page-1": { "action": "decline" } });
        let mut declined = modern.modern(name, again).await;
        let declined = declined.response().await;
        if name == "tools/call" {
            let failure = &declined["result"]["_meta"]["dev.onecall/error"];
            assert_eq!(failure["code"], "declined.question", "{declined}");
        } else {
            assert_eq!(declined["error"]["code"], -32603, "{declined}");
        }
        assert!(!visited.load(Ordering::SeqCst), "nothing is sent");
    }
    let forms = json!({ "elicitation": { "form": {} } });
    let mut refused = modern.modern("tools/call", call("b_do", &forms)).await;
    let error = refused.response().await["error"].clone();
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(error["data"]["requiredCapabilities"], pages);
    for (capabilities, code) in [(&pages, -32042), (&forms, -32021)] {
        visited.store(false, Ordering::SeqCst);
        let mut legacy = Http::new(world.address);
        legacy.initialize("2025-11-25", capabilities.clone()).await;
        let call = call("b_do", capabilities);
        let error = legacy.legacy("tools/call", call).await.response().await["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        let named = error["data"]["elicitations"][0]["elicitationId"] == "e";
        assert_eq!(named, code == -32042, "{error}");
    }
    world.end().await;
}

/// Waits until the stream says that a page is done with.
async fn done(heard: &mut Answer) -> Value {
    let telling = async {
        loop {
            let message = heard.next().await.unwrap();
            if message["method"] == "notifications/elicitation/complete" {
                break message["params"].clone();
            }
        }
    };
    let told = tokio::time::timeout(PATIENCE, telling).await;
    told.expect("it is told in time")
}

#[tokio::test]
async fn who_was_sent_to_a_page_by_a_resource_hears_that_it_is_done_with() {
    let mut only = server();
    only.workflows.clear();
    only.backends.retain(|backend| backend.name == "asking");
    let world = World::serving(only).await;
    let pages = json!({ "elicitation": { "url": {} } });
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", pages.clone()).await;
    let mut heard = client.get().await;
    let read = json!({ "uri": "a://b" });
    let mut refused = client.legacy("resources/read", read).await;
    let error = refused.response().await["error"].clone();
    let process = &error["data"]["elicitations"][0]["message"];
    let finish = call("asking_finish", &pages);
    client.legacy_result("tools/call", finish).await;
    let told = done(&mut heard).await;
    assert_eq!(told, json!({ "elicitationId": "page", "by": process }));
    world.end().await;
}

#[tokio::test]
async fn who_was_sent_to_a_page_hears_that_it_is_done_with() {
    let world = World::start().await;
    let pages = json!({ "elicitation": { "url": {} } });
    let mut clients = Vec::new();
    for _ in 0..2 {
        let mut client = Http::new(world.address);
        client.initialize("2025-11-25", pages.clone()).await;
        let heard = client.get().await;
        let mut called = client
            .legacy("tools/call", call("asking_enter", &pages))
            .await;
        let error = called.response().await["error"].clone();
        let page = error["data"]["elicitations"][0].clone();
        assert_eq!(page["elicitationId"], "page", "{error}");
        clients.push((client, heard, page["message"].clone()));
    }
    // Both processes call their page the same.
    assert_ne!(clients[0].2, clients[1].2);
    for (client, _, _) in clients.iter_mut().rev() {
        let finish = call("asking_finish", &pages);
        client.legacy_result("tools/call", finish).await;
    }
    for (_, heard, process) in &mut clients {
        let told = done(heard).await;
        assert_eq!(told, json!({ "elicitationId": "page", "by": process }));
    }
    world.end().await;
}
