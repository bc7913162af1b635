//! Starting with backends that are slow, dead or known from before: nothing waits for them, nothing is unfit for them.

use crate::world::{LEASE, PATIENCE, PREFIX, demo, gate, kept, options, server, sum_config};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::publish::Target;
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// A workflow over `add` of a demo at this URL.
fn sum(url: &str) -> String {
    sum_config(&[("math", url)], PREFIX)
}

async fn on(store: &MemoryStore, text: &str) -> Runtime {
    let journal = Arc::new(store.open(now(), LEASE));
    let mut options = options(server(text), journal);
    options.first_list_wait = Duration::from_millis(300);
    Runtime::start(options).await.unwrap()
}

fn is_bound(runtime: &Runtime) -> Option<bool> {
    let published = Arc::clone(&runtime.published().borrow());
    match &published.find("sum")?.target {
        Target::Workflow(workflow) => Some(workflow.plan.is_some()),
        Target::Backend { .. } => None,
    }
}

async fn failure(runtime: &Runtime) -> String {
    let result = match runtime.call(Request::new("sum", json!({ "n": 1 }))).await {
        Reply::Result(result) => result,
        Reply::Started(mut handle) => handle.result().await.unwrap(),
        other => panic!("{other:?}"),
    };
    let code = result.pointer("/_meta/dev.onecall~1error/code");
    code.unwrap_or_else(|| panic!("{result}"))
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn the_last_catalog_is_kept_for_the_next_start() {
    let store = MemoryStore::new(Retention::default());
    let (url, stop) = demo().await;
    let first = on(&store, &sum(&url)).await;
    assert_eq!(is_bound(&first), Some(false));
    let mut published = first.published();
    first.settled().await;
    assert_eq!(is_bound(&first), Some(true));
    // The list is kept after it is published.
    kept(&first, &url).await;
    published.mark_unchanged();
    first.shutdown(Duration::ZERO).await;
    drop(stop);

    let second = on(&store, &sum(&url)).await;
    assert_eq!(
        is_bound(&second),
        Some(true),
        "from the store, before any connection"
    );
    let listed = second.published().borrow().find("math_add").is_some();
    assert!(listed, "tools of the backend as well");
    second.settled().await;
    assert_eq!(is_bound(&second), Some(true));
    let code = failure(&second).await;
    assert!(code.starts_with("transport."), "{code}");
    second.shutdown(Duration::ZERO).await;

    let (other, _stop) = demo().await;
    let third = on(&store, &sum(&other)).await;
    assert_eq!(
        is_bound(&third),
        Some(false),
        "another server starts unknown"
    );
    third.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_backend_that_is_known_and_has_other_tools_now_is_listed_with_them() {
    let store = MemoryStore::new(Retention::default());
    let (url, _stop) = demo().await;
    let first = on(&store, &sum(&url)).await;
    assert!(first.settled().await.find("math_extra").is_none());
    kept(&first, &url).await;
    first.shutdown(Duration::ZERO).await;

    let other = on(&MemoryStore::new(Retention::default()), &sum(&url)).await;
    let toggled = other.call(Request::new("math_toggle", json!({}))).await;
    assert!(matches!(toggled, Reply::Passed(_)), "{toggled:?}");
    other.shutdown(Duration::ZERO).await;

    let second = on(&store, &sum(&url)).await;
    assert!(
        second.current().find("math_add").is_some(),
        "as it was kept"
    );
    assert!(second.current().find("math_extra").is_none());
    assert!(second.settled().await.find("math_extra").is_some());
    second.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_backend_that_is_known_and_hangs_is_connected_and_waited_for_shortly() {
    let store = MemoryStore::new(Retention::default());
    let (url, stop) = demo().await;
    let first = on(&store, &sum(&url)).await;
    first.settled().await;
    kept(&first, &url).await;
    first.shutdown(Duration::ZERO).await;
    drop(stop);

    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let hanging = async {
        loop {
            if let Ok(listener) = TcpListener::bind(address).await {
                return listener;
            }
            tokio::task::yield_now().await;
        }
    };
    let hanging = tokio::time::timeout(PATIENCE, hanging).await.unwrap();
    let journal = Arc::new(store.open(now(), LEASE));
    let mut options = options(server(&sum(&url)), journal);
    options.first_list_wait = PATIENCE;
    let second = Runtime::start(options).await.unwrap();
    let began = Instant::now();
    assert!(second.settled().await.find("math_add").is_some());
    assert!(began.elapsed() < PATIENCE / 2);
    // A list that differs would be told of when it is there.
    let connected = tokio::time::timeout(PATIENCE, hanging.accept()).await;
    assert!(connected.unwrap().is_ok());
    second.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_backend_that_is_known_is_connected_when_it_is_needed() {
    let store = MemoryStore::new(Retention::default());
    let (url, _stop) = demo().await;
    let first = on(&store, &sum(&url)).await;
    let connects = |runtime: &Runtime| runtime.backends()[0].connects;
    assert!(first.known().await.find("math_add").is_some());
    assert_eq!(connects(&first), 1, "once, to learn its list");
    kept(&first, &url).await;
    first.shutdown(Duration::ZERO).await;

    let second = on(&store, &sum(&url)).await;
    assert!(second.known().await.find("math_add").is_some());
    assert_eq!(connects(&second), 0);
    // Another version of the files does not need it either.
    second.reload(server(&sum(&url))).await.unwrap();
    assert_eq!(connects(&second), 0);
    let arguments = json!({ "a": 1, "b": 1 });
    let added = second.call(Request::new("math_add", arguments)).await;
    assert!(matches!(added, Reply::Passed(_)), "{added:?}");
    assert_eq!(connects(&second), 1);
    second.shutdown(Duration::ZERO).await;

    let third = on(&store, &sum(&url).replace("math.add", "math.gone")).await;
    let reason = third
        .known()
        .await
        .withheld_reason("sum")
        .map(str::to_owned);
    assert!(reason.is_some_and(|reason| reason.contains("math.gone")));
    assert_eq!(
        connects(&third),
        1,
        "what it was said not to have, it may have now"
    );
    third.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_backend_that_was_never_seen_withholds_nothing() {
    let store = MemoryStore::new(Retention::default());
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", gone.local_addr().unwrap());
    drop(gone);
    let runtime = on(&store, &sum(&url)).await;
    let published = runtime.settled().await;
    assert_eq!(
        (is_bound(&runtime), published.withheld.len()),
        (Some(false), 0)
    );
    let code = failure(&runtime).await;
    assert!(code.starts_with("transport."), "{code}");
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_silent_backend_delays_neither_the_start_nor_the_others() {
    let store = MemoryStore::new(Retention::default());
    // Connections are taken and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, _stop) = demo().await;
    let text = format!(
        "backends:\n  silent: {{ url: \"http://{}/mcp\", eager: true }}\n  good: {{ url: \"{url}\" }}\n",
        silent.local_addr().unwrap()
    );
    let began = Instant::now();
    let runtime = on(&store, &text).await;
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    let published = runtime.settled().await;
    assert!(published.find("good_add").is_some());
    let added = runtime
        .call(Request::new("good_add", json!({ "a": 1, "b": 1 })))
        .await;
    assert!(matches!(added, Reply::Passed(_)), "{added:?}");
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_call_waits_for_the_backend_that_it_names() {
    let (url, _stop) = demo().await;
    for name in ["math_add", "sum", "add"] {
        let store = MemoryStore::new(Retention::default());
        let opened = Arc::new(Semaphore::new(0));
        let runtime = on(&store, &sum(&gate(&url, Arc::clone(&opened)).await)).await;
        let arguments = json!({ "a": 1, "b": 1, "n": 1 });
        let call = tokio::spawn({
            let runtime = runtime.clone();
            async move { runtime.call(Request::new(name, arguments)).await }
        });
        // The moment that lists wait is over.
        assert!(runtime.settled().await.find("math_add").is_none());
        runtime.settled().await;
        assert_eq!(call.is_finished(), name == "add", "{name}");
        opened.add_permits(Semaphore::MAX_PERMITS);
        match call.await.unwrap() {
            Reply::Passed(_) => assert_eq!(name, "math_add"),
            Reply::Started(_) => assert_eq!(name, "sum"),
            // No backend is named: it need not be there at all.
            Reply::UnknownTool => assert_eq!(name, "add"),
            other => panic!("{name}: {other:?}"),
        }
        runtime.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_tool_of_a_backend_that_is_not_there_says_so() {
    // Nobody listens where this was.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", free.local_addr().unwrap());
    drop(free);
    let store = MemoryStore::new(Retention::default());
    let priority =
        "  conflictResolution: priority\n  conflictResolutionConfig: { priorityOrder: [math] }\n";
    for (aggregation, told, unknown) in [
        (
            PREFIX,
            vec!["math_add", "math.add"],
            vec!["add", "mathadd", "math_", "math."],
        ),
        (priority, vec!["math.add"], vec!["add", "math_add"]),
    ] {
        let runtime = on(&store, &sum_config(&[("math", &url)], aggregation)).await;
        for name in told {
            let reply = runtime.call(Request::new(name, json!({}))).await;
            let Reply::Result(result) = reply else {
                panic!("{name}: {reply:?}");
            };
            let failure = &result["_meta"]["dev.onecall/error"];
            assert_eq!(failure["code"], "transport.unavailable", "{result}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("backend `math`"), "{text}");
            assert!(text.contains("not connected: "), "{text}");
        }
        for name in unknown {
            let reply = runtime.call(Request::new(name, json!({}))).await;
            assert!(matches!(reply, Reply::UnknownTool), "{name}: {reply:?}");
        }
        runtime.shutdown(Duration::ZERO).await;
    }
}
