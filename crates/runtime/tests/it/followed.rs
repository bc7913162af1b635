//! Following a run that another process drives.

use crate::world::{ASKS, LEASE, PATIENCE, options, server};
use onecall_engine::journal::{Journal, Phase};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Moved, Reply, Request};
use onecall_runtime::now;
use onecall_runtime::runs::Standing;
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

async fn rests(follower: &mut onecall_runtime::questions::Follower) -> Standing {
    loop {
        let moved = tokio::time::timeout(PATIENCE, follower.moved()).await;
        if let Moved::Rests(standing) = moved.expect("the run rests") {
            return standing;
        }
    }
}

#[tokio::test]
async fn a_run_whose_end_was_removed_has_ended() {
    let store = MemoryStore::new(Retention {
        runs_max: 0,
        ..Retention::default()
    });
    let mut processes = Vec::new();
    for _ in 0..2 {
        let journal = Arc::new(store.open(now(), LEASE));
        let runtime = Runtime::start(options(
            server(&format!("backends: {{}}\n---\n{ASKS}")),
            journal,
        ));
        processes.push(runtime.await.unwrap());
    }
    let reply = processes[0].call(Request::new("ask", json!({}))).await;
    let Reply::Started(mut handle) = reply else {
        panic!("{reply:?}");
    };
    handle.rest().await;
    let mut follower = processes[1].attach(&handle.id).await.unwrap();
    assert_eq!(rests(&mut follower).await.questions.len(), 1);

    handle.cancel("enough").await;
    handle.result().await.unwrap();
    let people = store.open(now(), LEASE);
    while people.maintain(now()).await.unwrap() {}
    assert!(people.load(&handle.id).await.unwrap().is_none());

    let ended = rests(&mut follower).await;
    assert_eq!((ended.phase, ended.questions.len()), (Phase::Failed, 0));
    let result = ended.result.expect("it has an end");
    let error = &result["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "unknown_outcome.unanswered");
    assert_eq!(error["run_id"], handle.id.as_str());
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("is no longer stored"), "{message}");
    for runtime in processes {
        runtime.shutdown(Duration::ZERO).await;
    }
}
