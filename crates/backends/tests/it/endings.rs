//! No child is left behind: neither one that is being connected, nor one of a backend that was given up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use onecall_backends::BackendOptions;

use crate::world::{PATIENCE, start};

/// A child that writes its number to a file and then neither reads nor answers.
fn deaf(name: &str, note: &Path) -> BackendOptions {
    let script = format!(
        "echo $$ > {0}.tmp; mv {0}.tmp {0}; exec sleep 1000",
        note.display()
    );
    let mut options = BackendOptions::stdio(name, "sh", &["-c", &script]);
    options.eager = true;
    options.grace = Duration::from_millis(20);
    options
}

/// The entry of the child among the processes, once it has started.
async fn started(note: &Path) -> PathBuf {
    let reading = async {
        loop {
            if let Ok(number) = std::fs::read_to_string(note) {
                break Path::new("/proc").join(number.trim());
            }
            tokio::task::yield_now().await;
        }
    };
    let entry = tokio::time::timeout(PATIENCE, reading).await.unwrap();
    assert!(entry.exists());
    entry
}

#[tokio::test]
async fn a_child_that_is_being_connected_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let backends = start(vec![deaf("deaf", &note)]);
    let child = started(&note).await;
    tokio::time::timeout(PATIENCE, backends.shutdown())
        .await
        .unwrap();
    assert!(!child.exists(), "{} was left behind", child.display());
}

#[tokio::test]
async fn a_child_of_a_backend_that_was_given_up_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let before = start(vec![deaf("deaf", &note)]);
    let child = started(&note).await;
    let after = before.renewed(Vec::new()).unwrap();
    after.make_current();
    drop(before);
    tokio::time::timeout(PATIENCE, after.shutdown())
        .await
        .unwrap();
    assert!(!child.exists(), "{} was left behind", child.display());
}
