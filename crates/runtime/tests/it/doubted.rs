//! Lists that were kept and are no longer true: what is called is decided on the live ones.

use crate::world::{LEASE, PREFIX, demo, kept, kept_as, options, server, sum_config};
use onecall_engine::journal::Journal as _;
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::raw::RawReply;
use onecall_runtime::runtime::Runtime;
use onecall_workflow::lock::Lock;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// What the demo says of `add`, and what it is made to have said before.
const TRUE: &str = "Adds two numbers";
const FALSE: &str = "Steals two numbers";

/// A demo with a list that is kept in every store, as it never was.
struct Before {
    url: String,
    kept: Value,
}

impl Before {
    /// `text` is what the kept list has in the place of the other in the definition of `add`.
    async fn of(url: &str, from: &str, text: &str) -> Self {
        let mut own = Self {
            url: url.to_owned(),
            kept: Value::Null,
        };
        let first = own.start(None).await;
        first.known().await;
        own.kept = kept(&first, url).await;
        first.shutdown(Duration::ZERO).await;
        let tools = own.kept["texts"].as_array_mut().unwrap();
        let is_add = |tool: &&mut Value| tool.as_str().unwrap().contains(r#""name":"add""#);
        let add = tools.iter_mut().find(is_add).unwrap();
        let changed = add.as_str().unwrap().replace(from, text);
        assert_ne!(*add, changed.as_str(), "`{from}` is there");
        *add = changed.into();
        own
    }

    async fn start(&self, lock: Option<Lock>) -> Runtime {
        let mut server = server(&sum_config(&[("math", &self.url)], PREFIX));
        server.lock = lock;
        let journal = MemoryStore::new(Retention::default()).open(now(), LEASE);
        if !self.kept.is_null() {
            let name = kept_as(&self.url);
            journal.keep(&name, &self.kept).await.unwrap();
        }
        let mut options = options(server, Arc::new(journal));
        options.first_list_wait = Duration::from_millis(300);
        Runtime::start(options).await.unwrap()
    }

    /// The tools as they were kept, locked.
    async fn locked(&self) -> Lock {
        let runtime = self.start(None).await;
        let (lock, missing) = runtime.locked();
        assert!(missing.is_empty() && runtime.backends()[0].connects == 0);
        runtime.shutdown(Duration::ZERO).await;
        lock
    }
}

/// The sum, or the code of the failure.
async fn called(runtime: &Runtime) -> String {
    end(runtime.call(Request::new("sum", json!({ "n": 1 }))).await).await
}

async fn end(reply: Reply) -> String {
    let result = match reply {
        Reply::Passed(_) => return "passed through".to_owned(),
        Reply::Result(result) => result,
        Reply::Started(mut handle) => handle.result().await.unwrap(),
        other => panic!("{other:?}"),
    };
    let code = &result["_meta"]["dev.onecall/error"]["code"];
    let code = code.as_str().map(str::to_owned);
    code.unwrap_or_else(|| result["structuredContent"]["sum"].to_string())
}

#[tokio::test]
async fn a_lock_holds_for_the_first_call_on_a_kept_list() {
    let (url, stop) = demo().await;
    let before = Before::of(&url, TRUE, FALSE).await;
    let lock = before.locked().await;
    let runtime = before.start(Some(lock.clone())).await;
    // It is listed as it was, and connected when it is called.
    assert!(runtime.known().await.find("sum").is_some());
    assert_eq!(runtime.backends()[0].connects, 0);
    assert_eq!(called(&runtime).await, "denied.locked");
    assert_eq!(runtime.backends()[0].connects, 1);
    runtime.shutdown(Duration::ZERO).await;

    // Where nobody can look, nothing is called.
    drop(stop);
    let runtime = before.start(Some(lock)).await;
    let code = called(&runtime).await;
    assert!(code.starts_with("transport."), "{code}");
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_lock_holds_for_calls_that_are_passed_through() {
    let (url, stop) = demo().await;
    let before = Before::of(&url, TRUE, FALSE).await;
    let lock = before.locked().await;
    let runtime = before.start(Some(lock.clone())).await;
    let add = |name: &str| Request::new(name, json!({ "a": 1, "b": 2 }));
    let echo = Request::new("math_echo", json!({ "text": "hi" }));
    assert!(runtime.known().await.find("math_add").is_some());
    assert_eq!(runtime.backends()[0].connects, 0);
    let changed = end(runtime.call(add("math_add")).await).await;
    assert_eq!(changed, "denied.locked");
    assert_eq!(
        end(runtime.call(echo.clone()).await).await,
        "passed through"
    );
    let published = runtime.current();
    assert!(published.find("math_add").is_none());
    let reason = published.withheld_reason("math_add").unwrap();
    assert!(
        reason.starts_with("tool `math.add` is not as it was locked: description is"),
        "{reason}"
    );
    // Nor is there a way around it.
    let changed = end(runtime.call_backend("math", add("add")).await).await;
    assert_eq!(changed, "denied.locked");
    let raw = runtime
        .call_raw("math.add", json!({ "a": 1, "b": 2 }))
        .await;
    assert!(
        matches!(raw, RawReply::Failed { message, .. } if message.starts_with("denied.locked: "))
    );
    runtime.shutdown(Duration::ZERO).await;

    // What nobody locked is not called either.
    let runtime = before.start(Some(Lock::default())).await;
    assert_eq!(end(runtime.call(echo.clone()).await).await, "denied.locked");
    runtime.shutdown(Duration::ZERO).await;

    drop(stop);
    let runtime = before.start(Some(lock)).await;
    let code = end(runtime.call(echo).await).await;
    assert!(code.starts_with("transport."), "{code}");
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_does_not_fit_a_kept_list_may_fit_the_live_one() {
    let (url, _stop) = demo().await;
    // What is locked is true, and what is kept is not.
    let other = Before::of(&url, TRUE, FALSE).await;
    let asking = other.start(None).await;
    asking.settled_for("math_nonesuch").await;
    let (lock, _) = asking.locked();
    asking.shutdown(Duration::ZERO).await;
    assert_ne!(lock, other.locked().await);
    // Its arguments are of other types.
    let strict = Before::of(&url, r#""type":"number""#, r#""type":"array""#).await;
    for (before, lock) in [(other, Some(lock)), (strict, None)] {
        let runtime = before.start(lock.clone()).await;
        assert!(runtime.current().withheld_reason("sum").is_some());
        assert_eq!(called(&runtime).await, "2");
        runtime.shutdown(Duration::ZERO).await;

        let runtime = before.start(lock).await;
        // So it is told when the server starts.
        assert!(runtime.known().await.find("sum").is_some());
        runtime.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn what_does_not_fit_the_live_list_waits_for_nobody() {
    let (url, _stop) = demo().await;
    let before = Before::of(&url, TRUE, FALSE).await;
    let lock = before.locked().await;
    let runtime = before.start(Some(lock)).await;
    runtime.settled_for("sum").await;
    assert!(runtime.current().withheld_reason("sum").is_some());
    assert_eq!(runtime.awaited_for("sum"), Vec::<String>::new());
    runtime.shutdown(Duration::ZERO).await;
}
