//! What a configuration says of names and visibility, and what clients then see and workflows can still use.

use crate::world::{PREFIX, demo, start, sum_config};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::time::Duration;

/// A server over two demos with one workflow that calls `add` of the first, and this aggregation.
async fn with(aggregation: &str) -> (Runtime, Vec<tokio_util::sync::DropGuard>) {
    let (a, stop_a) = demo().await;
    let (b, stop_b) = demo().await;
    let text = sum_config(&[("a", &a), ("b", &b)], aggregation);
    let runtime = start(&text).await;
    runtime.settled().await;
    (runtime, vec![stop_a, stop_b])
}

/// The names that clients see, of those that end like this.
fn seen(runtime: &Runtime, ending: &str) -> Vec<String> {
    let published = runtime.published().borrow().clone();
    let names = published.tools.iter().map(|tool| tool.name.clone());
    names.filter(|name| name.ends_with(ending)).collect()
}

/// The workflow works, whatever is hidden.
async fn sum(runtime: &Runtime) {
    let called = runtime.call(Request::new("sum", json!({ "n": 2 }))).await;
    let Reply::Started(mut handle) = called else {
        panic!("{called:?}")
    };
    let result = handle.result().await.unwrap();
    assert_eq!(result["structuredContent"], json!({ "sum": 3 }), "{result}");
}

#[tokio::test]
async fn hidden_tools_stay_usable_in_workflows() {
    for (rule, adds) in [
        ("  excludeAllTools: true\n", &[][..]),
        ("  tools: [{ workload: a, excludeAll: true }]\n", &["b_add"]),
        ("  tools: [{ workload: a, filter: [echo] }]\n", &["b_add"]),
        (
            "  defaultToolVisibility: deny\n  tools: [{ workload: b, filter: [add] }]\n",
            &["b_add"],
        ),
        ("", &["a_add", "b_add"]),
    ] {
        let (runtime, _stop) = with(&format!("{PREFIX}{rule}")).await;
        assert_eq!(seen(&runtime, "add"), *adds, "{rule}");
        assert_eq!(seen(&runtime, "sum"), ["sum"], "{rule}");
        sum(&runtime).await;
        let direct = runtime
            .call(Request::new("a_add", json!({ "a": 1, "b": 1 })))
            .await;
        let is_hidden = !adds.contains(&"a_add");
        assert_eq!(matches!(direct, Reply::UnknownTool), is_hidden, "{rule}");
        runtime.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn strategies_and_overrides_name_what_clients_see() {
    let renamed =
        "  tools: [{ workload: b, overrides: { add: { name: plus, description: New. } } }]\n";
    let prioritised =
        "  conflictResolution: priority\n  conflictResolutionConfig: { priorityOrder: [b, a] }\n";
    let by_hand =
        format!("  conflictResolution: manual\n  conflictResolutionConfig: {{}}\n{renamed}");
    for (aggregation, adds) in [
        (format!("{PREFIX}{renamed}"), &["a_add", "b_plus"][..]),
        (prioritised.to_owned(), &["add"]),
        (by_hand, &["add", "plus"]),
    ] {
        let (runtime, _stop) = with(&aggregation).await;
        let mut names = seen(&runtime, "add");
        names.extend(seen(&runtime, "plus"));
        assert_eq!(names, *adds, "{aggregation}");
        sum(&runtime).await;
        runtime.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_tool_that_lost_its_name_is_called_by_its_backend() {
    let order =
        "  conflictResolution: priority\n  conflictResolutionConfig: { priorityOrder: [b, a] }\n";
    let hidden = "  tools: [{ workload: a, filter: [echo] }]\n";
    for (rule, is_reached) in [
        ("", true),
        (hidden, false),
        ("  excludeAllTools: true\n", false),
    ] {
        let (runtime, _stop) = with(&format!("{order}{rule}")).await;
        let call = async |name: &str| {
            let arguments = json!({ "a": 1, "b": 1 });
            runtime.call(Request::new(name, arguments)).await
        };
        let lost = call("a.add").await;
        assert_eq!(
            matches!(lost, Reply::Passed(_)),
            is_reached,
            "{rule}{lost:?}"
        );
        assert_eq!(matches!(lost, Reply::UnknownTool), !is_reached, "{rule}");
        // The one that kept its name has that name only.
        assert!(matches!(call("b.add").await, Reply::UnknownTool), "{rule}");
        assert!(!seen(&runtime, "add").contains(&"a.add".to_owned()));
        runtime.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn expose_workflows_shows_workflows_only() {
    let (url, _stop) = demo().await;
    let text = format!("expose: workflows\nbackends:\n  a: {{ url: \"{url}\" }}\n");
    let runtime = start(&text).await;
    let published = runtime.settled().await;
    assert_eq!(published.tools.len(), 0);
    assert!(
        runtime.catalog().tools.len() > 5,
        "workflows could use them"
    );
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_has_not_changed_is_not_published_again() {
    let (runtime, _stop) = with(PREFIX).await;
    let first = runtime.settled().await;
    let again = runtime.settled().await;
    assert!(std::sync::Arc::ptr_eq(&first, &again));
    runtime.shutdown(Duration::ZERO).await;
}
