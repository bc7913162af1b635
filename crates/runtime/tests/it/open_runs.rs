//! How many runs may be open, of all callers and of one, and how long their questions stay open.

use crate::world::{ASKS, LEASE, PATIENCE, demo, options, server, start};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request, RunHandle};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn asks(limits: &str) -> String {
    format!("limits: {{ {limits} }}\nbackends: {{}}\n---\n{ASKS}")
}

async fn ask(runtime: &Runtime, caller: &str) -> Result<RunHandle, Value> {
    let mut request = Request::new("ask", json!({}));
    request.principal = Some(caller.to_owned());
    match tokio::time::timeout(PATIENCE, runtime.call(request)).await {
        Ok(Reply::Started(mut handle)) => {
            handle.rest().await;
            Ok(handle)
        }
        Ok(Reply::Result(result)) => Err(result["_meta"]["dev.onecall/error"].clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_caller_above_its_share_is_refused_and_others_are_not() {
    let runtime = start(&asks("open_runs_per_caller: 2")).await;
    let first = ask(&runtime, "ada").await.unwrap();
    ask(&runtime, "ada").await.unwrap();
    let refused = ask(&runtime, "ada").await.unwrap_err();
    assert_eq!(refused["code"], "limit.open_runs");
    assert_eq!(refused["retryable"], true);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("`limits.open_runs_per_caller`"),
        "{message}"
    );
    ask(&runtime, "bob").await.unwrap();
    let mut first = first;
    first.cancel("enough").await;
    first.result().await.unwrap();
    ask(&runtime, "ada").await.unwrap();
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn runs_that_an_earlier_process_left_are_counted() {
    let store = MemoryStore::new(Retention::default());
    let text = asks("open_runs: 2");
    let journal = Arc::new(store.open(now(), LEASE));
    let runtime = Runtime::start(options(server(&text), journal))
        .await
        .unwrap();
    for caller in ["ada", "bob"] {
        ask(&runtime, caller).await.unwrap();
    }
    runtime.shutdown(Duration::ZERO).await;
    drop(runtime);
    let journal = Arc::new(store.open(now(), LEASE));
    let runtime = Runtime::start(options(server(&text), journal))
        .await
        .unwrap();
    let refused = ask(&runtime, "eve").await.unwrap_err();
    assert_eq!(refused["code"], "limit.open_runs");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("2 runs are open"), "{message}");
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_earlier_run_is_found_by_its_key_also_above_the_limit() {
    let runtime = start(&asks("open_runs: 1")).await;
    let call = || {
        let mut request = Request::new("ask", json!({}));
        request.client_key = Some("k".to_owned());
        runtime.call(request)
    };
    let Reply::Started(first) = call().await else {
        panic!("not started");
    };
    let Reply::Started(again) = call().await else {
        panic!("not found");
    };
    assert_eq!(first.id, again.id);
    assert!(ask(&runtime, "ada").await.is_err());
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn many_callers_with_the_same_key_each_find_their_own_run() {
    let runtime = start(&asks("open_runs: 103")).await;
    let call = async |caller: Option<String>| {
        let mut request = Request::new("ask", json!({}));
        request.client_key = Some("k".to_owned());
        request.principal = caller;
        match runtime.call(request).await {
            Reply::Started(handle) => handle.id,
            other => panic!("{other:?}"),
        }
    };
    let anonymous = call(None).await;
    let first = call(Some("ada".to_owned())).await;
    for caller in 0..101 {
        call(Some(format!("caller{caller}"))).await;
    }
    assert!(ask(&runtime, "eve").await.is_err());
    assert_eq!(call(Some("ada".to_owned())).await, first);
    assert_eq!(call(None).await, anonymous);
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_another_process_ended_refuses_nobody() {
    let store = MemoryStore::new(Retention::default());
    let text = asks("open_runs: 1");
    let process = async || {
        let journal = Arc::new(store.open(now(), LEASE));
        let started = Runtime::start(options(server(&text), journal)).await;
        started.unwrap()
    };
    let theirs = process().await;
    let mut run = ask(&theirs, "ada").await.unwrap();
    let ours = process().await;
    assert!(ask(&ours, "bob").await.is_err());
    run.cancel("enough").await;
    run.result().await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    ask(&ours, "bob").await.unwrap();
    for runtime in [ours, theirs] {
        runtime.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_backends_own_tool_is_not_a_run_and_one_that_ended_is_not_open() {
    let (url, _stop) = demo().await;
    let text = format!(
        "limits: {{ open_runs: 1 }}\nbackends: {{ demo: {{ url: \"{url}\" }} }}\n---\nname: test
compositeTools:
- name: say
  description: Says.
  steps: [{{ id: a, tool: demo.echo, arguments: {{ text: x }} }}]
- name: ask
  description: Asks.
  steps: [{{ id: sure, type: elicitation, message: Sure?, timeout: 24h }}]
"
    );
    let runtime = start(&text).await;
    runtime.settled().await;
    for _ in 0..3 {
        let reply = runtime.call(Request::new("say", json!({}))).await;
        let Reply::Started(mut handle) = reply else {
            panic!("{reply:?}");
        };
        handle.result().await.unwrap();
    }
    ask(&runtime, "ada").await.unwrap();
    assert!(ask(&runtime, "ada").await.is_err());
    let passed = runtime
        .call(Request::new("demo_echo", json!({ "text": "x" })))
        .await;
    assert!(matches!(passed, Reply::Passed(_)), "{passed:?}");
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn open_runs_that_fill_the_memory_refuse_new_ones() {
    let store = MemoryStore::new(Retention {
        bytes_max: 40_000,
        ..Retention::default()
    });
    let journal = Arc::new(store.open(now(), LEASE));
    let server = server(&asks("open_runs: 1000"));
    let runtime = Runtime::start(options(server, journal)).await.unwrap();
    let mut open = Vec::new();
    let refused = loop {
        match ask(&runtime, "ada").await {
            Ok(handle) => open.push(handle),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused["code"], "limit.open_runs", "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("`limits.ephemeral_bytes`"), "{message}");
    assert!((10..40).contains(&open.len()), "{}", open.len());
    // Those that are open can still be ended, and give their room back.
    for handle in &mut open {
        handle.cancel("enough").await;
        handle.result().await.unwrap();
    }
    ask(&runtime, "ada").await.unwrap();
    runtime.shutdown(Duration::ZERO).await;
}

/// How long the question of a workflow file without a timeout stays open.
async fn open_for(config: &str) -> Duration {
    let text = format!(
        "backends: {{}}\n{config}---\nworkflow: ask\nsteps: {{ sure: {{ ask: 'Sure?' }} }}\n"
    );
    let runtime = start(&text).await;
    let before = now();
    let handle = ask(&runtime, "ada").await.unwrap();
    let standing = handle.standing();
    let deadline = standing.questions[0].deadline.unwrap();
    runtime.shutdown(Duration::ZERO).await;
    deadline.since(before)
}

#[tokio::test]
async fn a_question_without_a_timeout_is_open_for_a_week_or_as_configured() {
    let hour = 3_600;
    let week = open_for("").await.as_secs();
    assert!(
        (7 * 24 * hour..7 * 24 * hour + 60).contains(&week),
        "{week}"
    );
    let stated = open_for("questions: { timeout: 1h }\n").await.as_secs();
    assert!((hour..hour + 60).contains(&stated), "{stated}");
}
