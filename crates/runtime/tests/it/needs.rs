//! Log lines for runs that need a person, and for a lost lease.

use crate::logged::Logged;
use crate::world::{ASKS, LEASE, PATIENCE, options, server};
use onecall_engine::journal::Journal as _;
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_run_that_waits_is_logged_once_with_the_command() {
    let logged = Logged::of("onecall_runtime::log");
    let _guard = tracing::subscriber::set_default(logged.clone());
    let store = MemoryStore::new(Retention::default());
    let mut options = options(server(ASKS), Arc::new(store.open(now(), LEASE)));
    options.store_flag = Some(" --store x.db".to_owned());
    let runtime = Runtime::start(options).await.unwrap();
    let Reply::Started(mut handle) = runtime.call(Request::new("ask", json!({}))).await else {
        panic!("no run");
    };
    handle.rest().await;
    let run = &handle.id;
    let help = format!("onecall runs answer {run} sure --store x.db");
    let lines = logged.lines();
    let waits: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("waits for a person"))
        .collect();
    assert_eq!(waits.len(), 1, "{lines:?}");
    assert!(waits[0].contains(&help), "{lines:?}");
}

#[tokio::test]
async fn a_lost_lease_is_logged_once_however_many_runs_there_are() {
    let logged = Logged::of("onecall_runtime::release");
    let _guard = tracing::subscriber::set_default(logged.clone());
    let store = MemoryStore::new(Retention::default());
    let journal = Arc::new(store.open(now(), LEASE));
    let runtime = Runtime::start(options(server(ASKS), journal))
        .await
        .unwrap();
    let mut handles = Vec::new();
    for _ in 0..5 {
        let Reply::Started(mut handle) = runtime.call(Request::new("ask", json!({}))).await else {
            panic!("no run");
        };
        handle.rest().await;
        handles.push(handle);
    }
    // Another process whose clock says that the lease has run out.
    let late = now().plus(LEASE * 2);
    let other = store.open(late, LEASE);
    for handle in &mut handles {
        other.claim(&handle.id, late).await.unwrap().unwrap();
        handle.cancel("enough").await;
        assert_eq!(
            tokio::time::timeout(PATIENCE, handle.result())
                .await
                .unwrap(),
            None
        );
    }
    let lines = logged.lines();
    let lost: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("lost its lease"))
        .collect();
    assert_eq!(lost.len(), 1, "{lines:?}");
    assert!(
        lost[0].contains("callers here still get their results"),
        "{lines:?}"
    );
    runtime.shutdown(Duration::ZERO).await;
}
