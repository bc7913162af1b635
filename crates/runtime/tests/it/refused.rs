//! A run that the store has no room for is refused before anything is done.

use crate::world::{PATIENCE, demo, options, server};
use onecall_engine::journal::Journal;
use onecall_journal::SqliteJournal;
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_run_that_cannot_be_stored_is_refused() {
    let (url, _stop) = demo().await;
    let text = format!(
        "name: full
backends:
  - {{name: demo, url: \"{url}\"}}
compositeTools:
  - name: find
    description: Finds notes.
    parameters: {{type: object, properties: {{text: {{type: string}}}}}}
    steps:
      - {{id: a, tool: demo.search, arguments: {{query: \"{{{{ .params.text }}}}\"}}}}
"
    );
    let folder = tempfile::tempdir().unwrap();
    let mut store = onecall_journal::Options::new(folder.path().join("runs.db"), now());
    store.bytes_max = Some(600_000);
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(store).unwrap());
    let runtime = Runtime::start(options(server(&text), journal))
        .await
        .unwrap();
    assert_eq!(runtime.store_fault(), None);
    let request = Request::new("find", json!({ "text": "x".repeat(1_000_000) }));
    let reply = tokio::time::timeout(PATIENCE, runtime.call(request)).await;
    let Reply::Result(result) = reply.unwrap() else {
        panic!("the run was started");
    };
    let error = &result["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "internal.store", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("the store has no room left"), "{message}");
    assert_eq!(result["isError"], true);
    let fault = runtime.store_fault().unwrap();
    assert!(fault.contains("the store has no room left"), "{fault}");
    // There is room for less, and the store is tried again by itself.
    let usable = async {
        while runtime.store_fault().is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, usable).await.unwrap();
    runtime.shutdown(Duration::ZERO).await;
}
