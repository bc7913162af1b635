//! Two principals on one server: what one of them started does not exist for the other.

use crate::client::Http;
use crate::world::{World, configured, server};
use http::{Method, StatusCode};
use onecall_gateway::{Access, AccessOptions, BearerToken};
use serde_json::{Value, json};

pub(crate) const ADA: &str = "ada-0123456789abcdef";
pub(crate) const BOB: &str = "bob-0123456789abcdef";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A server that knows Ada and Bob.
pub(crate) async fn two_owners(server: onecall_config::settings::Server) -> World {
    let token = |principal: &str, token: &str| BearerToken {
        principal: principal.to_owned(),
        token: token.to_owned(),
    };
    let options = AccessOptions {
        tokens: vec![token("ada", ADA), token("bob", BOB)],
        oidc: None,
    };
    World::guarded(server, Access::new(&options).unwrap()).await
}

/// Parameters of a client that takes tasks and shows forms.
pub(crate) fn able(mut params: Value) -> Value {
    let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
    params["_meta"] = json!({ CAPABILITIES: { "extensions": tasks, "elicitation": {} } });
    params
}

/// What a client is told of a thing, without the name it asked for.
async fn told(client: &mut Http, method: &str, params: &Value, name: &str) -> String {
    let mut answer = client.modern(method, params.clone()).await;
    let response = answer.response().await;
    let said = match response.get("error") {
        Some(error) => error.clone(),
        None => response["result"]["content"].clone(),
    };
    format!("{} {said}", answer.status).replace(name, "NAME")
}

#[tokio::test]
async fn a_run_its_task_and_its_resource_are_unknown_to_others() {
    let world = two_owners(server()).await;
    let mut ada = Http::with_token(world.address, ADA);
    let mut bob = Http::with_token(world.address, BOB);
    let pending = ada.modern_result("tools/call", json!({ "name": "approve" }));
    let pending = pending.await;
    let run = pending["_meta"]["dev.onecall/error"]["run_id"].as_str();
    let run = run.unwrap().to_owned();
    let requests = |id: &str| {
        [
            (
                "tools/call",
                json!({ "name": "workflow_result", "arguments": { "run_id": id, "wait_seconds": 0 } }),
            ),
            (
                "resources/read",
                json!({ "uri": format!("onecall://runs/{id}") }),
            ),
            ("tasks/get", able(json!({ "taskId": id }))),
            (
                "tasks/update",
                able(json!({ "taskId": id, "inputResponses": {
                    "sure#0": { "action": "accept", "content": { "name": "Eve" } } } })),
            ),
            ("tasks/cancel", able(json!({ "taskId": id }))),
        ]
    };
    let nobodys = "0".repeat(run.len());
    for ((method, own), (_, unknown)) in requests(&run).iter().zip(requests(&nobodys)) {
        let of_ada = told(&mut bob, method, own, &run).await;
        let of_nobody = told(&mut bob, method, &unknown, &nobodys).await;
        assert_eq!(of_ada, of_nobody, "{method}");
    }
    // None of that has touched the run.
    let task = ada.modern_result("tasks/get", able(json!({ "taskId": run })));
    let task = task.await;
    assert_eq!(task["status"], "input_required");
    let key = task["inputRequests"].as_object().unwrap();
    let key = key.keys().next().unwrap().clone();
    let answer = json!({ key: { "action": "accept", "content": { "name": "Ada" } } });
    let update = able(json!({ "taskId": run, "inputResponses": answer }));
    ada.modern_result("tasks/update", update).await;
    let result = json!({ "name": "workflow_result", "arguments": { "run_id": run } });
    let result = ada.modern_result("tools/call", result).await;
    assert_eq!(result["structuredContent"]["content"]["name"], "Ada");
    let own = json!({ "uri": format!("onecall://runs/{run}") });
    ada.modern_result("resources/read", own.clone()).await;
    let foreign = told(&mut bob, "resources/read", &own, &run).await;
    assert!(foreign.contains("-32602"), "{foreign}");
    world.end().await;
}

#[tokio::test]
async fn a_question_is_answered_by_its_owner_alone() {
    let world = two_owners(server()).await;
    let mut ada = Http::with_token(world.address, ADA);
    let mut bob = Http::with_token(world.address, BOB);
    let call = json!({ "name": "approve", "_meta": { CAPABILITIES: { "elicitation": {} } } });
    let asked = ada.modern_result("tools/call", call.clone()).await;
    let mut given = call;
    given["requestState"] = asked["requestState"].clone();
    given["inputResponses"] =
        json!({ "sure": { "action": "accept", "content": { "name": "Eve" } } });
    let mut refused = bob.modern("tools/call", given.clone()).await;
    let error = refused.response().await["error"].clone();
    assert_eq!(error["code"], -32602);
    assert_eq!(error["message"], "`requestState` belongs to another caller");
    given["inputResponses"]["sure"]["content"]["name"] = json!("Ada");
    let result = ada.modern_result("tools/call", given).await;
    assert_eq!(result["structuredContent"]["content"]["name"], "Ada");

    let pending = ada.modern_result("tools/call", json!({ "name": "approve" }));
    let pending = pending.await;
    let text = pending["content"][0]["text"].as_str().unwrap();
    let (_, rest) = text.split_once(&world.address.to_string()).unwrap();
    let path = rest.split_whitespace().next().unwrap().to_owned();
    // A browser shows no token; whoever shows one must be the owner.
    let browser = Http::new(world.address);
    for (client, status) in [
        (&bob, StatusCode::NOT_FOUND),
        (&ada, StatusCode::OK),
        (&browser, StatusCode::OK),
    ] {
        let page = client.send(Method::GET, &path, &[], "").await;
        assert_eq!(page.status, status);
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let filled = "action=accept&f.name=Eve";
    let refused = bob.send(Method::POST, &path, &form, filled).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    let taken = browser.send(Method::POST, &path, &form, filled).await;
    assert_eq!(taken.status, StatusCode::OK);
    world.end().await;
}

#[tokio::test]
async fn a_session_is_open_to_its_owner_alone() {
    let world = two_owners(server()).await;
    let mut ada = Http::with_token(world.address, ADA);
    ada.initialize("2025-11-25", json!({})).await;
    let session = ada.session_headers()[0].1.to_owned();
    let bob = Http::with_token(world.address, BOB);
    let (own, stream) = (
        ("mcp-session-id", session.as_str()),
        ("accept", "text/event-stream"),
    );
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(bob.post(&[own], &list).await.status, StatusCode::NOT_FOUND);
    for (method, headers) in [
        (Method::GET, &[own, stream][..]),
        (Method::DELETE, &[own][..]),
    ] {
        let refused = bob.send(method.clone(), "/mcp", headers, "").await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{method}");
        let text = refused.text().await;
        assert!(text.contains("there is no such session"), "{text}");
    }
    ada.legacy_result("tools/list", json!({})).await;
    let ended = ada.send(Method::DELETE, "/mcp", &[own], "").await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    world.end().await;
}

#[tokio::test]
async fn the_same_key_of_two_owners_names_two_runs() {
    let world = two_owners(server()).await;
    let keyed = json!({ "name": "nothing", "_meta": { "dev.onecall/idempotency-key": "k" } });
    let mut runs = Vec::new();
    for token in [ADA, BOB, ADA] {
        let mut client = Http::with_token(world.address, token);
        let result = client.modern_result("tools/call", keyed.clone()).await;
        runs.push(result["_meta"]["dev.onecall/run"].clone());
    }
    assert_eq!(runs[0], runs[2]);
    assert_ne!(runs[0], runs[1]);
    world.end().await;
}

#[tokio::test]
async fn the_page_says_who_asks_and_what_runs_next() {
    let tools = "
- name: publish
  description: Publishes after a person has seen it
  parameters: {type: object, properties: {text: {type: string}, key: {type: string, format: password}}}
  steps:
  - {id: look, tool: demo_echo, arguments: {text: done before}}
  - {id: sure, type: elicitation, message: 'Publish <b>?', dependsOn: [look]}
  - {id: write, tool: demo_append, arguments: {text: '{{ .params.text }}!'}, dependsOn: [sure]}
";
    let world = two_owners(configured(tools)).await;
    let mut ada = Http::with_token(world.address, ADA);
    let arguments = json!({ "text": "<i>hello</i>", "key": "hunter22-secret" });
    let call = json!({ "name": "publish", "arguments": arguments });
    let pending = ada.modern_result("tools/call", call).await;
    let text = pending["content"][0]["text"].as_str().unwrap();
    let (_, rest) = text.split_once(&world.address.to_string()).unwrap();
    let path = rest.split_whitespace().next().unwrap();
    let browser = Http::new(world.address);
    let page = browser.send(Method::GET, path, &[], "").await;
    assert_eq!(page.status, StatusCode::OK);
    let page = page.text().await;
    let shown = [
        "Publish &lt;b&gt;?",
        "<dt>Workflow</dt><dd>publish</dd>",
        "<dt>Called by</dt><dd>ada, with test 1</dd>",
        "<dt>With text</dt><dd>&lt;i&gt;hello&lt;/i&gt;</dd>",
        "Answer by <time datetime=\"20",
        "<strong>write</strong> calls <code>demo_append</code>",
        "<dt>text</dt><dd>&lt;i&gt;hello&lt;/i&gt;!</dd>",
    ];
    for text in shown {
        assert!(page.contains(text), "{text}: {page}");
    }
    for text in [
        "done before",
        "hunter22-secret",
        "<script>alert",
        "<i>hello",
    ] {
        assert!(!page.contains(text), "{text}: {page}");
    }
    world.end().await;
}
