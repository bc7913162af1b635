//! Other versions of the files while clients call: nothing is dropped, and everybody is told.

use crate::client::Http;
use crate::world::{PATIENCE, World, backend_at, calls, server, workflow};
use http::Method;
use onecall_config::settings::{Server, Strategy, Transport};
use onecall_gateway::HttpOptions;
use onecall_testkit::faulty::{self, Reply, Seen, answer};
use onecall_workflow::expression::ValueTemplate;
use onecall_workflow::policy::Durability;
use onecall_workflow::workflow::{Output, Workflow};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const CLIENTS: usize = 8;
const RELOADS: usize = 50;

/// The version is told by a workflow, and by the environment of a backend, whose connections so have to change.
fn version(number: usize) -> Server {
    let mut server = server();
    let told = Workflow {
        description: Some(format!("Version {number}.")),
        output: Output::Value(ValueTemplate::Literal(json!({ "version": number }))),
        ..workflow(
            "version",
            vec![calls("wait", "demo.slow", json!({ "ms": 5 }))],
        )
    };
    server.workflows.push(told);
    if number.is_multiple_of(10) {
        let Transport::Stdio { env, .. } = &mut server.backends[0].transport else {
            unreachable!("the backends of these tests are programs");
        };
        env.push(("VERSION".to_owned(), number.to_string()));
    }
    server
}

#[tokio::test]
async fn fifty_reloads_under_load_fail_no_call() {
    let world = World::start_with(|_: &mut HttpOptions| {}).await;
    world.runtime.reload(version(0)).await.unwrap();
    let (newest, is_over) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let address = world.address;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|index| {
            let (newest, is_over) = (Arc::clone(&newest), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut client = Http::new(address);
                let is_modern = index % 2 == 0;
                if !is_modern {
                    client.initialize("2025-11-25", json!({})).await;
                }
                let mut calls = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let oldest = newest.load(Ordering::SeqCst);
                    let result = call(&mut client, is_modern, "version").await;
                    let told =
                        usize::try_from(result["structuredContent"]["version"].as_u64().unwrap());
                    let told = told.unwrap();
                    let upper = newest.load(Ordering::SeqCst) + 1;
                    assert!(
                        (oldest..=upper).contains(&told),
                        "{told} not in {oldest}..={upper}"
                    );
                    let echoed = call(&mut client, is_modern, "demo_add").await;
                    assert_eq!(echoed["structuredContent"]["sum"], 3, "{echoed}");
                    calls += 2;
                }
                calls
            })
        })
        .collect();
    for number in 1..=RELOADS {
        world.runtime.reload(version(number)).await.unwrap();
        newest.store(number, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    is_over.store(true, Ordering::Relaxed);
    let mut calls = 0;
    for client in clients {
        calls += client.await.unwrap();
    }
    assert!(calls > CLIENTS * 2, "{calls} calls");
    assert_eq!(world.runtime.reloads().count, RELOADS as u64 + 1);
    world.end().await;
}

async fn call(client: &mut Http, is_modern: bool, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": arguments(tool) });
    let result = if is_modern {
        client.modern_result("tools/call", params).await
    } else {
        client.legacy_result("tools/call", params).await
    };
    assert_ne!(result["isError"], true, "{result}");
    result
}

fn arguments(tool: &str) -> Value {
    match tool {
        "demo_add" => json!({ "a": 1, "b": 2 }),
        _ => json!({}),
    }
}

#[tokio::test]
async fn sessions_and_listeners_are_told_and_a_refused_version_is_shown() {
    let world = World::start().await;
    let mut session = Http::new(world.address);
    session.initialize("2025-11-25", json!({})).await;
    let mut stream = session.get().await;
    let mut modern = Http::new(world.address);
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut listener = modern.modern("subscriptions/listen", listen).await;
    let first = listener.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    world.runtime.reload(version(1)).await.unwrap();
    for told in [stream.next().await.unwrap(), listener.next().await.unwrap()] {
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
    let listed = session.legacy_result("tools/list", json!({})).await;
    let names = listed["tools"].as_array().unwrap().iter();
    assert!(names.clone().any(|tool| tool["name"] == "version"));

    world.runtime.refuse_reload("onecall.yaml:3:1: a fault");
    let status = status(&session).await;
    assert_eq!(
        status["reloads"],
        json!({ "count": 1, "refused": "onecall.yaml:3:1: a fault" })
    );
    call(&mut session, false, "version").await;
    world.end().await;
}

/// Only lists that differ are told of: a reload leaves prompts and resources as they are.
#[tokio::test]
async fn a_reload_tells_of_no_list_that_stays_as_it_is() {
    let world = World::start().await;
    let mut session = Http::new(world.address);
    session.initialize("2025-11-25", json!({})).await;
    let mut stream = session.get().await;
    for (number, lists) in [(1, false), (2, true)] {
        if lists {
            for method in ["prompts/list", "resources/list", "resources/templates/list"] {
                session.legacy_result(method, json!({})).await;
            }
        }
        world.runtime.reload(version(number)).await.unwrap();
        let told = stream.next().await.unwrap();
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
    // A backend that comes in without prompts changes no prompts, and one that goes takes its own along.
    let mut fewer = version(3);
    fewer.backends.retain(|backend| backend.name != "odd");
    world.runtime.reload(fewer).await.unwrap();
    let told = stream.next().await.unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    let call = json!({ "name": "demo_toggle" });
    session.legacy_result("tools/call", call).await;
    let mut awaited = vec!["prompts", "resources", "tools"];
    while !awaited.is_empty() {
        let message = stream.next().await.unwrap();
        let method = message["method"].as_str().unwrap();
        let before = awaited.len();
        awaited.retain(|kind| method != format!("notifications/{kind}/list_changed"));
        assert!(awaited.len() < before, "{method} was told for nothing");
    }
    world.end().await;
}

async fn status(client: &Http) -> Value {
    let answer = client.send(Method::GET, "/status", &[], "").await;
    serde_json::from_str(&answer.text().await).unwrap()
}

#[tokio::test]
async fn a_call_in_flight_ends_on_the_version_it_began_with() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let patient = tokio::spawn(async move {
        client
            .modern_result("tools/call", json!({ "name": "patient" }))
            .await
    });
    world
        .newest_comes_to("patient", onecall_engine::journal::Phase::Running)
        .await;
    let mut other = version(10);
    other
        .workflows
        .retain(|workflow| workflow.name != "patient");
    world.runtime.reload(other).await.unwrap();
    let result = tokio::time::timeout(PATIENCE, patient)
        .await
        .unwrap()
        .unwrap();
    assert_ne!(result["isError"], true, "{result}");
    let mut client = Http::new(world.address);
    let mut gone = client
        .modern("tools/call", json!({ "name": "patient" }))
        .await;
    assert_eq!(gone.response().await["error"]["code"], -32602);
    world.end().await;
}

/// The code of an answer that is a handle, and the run behind it.
fn handle(answer: &Value) -> (&str, &str) {
    let error = &answer["_meta"]["dev.onecall/error"];
    let text = |key: &str| error[key].as_str().unwrap_or_else(|| panic!("{answer}"));
    (text("code"), text("run_id"))
}

#[tokio::test]
async fn a_handle_is_good_when_no_workflow_is_left() {
    let world = World::impatient(server()).await;
    let mut client = Http::new(world.address);
    let call = json!({ "name": "patient" });
    let pending = client.modern_result("tools/call", call).await;
    let (code, run) = handle(&pending);
    assert_eq!(code, "pending.running");
    let none = Server {
        workflows: Vec::new(),
        ..server()
    };
    world.runtime.reload(none).await.unwrap();
    let listed = client.modern_result("tools/list", json!({})).await;
    let mut names = listed["tools"].as_array().unwrap().iter();
    assert!(!names.any(|tool| tool["name"] == "workflow_result"));
    world
        .newest_comes_to("patient", onecall_engine::journal::Phase::Completed)
        .await;
    let fetch = json!({ "name": "workflow_result", "arguments": { "run_id": run } });
    let result = client.modern_result("tools/call", fetch).await;
    assert_eq!(result["structuredContent"]["ms"], 400, "{result}");
    world.end().await;
}

/// A modern backend whose only tool has the name of ours.
fn has_the_name(seen: &Seen) -> Reply {
    let result = match seen.body["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({ "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} } }),
        "tools/list" => json!({ "tools": [
            { "name": "workflow_result", "inputSchema": { "type": "object" } }] }),
        "tools/call" => json!({ "content": [], "structuredContent": { "by": "backend" } }),
        _ => {
            let error = json!({ "code": -32601, "message": "no" });
            return Reply::Json(404, Vec::new(), answer(seen, "error", error));
        }
    };
    Reply::Json(200, Vec::new(), answer(seen, "result", result))
}

#[tokio::test]
async fn a_handle_names_the_resource_where_a_backend_has_the_name_of_the_tool() {
    let backend = faulty::Server::start(has_the_name).await;
    let mut served = server();
    served.backends.push(backend_at("other", &backend.url));
    served.aggregation.strategy = Strategy::Priority { order: Vec::new() };
    for durability in [Durability::Async, Durability::None] {
        let mut served = served.clone();
        let policy = |workflow: &mut Workflow| workflow.policy.durability = Some(durability);
        served.workflows.retain(|own| own.name == "patient");
        served.workflows.iter_mut().for_each(policy);
        let world = World::impatient(served).await;
        let mut client = Http::new(world.address);
        let call = json!({ "name": "workflow_result" });
        let theirs = client.modern_result("tools/call", call).await;
        assert_eq!(theirs["structuredContent"]["by"], "backend");
        let call = json!({ "name": "patient" });
        let pending = client.modern_result("tools/call", call).await;
        let (_, run) = handle(&pending);
        let uri = format!("onecall://runs/{run}");
        let text = pending["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains(&uri) && !text.contains("workflow_result"),
            "{text}"
        );
        let read = async {
            loop {
                let read = client.modern("resources/read", json!({ "uri": uri }));
                let read = read.await.response().await;
                if let Some(text) = read["result"]["contents"][0]["text"].as_str() {
                    break serde_json::from_str::<Value>(text).unwrap();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let read = tokio::time::timeout(PATIENCE, read).await.unwrap();
        assert_eq!(read["ms"], 400, "{read}");
        world.end().await;
    }
}
