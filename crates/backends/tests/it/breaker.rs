//! The circuit breaker of a backend that answers probes and fails at its work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use onecall_backends::{Backends, CallError};
use onecall_testkit::faulty::{Reply, Server, done, modern};
use serde_json::{Value, json};

use crate::http::http;
use crate::world::{PATIENCE, call, start, way};

/// A server whose calls fail while the flag is set, and how many reached it.
async fn failing(hangs: bool) -> (Server, Arc<AtomicBool>, Arc<AtomicUsize>) {
    let (fails, calls) = (
        Arc::new(AtomicBool::new(true)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (flag, counted) = (Arc::clone(&fails), Arc::clone(&calls));
    let server = Server::start(modern(move |seen| {
        counted.fetch_add(1, Ordering::SeqCst);
        match (flag.load(Ordering::SeqCst), hangs) {
            (false, _) => done(seen),
            (true, true) => Reply::Hang,
            (true, false) => Reply::Json(500, Vec::new(), Value::Null),
        }
    }))
    .await;
    (server, fails, calls)
}

fn configured(server: &Server, rest: Duration) -> Backends {
    let mut options = http("b", &server.url, None);
    options.call_timeout = Some(Duration::from_millis(100));
    options.health.failures_max = 2;
    options.health.rest = Some(rest);
    start(vec![options])
}

fn breaker(backends: &Backends) -> &'static str {
    backends.status()[0].breaker.word()
}

#[tokio::test]
async fn calls_that_fail_open_it_though_probes_are_answered() {
    for hangs in [true, false] {
        let (server, _, calls) = failing(hangs).await;
        let backends = configured(&server, PATIENCE);
        backends.settle(PATIENCE).await;
        for number in 0..2 {
            assert_eq!(breaker(&backends), "closed", "after {number}");
            let failed = call(&backends, "b", "do", json!({})).await.unwrap_err();
            assert!(failed.may_have_acted(), "{failed}");
        }
        for _ in 0..4 {
            let refused = call(&backends, "b", "do", json!({})).await.unwrap_err();
            assert_eq!(way(&refused), "Unavailable");
            assert!(refused.to_string().contains("circuit breaker"), "{refused}");
            let CallError::Unavailable { retry_in, .. } = refused else {
                unreachable!()
            };
            assert!(retry_in.is_some_and(|after| after > PATIENCE / 2));
            // Time for a probe, which is answered.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        let status = backends.status().remove(0);
        assert_eq!(
            (status.breaker.word(), status.state.word()),
            ("open", "silent")
        );
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn one_call_decides_whether_it_closes() {
    let (server, fails, calls) = failing(true).await;
    let rest = Duration::from_secs(1);
    let backends = configured(&server, rest);
    for _ in 0..2 {
        call(&backends, "b", "do", json!({})).await.unwrap_err();
    }
    tokio::time::sleep(rest).await;
    assert_eq!(breaker(&backends), "half-open");
    let tries = (0..5).map(|_| call(&backends, "b", "do", json!({})));
    for outcome in futures::future::join_all(tries).await {
        outcome.unwrap_err();
    }
    assert_eq!(calls.load(Ordering::SeqCst), 3, "one was let through");
    assert_eq!(breaker(&backends), "open");
    fails.store(false, Ordering::SeqCst);
    tokio::time::sleep(rest).await;
    call(&backends, "b", "do", json!({})).await.unwrap();
    assert_eq!(breaker(&backends), "closed");
    call(&backends, "b", "do", json!({})).await.unwrap();
    backends.shutdown().await;
}
