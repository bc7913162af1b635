//! The names of workflow files: the prefix that is listed, the other spellings that can be called, and what is in their way.

use crate::world::{LEASE, demo, options, server};
use onecall_config::settings::Names;
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::now;
use onecall_runtime::publish::{Published, Target};
use onecall_runtime::runtime::Runtime;
use std::sync::Arc;

/// What is published of a workflow `add` beside the tool `add` of a backend, with this in `onecall.yaml` and the
/// prefix that the transport sets where the files set none.
async fn published(backend: &str, onecall: &str, transport: Option<&str>) -> Arc<Published> {
    let (url, _stop) = demo().await;
    let text = format!(
        "backends: {{ {backend}: {{ url: \"{url}\" }} }}\n{onecall}---\nworkflow: add\nsteps: {{ s: {{ tool: {backend}.add, with: {{ a: 1, b: 2 }} }} }}\n"
    );
    let mut server = server(&text);
    if let Some(prefix) = transport {
        let names = &mut server.names.prefix;
        names.get_or_insert_with(|| prefix.to_owned());
    }
    let store = MemoryStore::new(Retention::default());
    let journal = Arc::new(store.open(now(), LEASE));
    let runtime = Runtime::start(options(server, journal)).await.unwrap();
    runtime.settled().await
}

/// The name of the workflow in the list.
fn listed(published: &Published) -> Vec<&str> {
    published
        .workflows()
        .map(|tool| tool.name.as_str())
        .collect()
}

/// What answers to a name.
fn answers(published: &Published, name: &str) -> &'static str {
    match published.find(name).map(|tool| &tool.target) {
        None => "nothing",
        Some(Target::Workflow(_)) => "workflow",
        Some(Target::Backend { .. }) => "backend",
    }
}

#[tokio::test]
async fn every_spelling_is_the_workflow_and_one_is_listed() {
    for (onecall, transport, name) in [
        ("", None, "workflow:add"),
        ("", Some(Names::PLAIN), "workflow_add"),
        ("names: { prefix: p_ }\n", None, "p_add"),
        ("names: { prefix: p_ }\n", Some(Names::PLAIN), "p_add"),
        ("names: { prefix: \"\" }\n", None, "add"),
    ] {
        let published = published("demo", onecall, transport).await;
        assert_eq!(listed(&published), [name]);
        for spelling in [name, "workflow:add", "workflow_add", "add"] {
            assert_eq!(
                answers(&published, spelling),
                "workflow",
                "{name} {spelling}"
            );
        }
        assert_eq!(answers(&published, "other:add"), "nothing");
    }
}

#[tokio::test]
async fn a_listed_tool_keeps_its_name() {
    let over_http = published("workflow", "", None).await;
    assert_eq!(listed(&over_http), ["workflow:add"]);
    assert_eq!(answers(&over_http, "workflow_add"), "backend");
    assert_eq!(answers(&over_http, "add"), "workflow");

    // The name of the workflow is taken: no spelling of it leads to the tool that took it.
    let over_stdio = published("workflow", "", Some(Names::PLAIN)).await;
    assert!(listed(&over_stdio).is_empty());
    assert_eq!(answers(&over_stdio, "workflow_add"), "backend");
    for spelling in ["workflow:add", "add"] {
        assert_eq!(answers(&over_stdio, spelling), "nothing", "{spelling}");
        let reason = over_stdio.withheld_reason(spelling).unwrap();
        assert!(reason.contains("`workflow_add` already"), "{reason}");
    }
}

#[tokio::test]
async fn a_tool_that_nobody_sees_is_in_nobodys_way() {
    let published = published("workflow", "expose: workflows\n", Some(Names::PLAIN)).await;
    assert_eq!(listed(&published), ["workflow_add"]);
    assert_eq!(answers(&published, "workflow_add"), "workflow");
    assert!(published.withheld.is_empty());
}
