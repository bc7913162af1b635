//! What lies on disk today must be read by every later build: one event of each kind, and a whole store.
//! `ONECALL_WRITE_TEST_DATA=1 cargo test -p onecall-journal golden` writes the store; a released one is never rewritten.

use crate::open::{Options, open};
use crate::record::{DecodeError, FORM, decode, encode};
use crate::seal::{SealKey, Sealer};
use crate::suite::samples::{append, at, cancel, ending, id, new_run, note, returned};
use onecall_engine::event::{Event, What};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{Filter, Journal, Phase};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many of the events the store was written with; later kinds stand after them.
const IN_STORE: usize = 31;

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("test-data/v1")
        .join(name)
}

fn is_writing() -> bool {
    std::env::var_os("ONECALL_WRITE_TEST_DATA").is_some()
}

/// Events of every kind and with every kind of part, as the first version wrote them.
fn every_kind() -> Vec<Event> {
    let lines = std::fs::read(place("events.jsonl")).unwrap();
    let run = RunId::new("a");
    let sealer = Sealer::new(key());
    decode::<DecodeError>(FORM, &lines, sealer.of(&run), &mut |_| Ok(None)).unwrap()
}

#[test]
fn golden_events_are_read_and_written_as_ever() {
    let events = every_kind();
    let kinds: BTreeSet<&str> = events.iter().map(|event| event.what.kind()).collect();
    assert_eq!(kinds, What::KINDS.iter().copied().collect());
    // Whatever were lost in reading would be missing here.
    assert_eq!(
        String::from_utf8(encode(&events, None).unwrap().lines).unwrap(),
        std::fs::read_to_string(place("events.jsonl")).unwrap()
    );
}

/// A finished run with a long value, one that was running, one that waits, and a command to it.
async fn fill(journal: &Arc<dyn Journal>) {
    let long = returned(json!({"long": "x".repeat(70_000)}));
    for name in ["finished", "running", "parked"] {
        journal
            .create(new_run(name), vec![note("start")])
            .await
            .unwrap();
    }
    let events = vec![long, returned(json!([1.5, "two"]))];
    journal.append(append("finished", 1, events)).await.unwrap();
    journal.append(ending("finished", 3, 7)).await.unwrap();
    journal
        .append(append("running", 1, every_kind()[..IN_STORE].to_vec()))
        .await
        .unwrap();
    journal.park(&id("parked"), Some(at(5))).await.unwrap();
    journal.tell(cancel("parked")).await.unwrap();
    journal
        .keep("catalog", &json!({"tools": ["echo"]}))
        .await
        .unwrap();
}

/// The key lies beside no golden file, so it is given.
fn key() -> SealKey {
    SealKey::from([7; 32])
}

fn options(path: &Path, now: Timestamp) -> Options {
    Options {
        seal_key: Some(key()),
        ..Options::new(path, now)
    }
}

async fn write_store(file: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let journal = open(options(&path, at(0))).unwrap();
    fill(&journal).await;
    drop(journal);
    // Compacted on the next opening; nothing of the machine that wrote it stays.
    let journal = open(options(&path, at(0))).unwrap();
    let sql = rusqlite::Connection::open(&path).unwrap();
    let is_compacted = || -> bool {
        sql.query_row("SELECT EXISTS (SELECT 1 FROM archive)", [], |row| {
            row.get(0)
        })
        .unwrap()
    };
    while !is_compacted() {
        std::thread::yield_now();
    }
    drop(journal);
    sql.execute(
        "UPDATE owners SET host = NULL, pid = NULL, process_started = NULL",
        [],
    )
    .unwrap();
    let _ = std::fs::remove_file(file);
    sql.execute("VACUUM INTO ?1", [file.to_str().unwrap()])
        .unwrap();
}

#[tokio::test]
async fn golden_store_is_resumed() {
    let file = place("runs.sqlite");
    if is_writing() {
        write_store(&file).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    std::fs::copy(&file, &path).unwrap();
    // A checkout is readable by others, and a store may not be.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, private).unwrap();
    let now: Timestamp = at(6);
    let journal = open(options(&path, now)).unwrap();

    let finished = journal.load(&id("finished")).await.unwrap().unwrap();
    assert_eq!(finished.events.len(), 4);
    assert_eq!(
        finished.events[1],
        returned(json!({"long": "x".repeat(70_000)}))
    );
    assert_eq!(finished.summary.phase, Phase::Completed);
    assert_eq!(finished.summary.ended, Some(at(7)));
    assert_eq!(
        journal.claimable(now).await.unwrap(),
        [id("running"), id("parked")]
    );
    let running = journal.claim(&id("running"), now).await.unwrap().unwrap();
    assert_eq!(running.events[1..], every_kind()[..IN_STORE]);
    let next = running.events.len() as u64;
    journal
        .append(append("running", next, vec![note("on")]))
        .await
        .unwrap();
    assert_eq!(journal.commands(now).await.unwrap(), [cancel("parked")]);
    assert_eq!(
        journal.kept("catalog").await.unwrap(),
        Some(json!({"tools": ["echo"]}))
    );
    assert_eq!(journal.list(Filter::default()).await.unwrap().len(), 3);
}
