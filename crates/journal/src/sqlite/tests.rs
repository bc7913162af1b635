//! What only the store in SQLite does: its file, flushes, compaction, retention of values, a full disk.

mod processes;

use super::*;
use crate::private::ChosenBy;
use crate::suite::samples::{append, at, ending, id, mark, new_run, note, refusal, returned};
use onecall_engine::event::{Outcome, What};
use onecall_engine::identity::Slot;
use onecall_engine::inquiry::{Inquiry, Way};
use onecall_engine::journal::Phase;
use rusqlite::Connection;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("state").join("runs.db")
    }

    fn options(&self) -> Options {
        Options::new(self.file(), at(0))
    }

    fn open(&self) -> SqliteJournal {
        SqliteJournal::open(self.options()).unwrap()
    }

    fn sql(&self) -> Connection {
        Connection::open(self.file()).unwrap()
    }

    fn count(&self, table: &str) -> u64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.sql().query_row(&sql, [], |row| row.get(0)).unwrap()
    }
}

async fn start(journal: &SqliteJournal, name: &str) {
    journal
        .create(new_run(name), vec![note("start")])
        .await
        .unwrap();
}

async fn compact(journal: &SqliteJournal) {
    while journal
        .write("compact", Weight::default(), |session: &mut Session<'_>| {
            session.compact()
        })
        .await
        .unwrap()
    {}
}

fn refused(path: &Path) -> String {
    if path.is_file() {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    SqliteJournal::open(Options::new(path, at(0)))
        .unwrap_err()
        .to_string()
}

#[tokio::test]
async fn only_the_user_may_read_the_files() {
    let place = Place::new();
    let journal = place.open();
    start(&journal, "a").await;
    for file in ["runs.db", "runs.db-wal", "runs.db-shm"] {
        let path = place.file().with_file_name(file);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn files_that_others_can_access_or_planted_links_are_refused() {
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let place = Place::new();
    drop(place.open());
    let store = place.file();
    let open = |chosen_by| {
        let options = Options {
            chosen_by,
            ..Options::new(&store, at(0))
        };
        SqliteJournal::open(options).map(drop)
    };
    assert!(open(ChosenBy::Program).is_ok());
    for file in ["runs.db", "runs.db.key", "runs.db-wal"] {
        let path = store.with_file_name(file);
        let is_key = file == "runs.db.key";
        for (mode, by_program, by_user) in [
            (0o644, false, false),
            (0o660, false, !is_key),
            (0o640, false, true),
            (0o600, true, true),
        ] {
            if !path.exists() {
                std::fs::write(&path, "").unwrap();
            }
            set(&path, mode);
            let found = open(ChosenBy::Program);
            assert_eq!(found.is_ok(), by_program, "{file} {mode:o} {found:?}");
            if path.exists() {
                let found = open(ChosenBy::User);
                assert_eq!(found.is_ok(), by_user, "{file} {mode:o} {found:?}");
            }
        }
    }
    let moved = store.with_file_name("moved.db");
    std::fs::rename(&store, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &store).unwrap();
    assert!(open(ChosenBy::Program).is_err());
    assert!(open(ChosenBy::User).is_ok());
}

/// From the moment a tool asks for it, in whichever way.
#[tokio::test]
async fn what_a_tool_asks_for_in_secret_is_sealed() {
    let schema = json!({ "properties": { "pin": { "type": "string", "format": "password" } } });
    let request =
        json!({ "method": "elicitation/create", "params": { "requestedSchema": schema } });
    let call = Slot::of_step(0).attempt(0);
    let live = What::CallAsked {
        call,
        key: "q".to_owned(),
        request: Arc::new(request.clone()),
    };
    let inquiry = Inquiry {
        requests: [("q".to_owned(), request)].into_iter().collect(),
        state: None,
        way: Way::Repeated,
    };
    let repeated = What::AttemptEnded {
        call,
        outcome: Outcome::Asks(Arc::new(inquiry)),
    };
    let place = Place::new();
    let journal = place.open();
    for (name, what) in [("live", live), ("repeated", repeated)] {
        start(&journal, name).await;
        let asked = Event { at: at(1), what };
        journal.append(append(name, 1, vec![asked])).await.unwrap();
        let said = returned(json!({ "pin": "0471" }));
        journal
            .append(append(name, 2, vec![said.clone()]))
            .await
            .unwrap();
        let sql = place.sql();
        let mut rows = sql
            .prepare(
                "SELECT log.events FROM log JOIN runs ON runs.number = run WHERE id = ?1 AND first > 0",
            )
            .unwrap();
        let rows: Vec<Vec<u8>> = rows
            .query_map([name], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|lines| record::is_sealed(lines)), "{name}");
        let stored = journal.load(&id(name)).await.unwrap().unwrap();
        assert_eq!(stored.events.last(), Some(&said));
    }
}

#[tokio::test]
async fn a_newer_store_is_refused_and_left_alone() {
    let place = Place::new();
    drop(place.open());
    place.sql().pragma_update(None, "user_version", 99).unwrap();
    let before = std::fs::read(place.file()).unwrap();
    let error = refused(&place.file());
    assert!(
        error.contains("written by a newer version (99; this one reads up to 3)"),
        "{error}"
    );
    assert_eq!(std::fs::read(place.file()).unwrap(), before);
}

#[tokio::test]
async fn a_store_that_becomes_newer_stops_its_owner() {
    let place = Place::new();
    let journal = place.open();
    journal.heartbeat(at(1)).await.unwrap();
    place.sql().pragma_update(None, "user_version", 99).unwrap();
    let error = refusal(journal.heartbeat(at(2)).await);
    assert!(error.contains("newer version (99"), "{error}");
}

#[test]
fn what_is_not_a_store_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let text = place.path().join("notes.txt");
    std::fs::write(
        &text,
        "not a database at all, but some longer text".repeat(9),
    )
    .unwrap();
    assert!(refused(&text).contains("a database of another program"));
    let other = place.path().join("other.db");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    assert!(refused(&other).contains("a database of another program"));
    let error = SqliteJournal::open(Options::new(place.path(), at(0))).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("is not a file"), "{error}: {cause}");
}

#[test]
fn many_may_open_a_new_store_at_once() {
    let place = Place::new();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let options = place.options();
            std::thread::spawn(move || drop(SqliteJournal::open(options).unwrap()))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(place.count("owners"), 8);
}

#[tokio::test]
async fn a_flush_is_made_when_it_is_asked_for() {
    let journal = Place::new();
    let journal = journal.open();
    for flush in [false, true, false, true, true, false] {
        let before = journal.counts().flushes;
        let weight = Weight::of_rows(0, flush);
        let level: u32 = journal
            .write("look at", weight, |session| {
                let sql = "PRAGMA synchronous";
                Ok(session.connection.query_row(sql, [], |row| row.get(0))?)
            })
            .await
            .unwrap();
        // NORMAL is one, FULL is two.
        assert_eq!(level, 1 + u32::from(flush));
        assert_eq!(journal.counts().flushes - before, u64::from(flush));
    }
}

#[tokio::test]
async fn what_a_caller_leaves_behind_is_written_all_the_same() {
    let place = Place::new();
    let journal = place.open();
    start(&journal, "a").await;
    let mut left = Box::pin(journal.append(append("a", 1, vec![note("left")])));
    // It has put its request down, and goes before it writes.
    assert!(futures::poll!(&mut left).is_pending());
    drop(left);
    for _ in 0..10_000 {
        let stored = journal.load(&id("a")).await.unwrap().unwrap();
        if stored.events.len() == 2 {
            return;
        }
    }
    panic!("nobody has written it");
}

#[tokio::test]
async fn the_lock_of_another_process_holds_up_no_async_thread() {
    let place = Place::new();
    let journal = place.open();
    start(&journal, "a").await;
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut waits = Box::pin(journal.append(append("a", 1, vec![note("waits")])));
    for _ in 0..3 {
        assert!(futures::poll!(&mut waits).is_pending());
        tokio::task::yield_now().await;
    }
    other.execute_batch("COMMIT").unwrap();
    waits.await.unwrap();
    assert_eq!(
        journal.load(&id("a")).await.unwrap().unwrap().events.len(),
        2
    );
}

#[tokio::test]
async fn a_run_that_was_taken_is_noticed_after_others_were_written() {
    let place = Place::new();
    let journal = place.open();
    start(&journal, "a").await;
    start(&journal, "b").await;
    let taken = "UPDATE runs SET owner = owner + 1 WHERE id = 'a'";
    place.sql().execute(taken, []).unwrap();
    journal
        .append(append("b", 1, vec![note("b")]))
        .await
        .unwrap();
    journal
        .append(append("b", 2, vec![note("b")]))
        .await
        .unwrap();
    let refused = journal.append(append("a", 1, vec![note("a")])).await;
    assert!(
        matches!(refused, Err(JournalError::Fenced { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn appends_that_wait_together_share_a_transaction() {
    let place = Place::new();
    let journal = place.open();
    for number in 0..64 {
        start(&journal, &format!("r{number}")).await;
    }
    let lock = place.sql();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = journal.counts();
    let appends = (0..64).map(|number| {
        let mut append = append(&format!("r{number}"), 1, vec![note("1")]);
        append.durability = Durability::Sync;
        journal.append(append)
    });
    // All of them are on their way when the lock goes away: the first alone, or some, and then the rest.
    let (done, ()) = futures::future::join(futures::future::join_all(appends), async {
        tokio::task::yield_now().await;
        lock.execute_batch("COMMIT").unwrap();
    })
    .await;
    assert!(done.iter().all(Result::is_ok));
    let after = journal.counts();
    assert_eq!(after.requests - before.requests, 64);
    assert!(after.flushes - before.flushes <= 3, "{before:?} {after:?}");
}

#[tokio::test]
async fn a_finished_run_becomes_one_row() {
    let place = Place::new();
    let journal = place.open();
    for name in ["a", "b"] {
        start(&journal, name).await;
        let long = returned(json!("x".repeat(100_000)));
        journal.append(append(name, 1, vec![long])).await.unwrap();
    }
    journal.append(ending("a", 2, 7)).await.unwrap();
    let before = journal.load(&id("a")).await.unwrap().unwrap();
    compact(&journal).await;
    let after = journal.load(&id("a")).await.unwrap().unwrap();
    assert_eq!(after.events, before.events);
    assert_eq!(after.summary, before.summary);
    assert_eq!((place.count("archive"), place.count("log")), (1, 2));

    let mut late = append("a", 3, vec![note("late")]);
    late.mark = mark(Phase::Completed);
    late.at = at(9);
    journal.append(late).await.unwrap();
    let before = journal.load(&id("a")).await.unwrap().unwrap();
    compact(&journal).await;
    let after = journal.load(&id("a")).await.unwrap().unwrap();
    assert_eq!(after.events, before.events);
    assert_eq!(after.summary, before.summary);
    assert_eq!(after.summary.event_count, 4);
    assert_eq!((place.count("archive"), place.count("log")), (1, 2));
}

#[tokio::test]
async fn runs_that_ended_before_a_crash_are_compacted_after_it() {
    let place = Place::new();
    let journal = place.open();
    start(&journal, "a").await;
    journal.append(ending("a", 1, 1)).await.unwrap();
    drop(journal);
    let journal = place.open();
    compact(&journal).await;
    assert_eq!((place.count("archive"), place.count("log")), (1, 0));
    assert_eq!(
        journal.load(&id("a")).await.unwrap().unwrap().events.len(),
        2
    );
}

#[tokio::test]
async fn long_values_and_plans_lie_there_once_and_go_with_their_last_run() {
    let place = Place::new();
    let mut options = place.options();
    options.retention.runs_max = 1;
    let journal = SqliteJournal::open(options).unwrap();
    for (name, seconds) in [("a", 1), ("b", 2)] {
        start(&journal, name).await;
        let long = returned(json!({"x": "x".repeat(100_000)}));
        journal
            .append(append(name, 1, vec![long.clone(), long]))
            .await
            .unwrap();
        journal.append(ending(name, 3, seconds)).await.unwrap();
    }
    compact(&journal).await;
    assert_eq!((place.count("stored_values"), place.count("plans")), (1, 1));
    assert!(!journal.maintain(at(3)).await.unwrap());
    assert_eq!((place.count("runs"), place.count("stored_values")), (1, 1));
    assert!(journal.load(&id("b")).await.unwrap().is_some());
    journal.maintain(at(30 * 24 * 3_600)).await.unwrap();
    for table in ["runs", "stored_values", "value_uses", "plans", "archive"] {
        assert_eq!(place.count(table), 0, "{table}");
    }
}

#[tokio::test]
async fn bytes_of_finished_runs_are_bounded() {
    let place = Place::new();
    let mut options = place.options();
    options.retention.bytes_max = 250_000;
    let journal = SqliteJournal::open(options).unwrap();
    for number in 0..5_u64 {
        let name = format!("r{number}");
        start(&journal, &name).await;
        let long = returned(json!(format!("{number}{}", "x".repeat(100_000))));
        journal.append(append(&name, 1, vec![long])).await.unwrap();
        journal.append(ending(&name, 2, number)).await.unwrap();
    }
    compact(&journal).await;
    journal.maintain(at(9)).await.unwrap();
    let left = journal.list(Filter::default()).await.unwrap();
    let left: Vec<&str> = left.iter().map(|summary| summary.id.as_str()).collect();
    assert_eq!(left, ["r4", "r3"]);
}

#[tokio::test]
async fn a_full_disk_refuses_what_is_too_long_and_nothing_else() {
    let place = Place::new();
    let mut options = place.options();
    options.bytes_max = Some(600_000);
    let journal = SqliteJournal::open(options).unwrap();
    start(&journal, "a").await;
    start(&journal, "b").await;
    let long = |name| append(name, 1, vec![returned(json!("x".repeat(2_000_000)))]);
    let (refused, accepted) = futures::future::join(
        journal.append(long("a")),
        journal.append(append("b", 1, vec![note("1")])),
    )
    .await;
    assert!(matches!(refused, Err(JournalError::Full(_))), "{refused:?}");
    accepted.unwrap();
    // The run goes on where it was: a shorter event fits.
    journal
        .append(append("a", 1, vec![note("failed")]))
        .await
        .unwrap();
    assert_eq!(
        journal.load(&id("a")).await.unwrap().unwrap().events,
        [note("start"), note("failed")]
    );
}

#[tokio::test]
async fn a_run_that_cannot_be_read_is_held_and_not_lost() {
    let place = Place::new();
    let journal = place.open();
    start(&journal, "a").await;
    drop(journal);
    place.sql().execute("UPDATE log SET form = 9", []).unwrap();
    let journal = place.open();
    let reason = "run `a` cannot be read: it is stored in form 9, which this version does not know";
    assert_eq!(refusal(journal.load(&id("a")).await), reason);
    assert_eq!(refusal(journal.claim(&id("a"), at(1)).await), reason);
    let listed = journal.list(Filter::default()).await.unwrap();
    assert_eq!(listed[0].phase, Phase::Held);
    assert!(journal.claimable(at(1)).await.unwrap().is_empty());
    drop(journal);
    place.sql().execute("UPDATE log SET form = 1", []).unwrap();
    let journal = place.open();
    assert!(journal.claim(&id("a"), at(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_forgotten_owner_comes_back_to_what_nobody_took() {
    let place = Place::new();
    let one = place.open();
    start(&one, "a").await;
    one.append(ending("a", 1, 1)).await.unwrap();
    let two = place.open();
    two.heartbeat(at(100)).await.unwrap();
    two.maintain(at(100)).await.unwrap();
    assert_eq!(place.count("owners"), 1);
    one.heartbeat(at(101)).await.unwrap();
    start(&one, "b").await;
    assert!(two.claim(&id("b"), at(101)).await.unwrap().is_none());
    assert_eq!(place.count("owners"), 2);
}

#[tokio::test]
async fn another_process_may_hold_the_lock_for_a_while() {
    let place = Place::new();
    let journal = place.open();
    let lock = place.sql();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = tokio::spawn({
        let journal = Arc::new(journal);
        async move {
            start(&journal, "a").await;
            journal
        }
    });
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(!started.is_finished());
    lock.execute_batch("COMMIT").unwrap();
    let journal = started.await.unwrap();
    assert!(journal.load(&id("a")).await.unwrap().is_some());
}
