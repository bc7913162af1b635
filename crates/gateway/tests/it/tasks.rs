//! Runs that become tasks: looked at, answered, cancelled; never anybody else's.

use crate::client::Http;
use crate::world::{World, configured};
use http::StatusCode;
use onecall_engine::journal::Phase;
use serde_json::{Value, json};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn with_tasks(mut params: Value, forms: bool) -> Value {
    let mut declared = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    if forms {
        declared["elicitation"] = json!({});
    }
    params["_meta"] = json!({ CAPABILITIES: declared });
    params
}

async fn task(client: &mut Http, id: &str) -> Value {
    let params = with_tasks(json!({ "taskId": id }), true);
    client.modern_result("tasks/get", params).await
}

async fn ended(client: &mut Http, id: &str) -> Value {
    loop {
        let task = task(client, id).await;
        if !matches!(task["status"].as_str(), Some("working")) {
            return task;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn what_lasts_becomes_a_task_and_its_result_is_found() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let quick = with_tasks(json!({ "name": "three" }), false);
    let quick = client.modern_result("tools/call", quick).await;
    assert_eq!(quick["resultType"], "complete");
    let slow = with_tasks(json!({ "name": "slow" }), false);
    let created = client.modern_result("tools/call", slow).await;
    assert_eq!(created["resultType"], "task");
    assert_eq!(created["status"], "working");
    // It is kept for as long as it goes on.
    assert!(created["ttlMs"].is_null() && created["pollIntervalMs"].is_u64());
    assert!(created.get("result").is_none() && created.get("requestState").is_none());
    let id = created["taskId"].as_str().unwrap();
    let task = ended(&mut client, id).await;
    assert_eq!(task["status"], "completed");
    assert_eq!(task["resultType"], "complete");
    // An hour from its end, which came more than a second after its beginning.
    let ttl = task["ttlMs"].as_u64().unwrap();
    assert!(ttl > 3_601_000, "{ttl}");
    assert_eq!(task["result"]["structuredContent"]["text"], "done");
    world.end().await;
}

#[tokio::test]
async fn a_task_asks_is_answered_and_can_be_cancelled() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    // This client cannot be asked on the spot, so it gets a task at once.
    let call = with_tasks(json!({ "name": "approve" }), false);
    let created = client.modern_result("tools/call", call).await;
    let id = created["taskId"].as_str().unwrap().to_owned();
    // It is told how a person answers, now and whenever it looks.
    let params = with_tasks(json!({ "taskId": id }), false);
    let looked = client.modern_result("tasks/get", params).await;
    for task in [&created, &looked] {
        assert_eq!(task["status"], "working");
        let text = task["statusMessage"].as_str().unwrap();
        let link = format!(
            "Really? A person answers at http://{}/answer/",
            world.address
        );
        assert!(text.contains(&link), "{text}");
        let command = format!("or with `onecall runs answer {id} sure name=…`.");
        assert!(text.contains(&command), "{text}");
    }
    let asking = task(&mut client, &id).await;
    assert_eq!(asking["status"], "input_required");
    let requests = asking["inputRequests"].as_object().unwrap();
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    let mut unfit = json!({ "taskId": id, "inputResponses": {} });
    unfit["inputResponses"][key] = json!({ "action": "accept", "content": {} });
    client
        .modern_result("tasks/update", with_tasks(unfit, true))
        .await;
    let asking = task(&mut client, &id).await;
    let requests = asking["inputRequests"].as_object().unwrap();
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(
        request["params"]["message"],
        "Really? (the last answer did not fit: `name` is required)"
    );
    let mut update = json!({ "taskId": id, "inputResponses": { "unknown": 1 } });
    update["inputResponses"][key] = json!({ "action": "accept", "content": { "name": "Ada" } });
    let taken = client
        .modern_result("tasks/update", with_tasks(update, true))
        .await;
    assert_eq!(taken["resultType"], "complete");
    let task = ended(&mut client, &id).await;
    assert_eq!(
        task["result"]["structuredContent"]["content"]["name"],
        "Ada"
    );

    let call = with_tasks(json!({ "name": "endless" }), false);
    let created = client.modern_result("tools/call", call).await;
    let id = created["taskId"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let cancel = with_tasks(json!({ "taskId": id }), true);
        client.modern_result("tasks/cancel", cancel).await;
        world.newest_comes_to("endless", Phase::Cancelled).await;
    }
    assert_eq!(ended(&mut client, &id).await["status"], "cancelled");
    world.end().await;
}

#[tokio::test]
async fn tasks_are_for_those_who_declared_them_and_ids_are_not_guessed() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = with_tasks(json!({ "name": "endless" }), false);
    let created = client.modern_result("tools/call", call).await;
    let id = created["taskId"].as_str().unwrap().to_owned();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": id, "inputResponses": {} });
        let mut undeclared = client.modern(method, params.clone()).await;
        assert_eq!(undeclared.status, StatusCode::BAD_REQUEST, "{method}");
        let error = undeclared.response().await["error"].clone();
        assert_eq!(error["code"], -32021, "{method}");
        let required = &error["data"]["requiredCapabilities"]["extensions"];
        assert!(required["io.modelcontextprotocol/tasks"].is_object());
        let mut unknown = params;
        unknown["taskId"] = json!("nobody");
        let mut unknown = client.modern(method, with_tasks(unknown, true)).await;
        assert_eq!(
            unknown.response().await["error"]["code"],
            -32602,
            "{method}"
        );
    }
    for method in ["tasks/result", "tasks/list"] {
        let mut gone = client
            .modern(method, with_tasks(json!({ "taskId": id }), true))
            .await;
        assert_eq!(gone.response().await["error"]["code"], -32601, "{method}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_listener_hears_of_its_tasks_until_they_end() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = with_tasks(json!({ "name": "approve" }), false);
    let created = client.modern_result("tools/call", call).await;
    let id = created["taskId"].as_str().unwrap().to_owned();
    let mut listener = Http::new(world.address);
    let wanted = json!({ "notifications": { "taskIds": [id, "rnone"] } });
    let mut heard = listener
        .modern("subscriptions/listen", with_tasks(wanted.clone(), true))
        .await;
    let first = heard.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let asks = heard.next().await.unwrap();
    assert_eq!(asks["method"], "notifications/tasks", "{asks}");
    let task = &asks["params"];
    assert_eq!(task["taskId"], id.as_str());
    assert_eq!(task["status"], "input_required");
    let tag = &task["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*tag, listener.last_id());
    let (key, _) = task["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    let mut update = json!({ "taskId": id, "inputResponses": {} });
    update["inputResponses"][key] = json!({ "action": "accept", "content": { "name": "Ada" } });
    client
        .modern_result("tasks/update", with_tasks(update, true))
        .await;
    loop {
        let told = heard.next().await.unwrap();
        assert_eq!(told["method"], "notifications/tasks", "{told}");
        if told["params"]["status"] == "completed" {
            assert!(told["params"]["result"].is_object(), "{told}");
            break;
        }
    }
    // Without the extension nothing is told.
    let mut other = Http::new(world.address);
    let mut heard = other.modern("subscriptions/listen", wanted).await;
    heard.next().await.unwrap();
    world.stop.cancel();
    assert_eq!(heard.next().await.unwrap()["id"], other.last_id());
    world.end().await;
}

#[tokio::test]
async fn a_listener_hears_of_every_question_of_its_task() {
    let asks = "  - name: twice
    description: Asks two things at once.
    parameters: { type: object, properties: {} }
    steps:
      - { id: one, type: elicitation, message: One? }
      - { id: two, type: elicitation, message: Two? }
";
    let world = World::serving(configured(asks)).await;
    let mut client = Http::new(world.address);
    let call = with_tasks(json!({ "name": "twice" }), false);
    let created = client.modern_result("tools/call", call).await;
    let id = created["taskId"].as_str().unwrap();
    let wanted = json!({ "notifications": { "taskIds": [id] } });
    let mut heard = client
        .modern("subscriptions/listen", with_tasks(wanted, true))
        .await;
    heard.next().await.unwrap();
    let keys = |told: &Value| -> Vec<String> {
        let requests = told["params"]["inputRequests"].as_object();
        requests
            .into_iter()
            .flatten()
            .map(|(key, _)| key.clone())
            .collect()
    };
    let both = heard.next().await.unwrap();
    assert_eq!(keys(&both), ["one#0", "two#0"]);
    let update = json!({ "taskId": id, "inputResponses": { "two#0": { "action": "accept" } } });
    let mut other = Http::new(world.address);
    other
        .modern_result("tasks/update", with_tasks(update, true))
        .await;
    let left = heard.next().await.unwrap();
    assert_eq!(keys(&left), ["one#0"]);
    world.end().await;
}
