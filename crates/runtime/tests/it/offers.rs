//! Resources, prompts, completion and updates through the runtime, merged from two backends.

use crate::logged::Logged;
use crate::world::{PATIENCE, demo, start};
use onecall_mcp::{Exact, Fields};
use onecall_runtime::calls::Request;
use onecall_runtime::offers::{OfferError, Requester};
use onecall_runtime::runtime::Runtime;
use serde_json::{Value, json};

fn column(list: &[Exact], key: &str) -> Vec<String> {
    let text = |entry: &Exact| entry.value()[key].as_str().unwrap().to_owned();
    list.iter().map(text).collect()
}

/// A result as a value.
fn read(fields: &Fields) -> Value {
    serde_json::from_str(&fields.to_text()).unwrap()
}

fn nobody() -> Requester {
    Requester::default()
}

async fn two(rest: &str) -> (Runtime, Vec<tokio_util::sync::DropGuard>) {
    let (a, stop_a) = demo().await;
    let (b, stop_b) = demo().await;
    let text = format!("backends:\n  b: {{ url: \"{b}\" }}\n  a: {{ url: \"{a}\" }}\n{rest}");
    (start(&text).await, vec![stop_a, stop_b])
}

#[tokio::test]
async fn two_backends_are_one_list_of_each_kind() {
    let (runtime, _stop) = two("").await;
    let prompts = runtime.prompts().await;
    assert_eq!(column(&prompts, "name"), ["b_explain", "a_explain"]);
    assert_eq!(prompts[0].value()["arguments"][0]["name"], "note");
    let resources = runtime.resources().await;
    let notes: Vec<String> = (1..=5).map(|id| format!("demo://notes/n{id}")).collect();
    assert_eq!(column(&resources, "uri"), notes);
    let templates = runtime.resource_templates().await;
    assert_eq!(column(&templates, "uriTemplate"), ["demo://kept/{key}"]);

    let note = runtime
        .read_resource(json!({ "uri": "demo://notes/n2" }).into(), &nobody())
        .await;
    assert_eq!(
        read(&note.unwrap())["contents"][0]["text"],
        "Grind the beans just before brewing."
    );
    let explain = json!({ "name": "a_explain", "arguments": { "note": "n3" } });
    let said = runtime.get_prompt(explain.into(), &nobody()).await.unwrap();
    let said = read(&said);
    let text = said["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.ends_with("Let the dough rest over night."), "{text}");
    // The spelling of those that lose a name.
    let same = json!({ "name": "a.explain", "arguments": { "note": "n3" } });
    assert_eq!(
        read(&runtime.get_prompt(same.into(), &nobody()).await.unwrap())["messages"],
        said["messages"]
    );
    let reference = json!({ "type": "ref/prompt", "name": "b_explain" });
    let argument = json!({ "name": "note", "value": "n" });
    let completed = runtime
        .complete(
            json!({ "ref": reference, "argument": argument }).into(),
            &nobody(),
        )
        .await;
    assert_eq!(read(&completed.unwrap())["completion"]["total"], 5);
    runtime.shutdown(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn what_nobody_has_is_said_and_backend_errors_pass() {
    let (runtime, _stop) = two("").await;
    let unknown = runtime
        .read_resource(json!({ "uri": "x://nobody" }).into(), &nobody())
        .await;
    assert!(
        matches!(unknown, Err(OfferError::UnknownResource { .. })),
        "{unknown:?}"
    );
    let unknown = runtime
        .get_prompt(json!({ "name": "explain" }).into(), &nobody())
        .await;
    assert!(
        matches!(unknown, Err(OfferError::UnknownPrompt { .. })),
        "{unknown:?}"
    );
    assert!(matches!(
        runtime.get_prompt(json!({}).into(), &nobody()).await,
        Err(OfferError::Missing("name"))
    ));
    // A template fits, the backend itself does not know the key.
    let gone = runtime
        .read_resource(json!({ "uri": "demo://kept/gone" }).into(), &nobody())
        .await;
    let Err(OfferError::Rpc(error)) = gone else {
        panic!("{gone:?}")
    };
    assert_eq!(
        (error.code, error.data.map(|data| data.value().clone())),
        (-32602, Some(json!({ "uri": "demo://kept/gone" })))
    );
    runtime.shutdown(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn changes_and_updates_reach_those_who_watch() {
    let (runtime, _stop) = two("").await;
    assert_eq!(runtime.prompts().await.len(), 2);
    runtime.settled().await;
    let mut changes = runtime.list_changes();
    let before = *changes.borrow_and_update();
    let toggled = Request::new("a_toggle", json!({}));
    runtime.call(toggled).await;
    let told =
        changes.wait_for(|now| now.prompts > before.prompts && now.resources > before.resources);
    tokio::time::timeout(PATIENCE, told).await.unwrap().unwrap();
    let names = column(&runtime.prompts().await, "name");
    assert_eq!(names, ["b_explain", "a_explain", "a_extra"]);

    let mut updates = runtime.resource_updates();
    let subscription = runtime.subscribe("demo://kept/k").await.unwrap();
    // `b` owns the template, so `a` is not listened to.
    for tool in ["a_put", "b_put"] {
        let put = Request::new(tool, json!({ "key": "k", "value": 1 }));
        runtime.call(put).await;
    }
    let update = tokio::time::timeout(PATIENCE, updates.recv())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (update.backend.as_str(), &*update.uri),
        ("b", "demo://kept/k")
    );
    drop(subscription);
    runtime.shutdown(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn where_only_workflows_are_shown_nothing_else_is() {
    let (runtime, _stop) = two("expose: workflows\n").await;
    assert!(!runtime.shows_backends());
    assert_eq!(
        runtime.prompts().await.len() + runtime.resources().await.len(),
        0
    );
    let read = runtime
        .read_resource(json!({ "uri": "demo://notes/n1" }).into(), &nobody())
        .await;
    assert!(
        matches!(read, Err(OfferError::UnknownResource { .. })),
        "{read:?}"
    );
    runtime.shutdown(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn a_name_that_two_backends_want_is_told_once() {
    let (runtime, _stop) = two("").await;
    let told = Logged::of("onecall_runtime::offers");
    let _telling = tracing::subscriber::set_default(told.clone());
    runtime.resources().await;
    let first = told.lines().len();
    assert!(first > 0, "both have the same notes");
    runtime.resources().await;
    runtime.prompts().await;
    runtime.resources().await;
    assert_eq!(told.lines().len(), first);
    // Templates are lists of their own.
    runtime.resource_templates().await;
    assert!(told.lines().len() > first);
    runtime.shutdown(std::time::Duration::ZERO).await;
}
