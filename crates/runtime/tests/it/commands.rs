//! Commands that the store hands out while it cannot be used for a moment.

use crate::through::{Hook, Through};
use crate::world::{ASKS, LEASE, PATIENCE, options, server};
use futures::future::BoxFuture;
use onecall_engine::event::AnswerAction;
use onecall_engine::journal::{Journal, JournalError};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::questions::{Answered, Given};
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A store whose next claim fails, if told so.
#[derive(Clone, Debug)]
struct Failing(Arc<AtomicBool>);

impl Hook for Failing {
    fn before(&self, request: &'static str) -> BoxFuture<'static, Result<(), JournalError>> {
        let fails = request == "claim" && self.0.swap(false, Ordering::SeqCst);
        let result = if fails {
            Err(JournalError::Full("no space left on device".into()))
        } else {
            Ok(())
        };
        Box::pin(std::future::ready(result))
    }
}

#[tokio::test]
async fn an_answer_outlives_a_store_that_has_no_room_for_a_moment() {
    let store = MemoryStore::new(Retention::default());
    let first: Arc<dyn Journal> = Arc::new(store.open(now(), LEASE));
    let runtime = Runtime::start(options(server(ASKS), Arc::clone(&first)));
    let runtime = runtime.await.unwrap();
    let reply = runtime.call(Request::new("ask", json!({}))).await;
    let Reply::Started(mut handle) = reply else {
        panic!("{reply:?}");
    };
    handle.rest().await;
    let run = handle.id.clone();
    drop(handle);
    runtime.shutdown(PATIENCE).await;
    first.park(&run, None).await.unwrap();
    drop((runtime, first));

    let failing = Failing(Arc::new(AtomicBool::new(true)));
    let journal = Through {
        store: store.open(now(), LEASE),
        hook: failing.clone(),
    };
    let runtime = Runtime::start(options(server(ASKS), Arc::new(journal)))
        .await
        .unwrap();
    let given = Given {
        step: "sure".to_owned(),
        round: None,
        action: AnswerAction::Accept,
        content: Some(json!({})),
    };
    let answered = runtime.answer(&run, given).await.unwrap();
    assert_eq!(answered, Answered::Taken);
    assert!(!failing.0.load(Ordering::SeqCst));
    runtime.shutdown(Duration::ZERO).await;
}
