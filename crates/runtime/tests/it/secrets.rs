//! What the environment gives to reach a backend with does not lie in the store.

use crate::world::{PATIENCE, PREFIX, demo, options, server_in, sum_config};
use onecall_journal::SqliteJournal;
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

async fn sum(runtime: &Runtime) -> Arc<Value> {
    let called = async {
        match runtime.call(Request::new("sum", json!({ "n": 1 }))).await {
            Reply::Result(result) => result,
            Reply::Started(mut handle) => handle.result().await.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    tokio::time::timeout(PATIENCE, called).await.unwrap()
}

/// Whether any file of a folder holds these bytes.
fn holds(folder: &Path, text: &str) -> bool {
    folder.read_dir().unwrap().any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        bytes.windows(text.len()).any(|own| own == text.as_bytes())
    })
}

#[tokio::test]
async fn a_key_in_the_url_of_a_backend_is_not_stored() {
    let (url, stop) = demo().await;
    let text = sum_config(&[("math", &format!("{url}?key=${{KEY}}"))], PREFIX);
    let server = server_in(&text, &|name| {
        (name == "KEY").then(|| "s3cr3tvalue".to_owned())
    });
    let folder = tempfile::tempdir().unwrap();
    let store = onecall_journal::Options::new(folder.path().join("runs.db"), now());
    let journal = Arc::new(SqliteJournal::open(store).unwrap());
    let runtime = Runtime::start(options(server, journal)).await.unwrap();
    runtime.settled().await;
    let answered = sum(&runtime).await;
    assert_ne!(answered["isError"], true, "{answered}");
    // Nor does a failure tell it.
    drop(stop);
    let failed = sum(&runtime).await;
    assert_eq!(failed["isError"], true, "{failed}");
    runtime.shutdown(Duration::ZERO).await;
    assert!(holds(folder.path(), "math"), "the plan is stored");
    assert!(!holds(folder.path(), "s3cr3tvalue"));
}
