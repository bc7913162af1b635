//! Labels of runs: what the workflow says and what its caller adds.

use crate::world::start;
use onecall_engine::journal::Filter;
use onecall_runtime::calls::{Reply, Request};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

#[tokio::test]
async fn a_run_has_the_labels_of_its_workflow_and_of_its_caller() {
    let text = "workflow: nothing\nversion: 1.2.0\nlabels: { team: docs, stage: test }\n\
                steps: { s: { mock: 1, tool: none.none } }\n";
    let runtime = start(text).await;
    let mut request = Request::new("nothing", json!({}));
    let own = [("stage", "real"), ("who", "me")];
    request.labels = own.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let reply = runtime.call(request).await;
    let Reply::Started(mut handle) = reply else {
        panic!("{reply:?}");
    };
    let result = handle.result().await.unwrap();
    let of_workflow = json!({ "team": "docs", "stage": "test" });
    assert_eq!(result["_meta"]["dev.onecall/labels"], of_workflow);
    let published = runtime.current();
    let tool = published.find("nothing").unwrap().definition.object();
    let about = json!({ "dev.onecall/version": "1.2.0", "dev.onecall/labels": of_workflow });
    assert_eq!(tool["_meta"], about);
    let runs = runtime.journal().list(Filter::default()).await.unwrap();
    let wanted = [("stage", "real"), ("team", "docs"), ("who", "me")];
    let wanted: BTreeMap<_, _> = wanted.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    assert_eq!(runs[0].labels, wanted);
    runtime.shutdown(Duration::ZERO).await;
}
