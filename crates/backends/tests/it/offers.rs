//! Resources and prompts of one backend: lists that are kept while they hold, and updates, in both eras.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use onecall_backends::{BackendName, BackendOptions, ListKind};
use onecall_mcp::Era;
use onecall_testkit::faulty::{Reply, Server, answer, done, modern};
use serde_json::json;

use crate::world::{PATIENCE, call, start, stdio, way};

#[tokio::test]
async fn lists_and_updates_are_told_in_both_eras() {
    for era in [Era::Modern, Era::Legacy] {
        let mut demo = stdio("demo", &["demo", "--changing"]);
        demo.era = Some(era);
        let backends = start(vec![demo]);
        let name = BackendName::from("demo");
        let resources = backends.list(&name, ListKind::Resources).await.unwrap();
        let prompts = backends.list(&name, ListKind::Prompts).await.unwrap();
        let templates = backends.list(&name, ListKind::ResourceTemplates).await;
        let counts = (resources.len(), prompts.len(), templates.unwrap().len());
        assert_eq!(counts, (5, 1, 1), "{era:?}");
        let mut changes = backends.changes();
        let before = *changes.borrow_and_update();
        call(&backends, "demo", "toggle", json!({})).await.unwrap();
        let all = changes.wait_for(|now| {
            now.tools > before.tools
                && now.resources > before.resources
                && now.prompts > before.prompts
        });
        tokio::time::timeout(PATIENCE, all).await.unwrap().unwrap();
        let resources = backends.list(&name, ListKind::Resources).await.unwrap();
        assert_eq!(resources.len(), 6, "{era:?}");

        let mut updates = backends.updates();
        let kept = backends.subscribe(&name, "demo://kept/k").await.unwrap();
        for key in ["other", "k"] {
            let put = json!({ "key": key, "value": 1 });
            call(&backends, "demo", "put", put).await.unwrap();
        }
        let update = tokio::time::timeout(PATIENCE, updates.recv()).await;
        let update = update.unwrap().unwrap();
        assert_eq!((&update.backend, &*update.uri), (&name, "demo://kept/k"));
        drop(kept);
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_subscription_outlives_its_connection() {
    let backends = start(vec![stdio("news", &["news"])]);
    let name = BackendName::from("news");
    let mut updates = backends.updates();
    let _subscription = backends.subscribe(&name, "x://1").await.unwrap();
    let mut next = async || tokio::time::timeout(PATIENCE, updates.recv()).await;
    assert_eq!(&*next().await.unwrap().unwrap().uri, "x://1");
    let died = call(&backends, "news", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&died), "UnknownOutcome");
    assert_eq!(&*next().await.unwrap().unwrap().uri, "x://1");
    assert_eq!(backends.status()[0].connects, 2);
    backends.shutdown().await;
}

#[tokio::test]
async fn updates_that_nobody_asked_for_are_told_to_nobody() {
    let well_behaved = modern(done);
    let server = Server::start(move |seen| {
        if seen.body["method"] != "subscriptions/listen" {
            return well_behaved(seen);
        }
        let told = |(method, params): (&str, serde_json::Value)| {
            let method = format!("notifications/{method}");
            let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            format!("data: {message}\n\n")
        };
        let tag = json!({ "io.modelcontextprotocol/subscriptionId": seen.body["id"] });
        let events = [
            ("subscriptions/acknowledged", json!({ "_meta": tag })),
            ("resources/updated", json!({ "uri": "x://other" })),
            ("resources/updated", json!({ "uri": "x://1", "own": 1 })),
        ];
        Reply::Events(events.map(told).to_vec())
    })
    .await;
    let backends = start(vec![BackendOptions::http("b", &server.url)]);
    let mut updates = backends.updates();
    let _kept = backends.subscribe(&"b".into(), "x://1").await.unwrap();
    let first = tokio::time::timeout(PATIENCE, updates.recv()).await;
    assert_eq!(
        &*first.unwrap().unwrap().params,
        r#"{"uri":"x://1","own":1}"#
    );
    backends.shutdown().await;
}

/// A modern server with one prompt, whose list lasts as long as it says.
async fn prompts(ttl_ms: u64) -> Server {
    let well_behaved = modern(done);
    Server::start(move |seen| {
        let capabilities = json!({ "prompts": { "listChanged": false } });
        let result = match seen.body["method"].as_str() {
            Some("server/discover") => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities })
            }
            Some("prompts/list") => json!({ "prompts": [{ "name": "p" }], "ttlMs": ttl_ms }),
            _ => return well_behaved(seen),
        };
        Reply::Json(200, Vec::new(), answer(seen, "result", result))
    })
    .await
}

#[tokio::test]
async fn a_list_is_read_again_only_when_it_has_run_out() {
    for (ttl_ms, reads) in [(600_000, 1), (0, 3)] {
        let server = prompts(ttl_ms).await;
        let backends = start(vec![BackendOptions::http("b", &server.url)]);
        for _ in 0..3 {
            backends.list(&"b".into(), ListKind::Prompts).await.unwrap();
        }
        let listed = server.methods();
        let listed = listed.iter().filter(|method| *method == "prompts/list");
        assert_eq!(listed.count(), reads, "{ttl_ms}");
        backends.shutdown().await;
    }
}

fn sizes(lists: &[(BackendName, Arc<[onecall_mcp::Exact]>)]) -> Vec<usize> {
    lists.iter().map(|(_, entries)| entries.len()).collect()
}

#[tokio::test]
async fn a_backend_that_takes_long_delays_the_lists_of_others_once() {
    let (quick, slow) = (prompts(600_000).await, Server::start(|_| Reply::Hang).await);
    let backends = start(vec![
        BackendOptions::http("slow", &slow.url),
        BackendOptions::http("quick", &quick.url),
    ]);
    let (quick, soon) = (BackendName::from("quick"), Duration::from_millis(2));
    for kind in [ListKind::Prompts, ListKind::Resources] {
        backends.list(&quick, kind).await.unwrap();
    }
    let waited = backends.lists(ListKind::Prompts, soon).await;
    assert_eq!(sizes(&waited), [0, 1]);
    for kind in [ListKind::Prompts, ListKind::Resources] {
        let at_once = backends.lists(kind, soon).now_or_never();
        assert!(at_once.is_some(), "{kind:?}: it was waited for already");
    }
    backends.shutdown().await;
}

#[tokio::test]
async fn a_backend_that_has_failed_is_not_waited_for() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", nobody.local_addr().unwrap());
    drop(nobody);
    let backends = start(vec![BackendOptions::http("gone", &url)]);
    backends.settle(PATIENCE).await;
    for _ in 0..3 {
        let lists = backends.lists(ListKind::Prompts, PATIENCE).now_or_never();
        assert_eq!(sizes(&lists.expect("nobody waits")), [0]);
    }
    backends.shutdown().await;
}

#[tokio::test]
async fn a_list_that_leads_back_is_not_read_for_ever() {
    let well_behaved = modern(done);
    let server = Server::start(move |seen| {
        let page = match seen.body["method"].as_str() {
            Some("server/discover") => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "prompts": {} } })
            }
            Some("prompts/list") => {
                let cursor = seen.body["params"]["cursor"].as_str();
                let next = if cursor == Some("a") { "b" } else { "a" };
                json!({ "prompts": [{ "name": "p" }], "nextCursor": next })
            }
            _ => return well_behaved(seen),
        };
        Reply::Json(200, Vec::new(), answer(seen, "result", page))
    })
    .await;
    let backends = start(vec![BackendOptions::http("b", &server.url)]);
    let listed = backends.list(&"b".into(), ListKind::Prompts).await.unwrap();
    assert_eq!(listed.len(), 3);
    backends.shutdown().await;
}
