//! Calls that become tasks, of both kinds: polled, asked, cancelled, lost and found again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecall_backends::{BackendName, BackendOptions, Call, Takes};
use onecall_testkit::faulty::{Reply, Seen, Server, answer};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::world::{PATIENCE, complete, start, way};

fn reply(seen: &Seen, result: Value) -> Reply {
    Reply::Json(200, Vec::new(), answer(seen, "result", result))
}

fn method(seen: &Seen) -> &str {
    seen.body["method"].as_str().unwrap_or_default()
}

fn opened(seen: &Seen) -> Option<Reply> {
    Some(match method(seen) {
        "server/discover" => reply(
            seen,
            json!({ "supportedVersions": ["2026-07-28"],
                "capabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } } }),
        ),
        "tools/list" => reply(
            seen,
            json!({ "tools": [{ "name": "do", "execution": { "taskSupport": "required" } }] }),
        ),
        _ => return None,
    })
}

fn task(status: &str) -> Value {
    json!({ "resultType": "complete", "taskId": "t-1", "status": status,
        "createdAt": "2026-08-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 20 })
}

fn http(url: &str) -> BackendOptions {
    let mut options = BackendOptions::http("b", url);
    options.call_timeout = Some(PATIENCE);
    options
}

fn name() -> BackendName {
    "b".into()
}

#[tokio::test]
async fn a_task_is_polled_until_its_result_is_there() {
    let polls = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        if let Some(reply) = opened(seen) {
            return reply;
        }
        let declared = &seen.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert!(declared["extensions"]["io.modelcontextprotocol/tasks"].is_object());
        match method(seen) {
            "tools/call" => {
                let mut created = task("working");
                created["resultType"] = json!("task");
                reply(seen, created)
            }
            "tasks/get" => {
                assert_eq!(seen.headers["mcp-name"], "t-1");
                // Once the connection breaks, and the task is asked for again.
                match polls.fetch_add(1, Ordering::SeqCst) {
                    0 => reply(seen, task("working")),
                    1 => Reply::Raw(Vec::new()),
                    _ => {
                        let mut done = task("completed");
                        done["result"] = json!({ "content": [], "isError": true, "vendor": 7 });
                        reply(seen, done)
                    }
                }
            }
            other => panic!("{other}"),
        }
    })
    .await;
    let backends = start(vec![http(&server.url)]);
    let done = complete(backends.call(&name(), Call::new("do", json!({}))).await).unwrap();
    assert!(done.is_error() && done.object()["vendor"] == 7);
    let gets = server
        .methods()
        .iter()
        .filter(|one| *one == "tasks/get")
        .count();
    assert_eq!(gets, 3);
    backends.shutdown().await;
}

#[tokio::test]
async fn a_client_that_takes_no_tasks_is_given_the_result_of_one_that_must_be() {
    const DECLARED: &str = "io.modelcontextprotocol/clientCapabilities";
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let server = Server::start(move |seen| {
        let declared = &seen.body["params"]["_meta"][DECLARED];
        match method(seen) {
            "tools/list" => reply(
                seen,
                json!({ "tools": [{ "name": "do" }, { "name": "plain" }] }),
            ),
            "tools/call" if seen.body["params"]["name"] == "plain" => reply(
                seen,
                json!({ "content": [], "structuredContent": declared }),
            ),
            "tools/call" if declared["extensions"].is_null() => {
                let data = json!({ "requiredCapabilities": tasks });
                let error = json!({ "code": -32021, "message": "no", "data": data });
                Reply::Json(400, Vec::new(), answer(seen, "error", error))
            }
            "tools/call" => {
                let mut created = task("working");
                created["resultType"] = json!("task");
                reply(seen, created)
            }
            "tasks/get" => {
                let mut done = task("completed");
                done["result"] = json!({ "content": [], "vendor": 7 });
                reply(seen, done)
            }
            _ => opened(seen).unwrap(),
        }
    })
    .await;
    let backends = start(vec![http(&server.url)]);
    let passed = |tool: &str| {
        let mut call = Call::new(tool, json!({}));
        call.meta
            .insert(DECLARED.to_owned(), json!({ "roots": {} }));
        call
    };
    for _ in 0..2 {
        let done = complete(backends.call(&name(), passed("do")).await).unwrap();
        assert_eq!(done.object()["vendor"], 7);
    }
    let calls = |server: &Server| {
        let methods = server.methods();
        methods.iter().filter(|one| *one == "tools/call").count()
    };
    assert_eq!(calls(&server), 3, "it is found out once");
    let plain = complete(backends.call(&name(), passed("plain")).await).unwrap();
    let given = json!({ "roots": {} });
    assert_eq!(plain.structured(), Some(&given), "as the client declares");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_task_that_asks_is_answered_through_its_caller() {
    let given: &'static Mutex<Vec<Value>> = Box::leak(Box::default());
    let server = Server::start(move |seen| {
        if let Some(reply) = opened(seen) {
            return reply;
        }
        match method(seen) {
            "tools/call" => {
                let mut created = task("working");
                created["resultType"] = json!("task");
                reply(seen, created)
            }
            "tasks/update" => {
                given.lock().unwrap().push(seen.body["params"]["inputResponses"].clone());
                reply(seen, json!({}))
            }
            "tasks/get" => {
                let given = given.lock().unwrap();
                let mut now = task(if given.len() < 2 { "input_required" } else { "completed" });
                let question = |text: &str| {
                    json!({ "method": "elicitation/create", "params": { "message": text } })
                };
                now["inputRequests"] = match given.len() {
                    0 => json!({ "one": question("first?") }),
                    1 => json!({ "one": question("first?"), "two": question("second?") }),
                    _ => json!({}),
                };
                now["result"] = json!({ "content": [], "structuredContent": *given });
                reply(seen, now)
            }
            other => panic!("{other}"),
        }
    })
    .await;
    let backends = start(vec![http(&server.url)]);
    let (asker, mut questions) = mpsc::channel(4);
    let mut call = Call::new("do", json!({}));
    call.takes = Takes::ALL;
    call.asker = Some(asker);
    let person = async {
        for expected in ["first?", "second?"] {
            let question = questions.recv().await.unwrap();
            assert_eq!(question.params.value()["message"], expected);
            let accepted = json!({ "action": "accept" });
            question.reply.send(Ok(accepted.into())).unwrap();
        }
    };
    let backend = name();
    let (done, ()) = tokio::join!(backends.call(&backend, call), person);
    let done = complete(done).unwrap();
    let accepted = json!([{ "one": { "action": "accept" } }, { "two": { "action": "accept" } }]);
    assert_eq!(done.structured(), Some(&accepted));
    // Without somebody to ask, the task is cancelled and the call says why.
    given.lock().unwrap().clear();
    let refused = backends.call(&name(), Call::new("do", json!({}))).await;
    assert_eq!(way(&refused.unwrap_err()), "Rpc -32021");
    assert!(server.methods().contains(&"tasks/cancel".to_owned()));
    backends.shutdown().await;
}

#[tokio::test]
async fn a_caller_that_leaves_cancels_the_task() {
    let server = Server::start(|seen| {
        if let Some(reply) = opened(seen) {
            return reply;
        }
        let mut now = task("working");
        if method(seen) == "tools/call" {
            now["resultType"] = json!("task");
        }
        reply(seen, now)
    })
    .await;
    let backends = start(vec![http(&server.url)]);
    let backend = name();
    let calling = backends.call(&backend, Call::new("do", json!({})));
    let polled = async {
        while !server.methods().contains(&"tasks/get".to_owned()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        answer = calling => panic!("{answer:?}"),
        () = polled => {}
    }
    let told = async {
        while !server.methods().contains(&"tasks/cancel".to_owned()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.unwrap();
    // The time-out of a call holds for its task too.
    let mut short = Call::new("do", json!({}));
    short.timeout = Some(Duration::from_millis(100));
    let late = backends.call(&name(), short).await.unwrap_err();
    assert_eq!(way(&late), "Timeout");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_task_that_is_gone_or_failed_has_its_named_outcome() {
    for (answer_to_get, code) in [
        (
            json!({ "code": -32602, "message": "no such task" }),
            "UnknownOutcome",
        ),
        (Value::Null, "Rpc -1"),
    ] {
        let server = Server::start(move |seen| {
            if let Some(reply) = opened(seen) {
                return reply;
            }
            let mut now = task("working");
            match method(seen) {
                "tools/call" => now["resultType"] = json!("task"),
                _ if answer_to_get.is_null() => {
                    now["status"] = json!("failed");
                    now["error"] = json!({ "code": -1, "message": "broken" });
                }
                _ => {
                    let error = answer(seen, "error", answer_to_get.clone());
                    return Reply::Json(200, Vec::new(), error);
                }
            }
            reply(seen, now)
        })
        .await;
        let backends = start(vec![http(&server.url)]);
        let failed = backends.call(&name(), Call::new("do", json!({}))).await;
        assert_eq!(way(&failed.unwrap_err()), code);
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_task_that_may_not_be_asked_for_any_more_has_an_unknown_outcome() {
    let refusals: [fn(&Seen) -> Reply; 3] = [
        |_| Reply::Json(401, Vec::new(), Value::Null),
        |seen| {
            reply(
                seen,
                json!("x".repeat(onecall_mcp::limits::MESSAGE_BYTES_MAX)),
            )
        },
        |seen| reply(seen, json!({ "status": "unheard of" })),
    ];
    for refuse in refusals {
        let server = Server::start(move |seen| {
            opened(seen).unwrap_or_else(|| match method(seen) {
                "tools/call" => {
                    let mut created = task("working");
                    created["resultType"] = json!("task");
                    reply(seen, created)
                }
                _ => refuse(seen),
            })
        })
        .await;
        let backends = start(vec![http(&server.url)]);
        let failed = backends.call(&name(), Call::new("do", json!({}))).await;
        assert_eq!(way(&failed.unwrap_err()), "UnknownOutcome");
        backends.shutdown().await;
    }
}

/// A server of the handshake era cannot be told in a request what its client declares.
#[tokio::test]
async fn a_legacy_server_that_refuses_a_call_for_want_of_tasks_is_called_once() {
    let server = Server::start(|seen| {
        let result = match method(seen) {
            "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
            "tools/list" => json!({ "tools": [{ "name": "do" }] }),
            "notifications/initialized" | "" => return Reply::Json(202, Vec::new(), Value::Null),
            called => {
                let is_call = called == "tools/call";
                let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
                let data = json!({ "requiredCapabilities": tasks });
                let code = if is_call { -32021 } else { -32601 };
                let error = json!({ "code": code, "message": "no", "data": data });
                return Reply::Json(200, Vec::new(), answer(seen, "error", error));
            }
        };
        reply(seen, result)
    })
    .await;
    let backends = start(vec![http(&server.url)]);
    for _ in 0..2 {
        let refused = backends.call(&name(), Call::new("do", json!({}))).await;
        assert_eq!(way(&refused.unwrap_err()), "Rpc -32021");
    }
    let methods = server.methods();
    let calls = methods.iter().filter(|one| *one == "tools/call");
    assert_eq!(calls.count(), 2, "{methods:?}");
    backends.shutdown().await;
}

/// The experimental tasks of 2025-11-25, for tools that take calls no other way.
#[tokio::test]
async fn a_legacy_tool_that_wants_a_task_gets_one() {
    let server = Server::start(|seen| {
        let result = match method(seen) {
            "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": {
                "tools": {}, "tasks": { "cancel": {}, "requests": { "tools": { "call": {} } } } } }),
            "tools/list" => return opened(seen).unwrap(),
            "tools/call" => {
                assert!(seen.body["params"]["task"].is_object());
                json!({ "task": { "taskId": "t-2", "status": "working", "ttl": 60000, "pollInterval": 20 } })
            }
            "tasks/get" => {
                json!({ "taskId": "t-2", "status": "input_required", "ttl": 60000, "pollInterval": 20 })
            }
            "tasks/result" => {
                let question = json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                    "params": { "message": "which?" } });
                let result = answer(seen, "result", json!({ "content": [{ "type": "text", "text": "done" }] }));
                return Reply::Events(vec![
                    format!("data: {question}\n\n"),
                    format!("data: {result}\n\n"),
                ]);
            }
            "notifications/initialized" | "" => return Reply::Json(202, Vec::new(), Value::Null),
            _ => {
                let error = json!({ "code": -32601, "message": "unknown" });
                return Reply::Json(200, Vec::new(), answer(seen, "error", error));
            }
        };
        reply(seen, result)
    })
    .await;
    let backends = start(vec![http(&server.url)]);
    let (asker, mut questions) = mpsc::channel(4);
    let mut call = Call::new("do", json!({}));
    call.asker = Some(asker);
    let done = complete(backends.call(&name(), call).await).unwrap();
    assert_eq!(done.content()[0]["text"], "done");
    assert_eq!(
        questions.recv().await.unwrap().params.value()["message"],
        "which?"
    );
    backends.shutdown().await;
}
