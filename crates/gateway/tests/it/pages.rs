//! Pages that a backend sends people to: asked of clients that can open pages, in the words of their era, and of no others.

use crate::client::Http;
use crate::world::{World, backend_at};
use onecall_config::settings::Server;
use onecall_testkit::faulty::{self, Reply, Seen, answer};
use serde_json::{Value, json};

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
