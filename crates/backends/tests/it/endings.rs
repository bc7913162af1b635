//! No child is left behind: neither one that is being connected, nor one of a backend that was given up.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecall_backends::BackendOptions;
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::world::{PATIENCE, start};

/// A child that writes its number to a file and then neither reads nor answers, nor ends when it is asked to.
fn deaf(name: &str, note: &Path) -> BackendOptions {
    let script = format!(
        "trap '' TERM; echo $$ > {0}.tmp; mv {0}.tmp {0}; exec sleep 1000",
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

/// What was warned of, with its fields.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Subscriber for Told {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut told = self.0.lock().unwrap();
        let mut tell = |field: &Field, value: &dyn Debug| told.push(format!("{field}={value:?} "));
        event.record(&mut tell);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_backend_that_had_to_be_killed_is_named() {
    let told = Told::default();
    let _telling = tracing::subscriber::set_default(told.clone());
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let backends = start(vec![deaf("stubborn", &note)]);
    started(&note).await;
    let ended = tokio::time::timeout(PATIENCE, backends.shutdown()).await;
    assert!(ended.is_ok());
    let told = told.0.lock().unwrap().concat();
    assert!(told.contains("a backend had to be killed"), "{told}");
    assert!(told.contains("backend=stubborn "), "{told}");
}
