//! New versions of workflows that do not fit: the version before stays published, for as long as it fits itself.

use crate::world::{PATIENCE, PREFIX, demo, server, start, sum_config};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::publish::Published;
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::time::Duration;

/// What became of the only workflow, in one word.
fn stands(published: &Published) -> &'static str {
    let is_published = published.workflows().next().is_some();
    let (outdated, withheld) = (&published.outdated, &published.withheld);
    match (is_published, outdated.len(), withheld.len()) {
        (true, 0, 0) => "published",
        (true, 1, 0) => "outdated",
        (false, 0, 1) => "withheld",
        _ => panic!("{outdated:?} {withheld:?}"),
    }
}

/// What the published workflow adds to two.
async fn adds(runtime: &Runtime) -> i64 {
    let request = Request::new("sum", json!({ "n": 2 }));
    let Reply::Started(mut handle) = runtime.call(request).await else {
        panic!("no run");
    };
    let result = handle.result().await.unwrap();
    let sum = result["structuredContent"]["sum"].as_i64();
    sum.unwrap_or_else(|| panic!("{result}")) - 2
}

async fn reload(runtime: &Runtime, text: &str) -> &'static str {
    runtime.reload(server(text)).await.unwrap();
    stands(&*runtime.settled().await)
}

/// Shows or hides the tool `extra` of the demo, and waits for the effect.
async fn toggle(runtime: &Runtime, shown: bool) {
    let mut published = runtime.published();
    runtime.call(Request::new("demo_toggle", json!({}))).await;
    let is_so = |now: &std::sync::Arc<Published>| now.find("demo_extra").is_some() == shown;
    let changed = tokio::time::timeout(PATIENCE, published.wait_for(is_so)).await;
    changed.expect("the change in time").unwrap();
}

#[tokio::test]
async fn a_version_that_does_not_fit_leaves_the_one_before_in_its_place() {
    let (url, _guard) = demo().await;
    let first = sum_config(&[("demo", &url)], PREFIX);
    let runtime = start(&first).await;
    assert_eq!(stands(&*runtime.settled().await), "published");
    // Twice: the version before is the last that fitted, not the last that was written.
    for tool in ["demo.nonesuch", "demo.neither"] {
        let unfit = first.replace("demo.add", tool).replace("b: 1", "b: 5");
        assert_eq!(reload(&runtime, &unfit).await, "outdated");
        let refused = runtime.reloads().refused.unwrap();
        let reason = format!("step `add`: no tool `{tool}`");
        assert_eq!(
            refused,
            format!("the version before of `sum` stays published: {reason}")
        );
        assert_eq!(adds(&runtime).await, 1);
    }
    let fit = first.replace("b: 1", "b: 7");
    assert_eq!(reload(&runtime, &fit).await, "published");
    assert_eq!(adds(&runtime).await, 7);
    assert_eq!(runtime.reloads().refused, None);
    // What the files no longer hold is gone, and nothing of it comes back.
    let renamed = first.replace("name: sum", "name: total");
    assert_eq!(reload(&runtime, &renamed).await, "published");
    let unfit = first.replace("demo.add", "demo.nonesuch");
    assert_eq!(reload(&runtime, &unfit).await, "withheld");
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_version_whose_tool_goes_away_is_withheld_though_one_before_would_fit() {
    let (url, _guard) = demo().await;
    let first = sum_config(&[("demo", &url)], PREFIX);
    let runtime = start(&first).await;
    assert_eq!(stands(&*runtime.settled().await), "published");
    let later = first.replace("demo.add", "demo.extra");
    let later = later.replace("a: \"{{ .params.n }}\", b: 1", "");
    // Unfit when it is written, it takes its place once it fits.
    assert_eq!(reload(&runtime, &later).await, "outdated");
    toggle(&runtime, true).await;
    assert_eq!(stands(&runtime.published_now()), "published");
    toggle(&runtime, false).await;
    assert_eq!(stands(&runtime.published_now()), "withheld");
    // Where the version before goes as well, nothing is left.
    assert_eq!(reload(&runtime, &first).await, "published");
    let none = first.replace("name: demo,", "name: other,");
    assert_eq!(reload(&runtime, &none).await, "withheld");
    runtime.shutdown(Duration::ZERO).await;
}
