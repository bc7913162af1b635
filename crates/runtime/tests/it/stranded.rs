//! Runs that a reload strands: they are bound to other backends than the files have now.

use crate::world::{LEASE, PATIENCE, demo, options, server};
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Journal, NewRun};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use onecall_runtime::stranded::Stranded;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Asks, then calls its backend.
fn config(url: &str) -> String {
    format!(
        r#"
backends: {{ demo: {{ url: "{url}" }} }}
---
name: test
compositeTools:
- name: ask
  description: Asks.
  parameters: {{ type: object, properties: {{ text: {{ type: string }} }} }}
  steps:
  - {{ id: sure, type: elicitation, message: Sure?, timeout: 24h }}
  - {{ id: say, tool: demo.echo, dependsOn: [sure], arguments: {{ text: "{{{{ .params.text }}}}" }} }}
"#
    )
}

/// A runtime with a run that waits; one that holds much leaves memory at once.
async fn waiting(url: &str, journal: Arc<dyn Journal>, text: &str) -> (Runtime, RunId) {
    let runtime = Runtime::start(options(server(&config(url)), journal));
    let runtime = runtime.await.unwrap();
    runtime.settled().await;
    let request = Request::new("ask", json!({ "text": text }));
    let reply = runtime.call(request).await;
    let Reply::Started(mut handle) = reply else {
        panic!("{reply:?}");
    };
    handle.rest().await;
    (runtime, handle.id)
}

async fn reported(runtime: &Runtime, patience: Duration) -> Vec<Stranded> {
    let is_there = async {
        loop {
            let stranded = runtime.stranded();
            if !stranded.is_empty() {
                return stranded;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(patience, is_there).await.unwrap()
}

#[tokio::test]
async fn a_reload_reports_the_runs_that_it_strands_however_many_others_have() {
    let store = MemoryStore::new(Retention::default());
    let other = store.open(now(), LEASE);
    for number in 0..1_001 {
        let run = NewRun {
            plan_hash: "h".to_owned(),
            principal: Some(format!("caller{number}")),
            plan: r#"{"ir":99}"#.into(),
            ..NewRun::new(RunId::new(format!("other{number}")), "w", now())
        };
        let id = run.id.clone();
        other.create(run, Vec::new()).await.unwrap();
        other.park(&id, None).await.unwrap();
    }
    let (url, _stop) = demo().await;
    let (there, _stopped) = demo().await;
    let journal: Arc<dyn Journal> = Arc::new(store.open(now(), LEASE));
    let long = "x".repeat(100_000);
    let (runtime, run) = waiting(&url, Arc::clone(&journal), &long).await;
    let is_parked = async {
        loop {
            let open = journal.open_runs(now()).await.unwrap();
            if open.iter().any(|own| own.id == run && own.is_left) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, is_parked).await.unwrap();
    assert_eq!(runtime.stranded(), []);
    runtime.reload(server(&config(&there))).await.unwrap();
    let stranded = runtime.stranded();
    assert_eq!(stranded.len(), 1, "{stranded:?}");
    assert_eq!(stranded[0].run, run);
    let reason = &stranded[0].reason;
    assert!(reason.contains("`url` of `demo` differs"), "{reason}");
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_run_that_is_parked_after_the_reload_is_reported_too() {
    let store = MemoryStore::new(Retention::default());
    let (url, _stop) = demo().await;
    let (there, _stopped) = demo().await;
    let journal: Arc<dyn Journal> = Arc::new(store.open(now(), LEASE));
    let (runtime, run) = waiting(&url, journal, "x").await;
    runtime.reload(server(&config(&there))).await.unwrap();
    assert_eq!(runtime.stranded(), []);
    tokio::time::pause();
    let stranded = reported(&runtime, Duration::from_mins(3)).await;
    assert_eq!(stranded[0].run, run);
    runtime.shutdown(Duration::ZERO).await;
}
