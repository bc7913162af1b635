//! Leaving: what becomes of the runs of a process that ends.

use crate::world::{ASKS, LEASE, PATIENCE, options, server};
use onecall_engine::journal::{Journal, Phase};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn nobody_waits_for_a_person_before_leaving() {
    let store = MemoryStore::new(Retention::default());
    let journal = Arc::new(store.open(now(), LEASE));
    let runtime = Runtime::start(options(server(ASKS), journal))
        .await
        .unwrap();
    let reply = runtime.call(Request::new("ask", json!({}))).await;
    let Reply::Started(mut handle) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(handle.rest().await.questions.len(), 1);
    let run = handle.id.clone();
    drop(handle);
    let leaving = runtime.shutdown(Duration::from_hours(1));
    tokio::time::timeout(PATIENCE, leaving).await.unwrap();
    drop(runtime);
    let next = store.open(now(), LEASE);
    let left = next.load(&run).await.unwrap().unwrap();
    assert_eq!(left.summary.phase, Phase::Waiting);
    assert_eq!(next.claimable(now()).await.unwrap(), [run]);
}
