//! Every limit of runs that `onecall.yaml` states: the same run passes without it and ends with its code under it.

use crate::world::{PATIENCE, demo, start};
use onecall_runtime::calls::{Reply, Request};
use serde_json::{Value, json};
use std::time::Duration;

/// The code that a run of three steps ends with under this limit; `null` where it completes.
async fn ended_under(limit: &str) -> Value {
    let (url, _stop) = demo().await;
    let config = format!(
        r#"
backends: {{ demo: {{ url: "{url}" }} }}
limits: {{ {limit} }}
---
name: test
compositeTools:
- name: say
  description: Says a text three times.
  parameters: {{ type: object, properties: {{ text: {{ type: string }}, items: {{ type: array }} }} }}
  steps:
  - {{ id: a, tool: demo.echo, arguments: {{ text: "{{{{ .params.text }}}}" }} }}
  - {{ id: b, tool: demo.echo, arguments: {{ text: "{{{{ .steps.a.output.text }}}} {{{{ .params.text }}}}" }} }}
  - {{ id: c, tool: demo.echo, arguments: {{ text: "{{{{ range .params.items }}}}x{{{{ end }}}}" }} }}
"#
    );
    let runtime = start(&config).await;
    runtime.settled().await;
    let input = json!({ "text": "x".repeat(500), "items": vec![1; 500] });
    let reply = runtime.call(Request::new("say", input)).await;
    let Reply::Started(mut handle) = reply else {
        panic!("{reply:?}");
    };
    let result = tokio::time::timeout(PATIENCE, handle.result()).await;
    let result = result.unwrap().unwrap();
    runtime.shutdown(Duration::ZERO).await;
    result["_meta"]["dev.onecall/error"]["code"].clone()
}

#[tokio::test]
async fn without_a_limit_the_run_completes() {
    assert_eq!(ended_under("sessions: 7").await, Value::Null);
}

#[tokio::test]
async fn events() {
    assert_eq!(ended_under("events: 5").await, "limit.events");
}

#[tokio::test]
async fn run_bytes() {
    assert_eq!(ended_under("run_bytes: 1500").await, "limit.data");
}

#[tokio::test]
async fn result_bytes() {
    assert_eq!(ended_under("result_bytes: 400").await, "limit.result");
}

#[tokio::test]
async fn text_bytes() {
    assert_eq!(ended_under("text_bytes: 800").await, "expression.limit");
}

#[tokio::test]
async fn operations() {
    assert_eq!(ended_under("operations: 300").await, "expression.limit");
}

#[tokio::test]
async fn patterns() {
    let config = r#"
name: test
compositeTools:
- name: tag
  description: Takes tags.
  parameters: { type: object, properties: { tags: { type: array, items: { type: string, pattern: "^(?:(?!x)a+)+b$" } } } }
  steps: [{ id: a, type: elicitation, message: "?" }]
"#;
    let runtime = start(config).await;
    let hard = vec![format!("{}c", "a".repeat(26)); 2_000];
    let call = runtime.call(Request::new("tag", json!({ "tags": hard })));
    // The only thread of this test goes on meanwhile.
    let ticks = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (reply, ()) = tokio::join!(call, ticks);
    let Reply::Result(refused) = reply else {
        panic!("{reply:?}");
    };
    let error = &refused["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "limit.patterns");
    assert_eq!(error["category"], "limit");
    let hard = vec![format!("{}c", "a".repeat(26)); 2_000];
    let preview = runtime.preview("tag", json!({ "tags": hard }));
    tokio::select! {
        biased;
        _ = preview => panic!("the patterns were tested before anything else could go on"),
        () = tokio::task::yield_now() => {}
    }
    runtime.shutdown(Duration::ZERO).await;
}
