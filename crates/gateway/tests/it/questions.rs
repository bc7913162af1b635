//! A person in the loop: each way to ask and to answer, and what happens to answers that come twice or wrong.

use crate::client::{Answer, Http};
use crate::world::{PATIENCE, World, calls, server, workflow};
use http::{Method, StatusCode};
use onecall_config::settings::Server;
use onecall_engine::event::{AnswerAction, Event, What};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{Append, Filter, NewRun, Phase};
use onecall_journal::{MemoryStore, SqliteJournal};
use onecall_runtime::now;
use onecall_runtime::questions::Given;
use onecall_workflow::policy::{self, Durability};
use onecall_workflow::workflow::Workflow;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const FORMS: &str = "io.modelcontextprotocol/clientCapabilities";

fn approve() -> Value {
    json!({ "name": "approve", "_meta": { FORMS: { "elicitation": {} } } })
}

async fn asked(client: &mut Http) -> String {
    let asked = client.modern_result("tools/call", approve()).await;
    assert_eq!(asked["resultType"], "input_required");
    let request = &asked["inputRequests"]["sure"];
    assert_eq!(request["method"], "elicitation/create");
    assert_eq!(request["params"]["message"], "Really?");
    assert_eq!(
        request["params"]["requestedSchema"]["properties"]["name"]["title"],
        "Name"
    );
    asked["requestState"].as_str().unwrap().to_owned()
}

fn answer(state: &str, response: &Value) -> Value {
    let mut params = approve();
    params["requestState"] = json!(state);
    params["inputResponses"] = json!({ "sure": response, "unknown": 7 });
    params
}

fn accept(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}

async fn error_of(mut answer: Answer) -> i64 {
    answer.response().await["error"]["code"].as_i64().unwrap()
}

#[tokio::test]
async fn a_client_that_answers_with_an_error_has_not_answered() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client
        .initialize("2025-11-25", json!({ "elicitation": {} }))
        .await;
    let call = json!({ "name": "approve", "arguments": {} });
    let mut stream = client.legacy("tools/call", call).await;
    let asked = stream.next().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let error = json!({ "code": 5_000_000_000_i64, "message": "no", "data": "@odd" });
    let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
    let taken = client.post(&client.session_headers(), &reply).await;
    assert_eq!(taken.status, StatusCode::ACCEPTED);
    let handle = stream.response().await["result"].clone();
    let failure = &handle["_meta"]["dev.onecall/error"];
    assert_eq!(failure["code"], "pending.input", "{handle}");
    world.newest_comes_to("approve", Phase::Waiting).await;
    world.end().await;
}

#[tokio::test]
async fn an_answer_that_no_run_can_take_is_asked_again_with_the_reason() {
    let odd = json!({ "action": "accept", "content": { "name": "Ada", "x": "@odd" } });
    let unsaid = json!({ "content": {} });
    let right = accept("Ada");
    let out = "(the last answer did not fit: it holds a number out of range, or half a character)";
    let actionless = "has no `action` accept, decline or cancel)";
    for (replies, told, ends) in [
        (vec![&odd, &unsaid, &right], vec![out, actionless], "accept"),
        (vec![&odd; 4], vec![out; 3], "declined.invalid_answers"),
    ] {
        let world = World::start().await;
        let mut client = Http::new(world.address);
        let forms = json!({ "elicitation": {} });
        client.initialize("2025-11-25", forms).await;
        let call = json!({ "name": "approve", "arguments": {} });
        let mut stream = client.legacy("tools/call", call).await;
        let mut asked = Vec::new();
        for reply in replies {
            let question = stream.next().await.unwrap();
            asked.push(question["params"]["message"].as_str().unwrap().to_owned());
            let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": reply });
            let taken = client.post(&client.session_headers(), &reply).await;
            assert_eq!(taken.status, StatusCode::ACCEPTED);
        }
        assert_eq!(asked.remove(0), "Really?");
        let is_told = asked
            .iter()
            .zip(&told)
            .all(|(own, told)| own.ends_with(told));
        assert!(asked.len() == told.len() && is_told, "{asked:?}");
        let result = stream.response().await["result"].clone();
        let code = &result["_meta"]["dev.onecall/error"]["code"];
        let action = &result["structuredContent"]["action"];
        assert!(*code == ends || *action == ends, "{result}");
        world.end().await;
    }
}

#[tokio::test]
async fn a_modern_client_carries_the_question_to_its_person() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let state = asked(&mut client).await;
    let given = answer(&state, &accept("Ada"));
    let result = client.modern_result("tools/call", given.clone()).await;
    let output = json!({ "action": "accept", "content": { "name": "Ada" } });
    assert_eq!(result["structuredContent"], output);
    // The same answer again attaches to the run, another one is refused.
    let again = client.modern_result("tools/call", given).await;
    assert_eq!(
        again["_meta"]["dev.onecall/run"],
        result["_meta"]["dev.onecall/run"]
    );
    let other = client
        .modern("tools/call", answer(&state, &accept("Eve")))
        .await;
    assert_eq!(error_of(other).await, -32602);
    world.end().await;
}

#[tokio::test]
async fn an_answer_may_arrive_at_another_process_on_the_same_store() {
    let store = MemoryStore::default();
    let first = World::start_on(&store).await;
    let mut client = Http::new(first.address);
    let state = asked(&mut client).await;
    let second = World::start_on(&store).await;
    let mut client = Http::new(second.address);
    let given = answer(&state, &accept("Ada"));
    let result = client.modern_result("tools/call", given.clone()).await;
    assert_eq!(result["structuredContent"]["content"]["name"], "Ada");
    first.end().await;
    // The process that asked is gone, and the same answer still leads to the same result.
    let again = client.modern_result("tools/call", given).await;
    assert_eq!(again, result);
    second.end().await;
}

#[tokio::test]
async fn a_question_outlives_the_process_that_asked_it() {
    let store = MemoryStore::default();
    let first = World::start_on(&store).await;
    let mut client = Http::new(first.address);
    let state = asked(&mut client).await;
    first.end().await;
    let second = World::start_on(&store).await;
    let mut client = Http::new(second.address);
    let given = answer(&state, &accept("Ada"));
    let result = client.modern_result("tools/call", given).await;
    assert_eq!(result["structuredContent"]["content"]["name"], "Ada");
    second.end().await;
}

#[tokio::test]
async fn an_answer_that_its_run_has_not_taken_up_yet_gives_a_handle() {
    let store = MemoryStore::default();
    let first = World::start_on(&store).await;
    let state = asked(&mut Http::new(first.address)).await;
    first.end().await;
    let world = World::aside_on(&store).await;
    let mut client = Http::new(world.address);
    tokio::time::pause();
    let given = answer(&state, &accept("Ada"));
    let pending = client.modern_result("tools/call", given).await;
    tokio::time::resume();
    let error = &pending["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "pending.running", "{pending}");
    let run = error["run_id"].as_str().unwrap();
    world.end().await;
    // Whoever drives the run takes the answer up.
    let world = World::start_on(&store).await;
    let fetch = json!({ "name": "workflow_result", "arguments": { "run_id": run } });
    let mut client = Http::new(world.address);
    world.newest_comes_to("approve", Phase::Completed).await;
    let result = client.modern_result("tools/call", fetch).await;
    assert_eq!(result["structuredContent"]["content"]["name"], "Ada");
    world.end().await;
}

#[tokio::test]
async fn states_and_answers_that_are_wrong_are_refused() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let state = asked(&mut client).await;
    let tampered = format!("{}x", &state[..state.len() - 1]);
    let mut elsewhere = answer(&state, &accept("Ada"));
    elsewhere["arguments"] = json!({ "other": 1 });
    for params in [
        answer(&tampered, &accept("Ada")),
        answer("", &accept("Ada")),
        answer(&state, &json!({ "action": "maybe" })),
        answer(&state, &json!("yes")),
        answer(&state, &json!({ "action": "accept", "content": "x" })),
        answer(&state, &accept("@odd")),
        elsewhere,
    ] {
        let refused = client.modern("tools/call", params.clone()).await;
        assert_eq!(error_of(refused).await, -32602, "{params}");
    }
    // An answer that does not fit the schema is asked again; a missing one too.
    let unfit = json!({ "action": "accept", "content": {} });
    let again = client
        .modern_result("tools/call", answer(&state, &unfit))
        .await;
    assert_eq!(again["resultType"], "input_required");
    let fresh = again["requestState"].as_str().unwrap().to_owned();
    let mut missing = approve();
    missing["requestState"] = json!(fresh);
    let again = client.modern_result("tools/call", missing).await;
    assert_eq!(again["resultType"], "input_required");
    let declined = answer(&fresh, &json!({ "action": "decline" }));
    let result = client.modern_result("tools/call", declined).await;
    assert_eq!(
        result["_meta"]["dev.onecall/error"]["code"],
        "declined.question"
    );
    world.end().await;
}

#[tokio::test]
async fn a_session_is_asked_on_the_stream_of_the_call() {
    let world = World::start().await;
    for (response, code) in [
        (accept("Ada"), Value::Null),
        (json!({ "action": "decline" }), json!("declined.question")),
        (json!({ "action": "cancel" }), json!("cancelled.question")),
    ] {
        let mut client = Http::new(world.address);
        let capabilities = json!({ "elicitation": {} });
        client.initialize("2025-06-18", capabilities).await;
        let mut stream = client
            .legacy("tools/call", json!({ "name": "approve" }))
            .await;
        let question = stream.next().await.unwrap();
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "Really?");
        client.respond(&question["id"], &response).await;
        let answer = stream.response().await;
        assert_eq!(answer["result"]["_meta"]["dev.onecall/error"]["code"], code);
    }
    world.end().await;
}

#[tokio::test]
async fn a_session_is_told_when_somebody_else_has_answered() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client
        .initialize("2025-11-25", json!({ "elicitation": {} }))
        .await;
    let mut stream = client
        .legacy("tools/call", json!({ "name": "approve" }))
        .await;
    let question = stream.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let runs = world.runtime.journal().list(Filter::default()).await;
    let run = &runs.unwrap()[0].id;
    let given = Given {
        step: "sure".to_owned(),
        round: None,
        action: AnswerAction::Accept,
        content: Some(json!({ "name": "Ada" })),
    };
    world.runtime.answer(run, given).await.unwrap();
    let withdrawn = stream.next().await.unwrap();
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    let result = stream.next().await.unwrap();
    assert_eq!(
        result["result"]["structuredContent"]["content"]["name"],
        "Ada"
    );
    world.end().await;
}

#[tokio::test]
async fn whoever_is_asked_again_is_told_why() {
    let world = World::start().await;
    let told = "Really? (the last answer did not fit: `name` is required)";
    let unfit = json!({ "action": "accept", "content": {} });
    let mut client = Http::new(world.address);
    let state = asked(&mut client).await;
    let again = client.modern_result("tools/call", answer(&state, &unfit));
    let again = again.await;
    assert_eq!(again["inputRequests"]["sure"]["params"]["message"], told);

    let mut session = Http::new(world.address);
    let capabilities = json!({ "elicitation": {} });
    session.initialize("2025-06-18", capabilities).await;
    let call = session.legacy("tools/call", json!({ "name": "approve" }));
    let mut stream = call.await;
    let first = stream.next().await.unwrap();
    assert_eq!(first["params"]["message"], "Really?");
    session.respond(&first["id"], &unfit).await;
    let second = stream.next().await.unwrap();
    assert_eq!(second["params"]["message"], told);
    session.respond(&second["id"], &accept("Ada")).await;
    let result = stream.response().await;
    assert_eq!(result["result"]["structuredContent"]["action"], "accept");
    world.end().await;
}

#[tokio::test]
async fn a_handle_leads_to_the_page_and_to_the_result() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let pending = client
        .modern_result("tools/call", json!({ "name": "approve" }))
        .await;
    let error = &pending["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "pending.input");
    assert_eq!(error["retryable"], true);
    let run = error["run_id"].as_str().unwrap();
    let text = pending["content"][0]["text"].as_str().unwrap();
    let (_, rest) = text.split_once(&world.address.to_string()).unwrap();
    let path = rest.split_whitespace().next().unwrap().to_owned();

    let fetch = |wait: u32| json!({ "name": "workflow_result", "arguments": { "run_id": run, "wait_seconds": wait } });
    let still = client.modern_result("tools/call", fetch(0)).await;
    assert_eq!(still["_meta"]["dev.onecall/error"]["code"], "pending.input");

    let page = client.send(Method::GET, &path, &[], "").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .starts_with("default-src 'none'")
    );
    let page = page.text().await;
    assert!(page.contains("<h1>Really?</h1>") && page.contains("name=\"f.name\""));
    assert_eq!(
        page.matches("<script").count(),
        1,
        "its own, see `answer_page`"
    );

    let form = [("content-type", "application/x-www-form-urlencoded")];
    let sent = client
        .send(Method::POST, &path, &form, "f.name=Ada+L%26&action=accept")
        .await;
    assert_eq!(sent.status, StatusCode::OK);
    let closed = client.send(Method::GET, &path, &[], "").await;
    assert_eq!(closed.status, StatusCode::GONE);
    let other = client
        .send(Method::POST, &path, &form, "action=decline")
        .await;
    assert_eq!(other.status, StatusCode::CONFLICT);
    let forged = client.send(Method::GET, "/answer/abc", &[], "").await;
    assert_eq!(forged.status, StatusCode::NOT_FOUND);

    let result = client.modern_result("tools/call", fetch(10)).await;
    assert_eq!(result["structuredContent"]["content"]["name"], "Ada L&");
    let lost = json!({ "name": "workflow_result", "arguments": { "run_id": "none" } });
    let lost = client.modern_result("tools/call", lost).await;
    assert_eq!(lost["_meta"]["dev.onecall/error"]["code"], "input.invalid");
    world.end().await;
}

#[tokio::test]
async fn a_question_that_is_met_while_fetching_a_result_is_answered_there() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let pending = client
        .modern_result("tools/call", json!({ "name": "approve" }))
        .await;
    let run = &pending["_meta"]["dev.onecall/error"]["run_id"];
    let mut fetch = json!({ "name": "workflow_result", "arguments": { "run_id": run },
        "_meta": { FORMS: { "elicitation": {} } } });
    let asked = client.modern_result("tools/call", fetch.clone()).await;
    assert_eq!(asked["resultType"], "input_required");
    fetch["requestState"] = asked["requestState"].clone();
    fetch["inputResponses"] = json!({ "sure": accept("Ada") });
    let result = client.modern_result("tools/call", fetch.clone()).await;
    assert_eq!(result["structuredContent"]["content"]["name"], "Ada");
    assert_eq!(&result["_meta"]["dev.onecall/run"]["run_id"], run);
    fetch["inputResponses"] = json!({ "sure": accept("Eve") });
    let other = client.modern("tools/call", fetch).await;
    assert_eq!(error_of(other).await, -32602);
    world.end().await;
}

#[tokio::test]
async fn impatient_clients_get_a_handle_and_the_run_goes_on() {
    let world = World::start_with(|options| {
        options.patience = Duration::from_millis(50);
    })
    .await;
    let mut client = Http::new(world.address);
    let pending = client
        .modern_result("tools/call", json!({ "name": "patient" }))
        .await;
    let error = &pending["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "pending.running");
    let run = error["run_id"].as_str().unwrap();
    world.newest_comes_to("patient", Phase::Completed).await;
    let fetch = json!({ "name": "workflow_result", "arguments": { "run_id": run } });
    let result = client.modern_result("tools/call", fetch).await;
    assert_eq!(result["structuredContent"]["ms"], 400);
    world.end().await;
}

#[tokio::test]
async fn a_result_is_waited_for_no_longer_than_a_call() {
    let world = World::impatient(server()).await;
    let mut client = Http::new(world.address);
    let listed = client.modern_result("tools/list", json!({})).await;
    let mut tools = listed["tools"].as_array().unwrap().iter();
    let own = tools
        .find(|tool| tool["name"] == "workflow_result")
        .unwrap();
    let wait = &own["inputSchema"]["properties"]["wait_seconds"];
    assert_eq!(
        (&wait["default"], &wait["maximum"]),
        (&json!(0.05), &json!(0.05))
    );
    let call = json!({ "name": "endless" });
    let pending = client.modern_result("tools/call", call).await;
    let run = &pending["_meta"]["dev.onecall/error"]["run_id"];
    for arguments in [
        json!({ "run_id": run }),
        json!({ "run_id": run, "wait_seconds": 40 }),
    ] {
        let fetch = json!({ "name": "workflow_result", "arguments": arguments });
        let fetching = client.modern_result("tools/call", fetch);
        let still = tokio::time::timeout(Duration::from_secs(10), fetching).await;
        let still = still.expect("it does not wait for the run");
        let code = &still["_meta"]["dev.onecall/error"]["code"];
        assert_eq!(code, "pending.running", "{still}");
    }
    world.end().await;
}

#[tokio::test]
async fn the_result_behind_a_handle_is_there_although_its_run_is_not_stored() {
    let wait = calls("wait", "demo.slow", json!({ "ms": 400 }));
    let unstored = Workflow {
        policy: policy::Run {
            durability: Some(policy::Durability::None),
            ..policy::Run::default()
        },
        ..workflow("unstored", vec![wait])
    };
    let server = Server {
        workflows: vec![unstored],
        ..server()
    };
    let world = World::impatient(server).await;
    let mut client = Http::new(world.address);
    let call = json!({ "name": "unstored" });
    let pending = client.modern_result("tools/call", call).await;
    let error = &pending["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "pending.running");
    let ended = async {
        let has_none = |(_, count): &(Phase, u64)| *count == 0;
        while world.runtime.run_counts().await.ended.iter().all(has_none) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
    let arguments = json!({ "run_id": error["run_id"], "wait_seconds": 0 });
    let fetch = json!({ "name": "workflow_result", "arguments": arguments });
    for _ in 0..2 {
        let result = client.modern_result("tools/call", fetch.clone()).await;
        assert_eq!(result["structuredContent"]["ms"], 400, "{result}");
    }
    world.end().await;
}

#[tokio::test]
async fn operators_see_what_goes_on() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client
        .modern_result("tools/call", json!({ "name": "nothing" }))
        .await;
    asked(&mut client).await;
    let ready = client.send(Method::GET, "/readyz", &[], "").await;
    assert_eq!(ready.text().await, "ready\n");
    let mut status = client.send(Method::GET, "/status", &[], "").await;
    let status = status.response().await;
    assert_eq!(status["server"]["name"], "test");
    assert_eq!(status["tools"][0]["name"], "three");
    assert_eq!(status["backends"][0]["name"], "demo");
    let metrics = client.send(Method::GET, "/metrics", &[], "").await;
    let metrics = metrics.text().await;
    assert!(metrics.contains("onecall_calls_total{outcome=\"completed\"} 1\n"));
    assert!(metrics.contains("onecall_calls_total{outcome=\"input_required\"} 1\n"));
    world.end().await;
}

#[tokio::test]
async fn a_store_that_cannot_be_written_makes_the_server_not_ready() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = onecall_journal::Options::new(directory.path().join("runs.db"), now());
    options.bytes_max = Some(600_000);
    let store = SqliteJournal::open(options).unwrap();
    let world = World::start_with_journal(Arc::new(store)).await;
    let client = Http::new(world.address);
    let ready = async || {
        let ready = client.send(Method::GET, "/readyz", &[], "").await;
        (ready.status, ready.text().await)
    };
    assert_eq!(ready().await.0, StatusCode::OK);
    let journal = world.runtime.journal();
    let run = NewRun::new(RunId::new("r"), "w", Timestamp::from_micros(1));
    let (at, mark) = (run.at, run.mark.clone());
    journal.create(run, Vec::new()).await.unwrap();
    let text = "x".repeat(1_000_000);
    let append = Append {
        run: RunId::new("r"),
        first: 0,
        events: vec![Event {
            at,
            what: What::Note { text },
        }],
        durability: Durability::Async,
        mark,
        at,
    };
    journal.append(append).await.unwrap_err();
    let (status, text) = ready().await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        text.starts_with("not ready: the store has no room left: "),
        "{text}"
    );
    let usable = async { while ready().await.0 != StatusCode::OK {} };
    tokio::time::timeout(PATIENCE, usable).await.unwrap();
    world.end().await;
}

#[tokio::test]
async fn handles_are_counted_apart_and_tools_by_name() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    for name in ["nothing", "approve", "demo_fail", "no_such_tool"] {
        client.modern("tools/call", json!({ "name": name })).await;
    }
    world.newest_comes_to("approve", Phase::Waiting).await;
    let metrics = client.send(Method::GET, "/metrics", &[], "").await;
    let metrics = metrics.text().await;
    for row in [
        "onecall_calls_total{outcome=\"pending\"} 1",
        "onecall_calls_total{outcome=\"failed\"} 1",
        "onecall_calls_total{outcome=\"refused\"} 1",
        "onecall_calls_in_flight 0",
        "onecall_tool_calls_total{tool=\"approve\",outcome=\"pending\"} 1",
        "onecall_tool_calls_total{tool=\"demo_fail\",outcome=\"failed\"} 1",
        "onecall_tool_call_seconds_bucket{tool=\"nothing\",le=\"+Inf\"} 1",
        "onecall_tool_call_seconds_count{tool=\"nothing\"} 1",
        "onecall_runs{phase=\"waiting\"} 1",
        "onecall_runs_ended_total{phase=\"completed\"} 1",
        "onecall_backend_up{backend=\"demo\"} 1",
        "onecall_backend_calls_total{backend=\"demo\",outcome=\"tool_error\"} 1",
        "onecall_backend_calls_total{backend=\"demo\",outcome=\"failed\"} 0",
        "onecall_backend_retries_total{backend=\"demo\"} 0",
        "onecall_backend_call_seconds_bucket{backend=\"demo\",le=\"+Inf\"} 1",
        "onecall_backend_call_seconds_count{backend=\"demo\"} 1",
        "onecall_store_writable 1",
        "onecall_backend_state{backend=\"demo\",state=\"ready\"} 1",
    ] {
        assert!(metrics.lines().any(|line| line == row), "{row}\n{metrics}");
    }
    // Only what is published names a row.
    assert!(!metrics.contains("no_such_tool"), "{metrics}");
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        assert!(metrics.contains(&format!("# HELP {family} ")), "{line}");
        assert!(metrics.contains(&format!("# TYPE {family} ")), "{line}");
    }
    world.end().await;
}

/// The result of a call whose client cannot be asked.
async fn handle(adjust: impl FnOnce(&mut onecall_gateway::HttpOptions)) -> String {
    let world = World::start_with(adjust).await;
    let mut client = Http::new(world.address);
    let pending = client
        .modern_result("tools/call", json!({ "name": "approve" }))
        .await;
    assert_eq!(
        pending["_meta"]["dev.onecall/error"]["code"],
        "pending.input"
    );
    world.end().await;
    pending.to_string()
}

#[tokio::test]
async fn hidden_links_are_in_no_result_and_whoever_has_the_store_gets_them() {
    let shown = handle(|_| {}).await;
    assert!(shown.contains("/answer/"), "{shown}");
    let hidden = handle(|options| options.hides_links = true).await;
    assert!(
        !hidden.contains("/answer/") && !hidden.contains("runs answer"),
        "{hidden}"
    );
    assert!(hidden.contains("onecall runs list --waiting"), "{hidden}");

    let world = World::start_with(|options| options.hides_links = true).await;
    let mut client = Http::new(world.address);
    client
        .modern_result("tools/call", json!({ "name": "approve" }))
        .await;
    world.newest_comes_to("approve", Phase::Waiting).await;
    let runs = world
        .runtime
        .journal()
        .list(Filter::default())
        .await
        .unwrap();
    let run = runs[0].id.clone();
    let standing = world.runtime.standing(&run).await.unwrap();
    let journal = world.runtime.journal();
    let link = onecall_gateway::link_to_answer(&**journal, &run, None, &standing.questions[0]);
    let link = link.await.unwrap().expect("the server has left its URL");
    let path = link
        .strip_prefix(&format!("http://{}", world.address))
        .unwrap();
    let page = client.send(http::Method::GET, path, &[], "").await;
    assert_eq!(page.status, StatusCode::OK);
    world.end().await;
}

#[tokio::test]
async fn only_callers_on_this_machine_are_told_the_path_of_the_store() {
    let flag = || Some(" --store /secret/place/runs.db".to_owned());
    let local = handle(|options| options.store_flag = flag()).await;
    assert!(local.contains("/secret/place"), "{local}");
    let remote = handle(|options| {
        options.store_flag = flag();
        options.public_url = Some("https://tools.example.com".to_owned());
    });
    let remote = remote.await;
    assert!(!remote.contains("/secret"), "{remote}");
    assert!(remote.contains("--store STORE"), "{remote}");
}
