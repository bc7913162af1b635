//! Real processes on one store: killed in the middle of a stream of appends, or stopped past their lease.
//! The test program starts itself again as the other process.

use super::{SqliteJournal, start};
use crate::open::Options;
use crate::suite::samples::{append, at, id, note};
use onecall_engine::journal::{Journal, JournalError};
use onecall_workflow::policy::Durability;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

/// Names the store in the environment of the other process.
const STORE: &str = "ONECALL_JOURNAL_TEST_STORE";

/// Not a test by itself: what the other process does. It steps when it is told, or without end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_process() {
    let Some(path) = std::env::var_os(STORE) else {
        return;
    };
    let journal = Arc::new(SqliteJournal::open(Options::new(path, at(0))).unwrap());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    if line.trim() == "stream" {
        stream(&journal).await;
    }
    start(&journal, "told").await;
    println!("ack told 0");
    for next in 1.. {
        line.clear();
        if std::io::stdin().read_line(&mut line).unwrap() == 0 {
            return;
        }
        match journal.append(append("told", next, vec![note("x")])).await {
            Ok(()) => println!("ack told {next}"),
            Err(JournalError::Fenced { .. }) => println!("fenced"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Appends to eight runs at once, for ever, and says what was acknowledged.
async fn stream(journal: &Arc<SqliteJournal>) {
    let lanes = (0..8).map(|lane| {
        let journal = Arc::clone(journal);
        tokio::spawn(async move {
            let name = format!("lane-{lane}");
            start(&journal, &name).await;
            for next in 1.. {
                let mut append = append(&name, next, vec![note(format!("{name} {next}"))]);
                if lane == 0 {
                    append.durability = Durability::Sync;
                }
                journal.append(append).await.unwrap();
                println!("ack {name} {next}");
            }
        })
    });
    futures::future::join_all(lanes).await;
}

struct Other {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(path: &std::path::Path, how: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "sqlite::tests::processes::other_process",
                "--nocapture",
            ])
            .env(STORE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{how}").unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            stdin,
            lines,
        }
    }

    /// The next line that says something, without the noise of the test program.
    fn next(&mut self) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| {
            let start = line.find("ack ").or_else(|| line.find("fenced"))?;
            Some(line[start..].to_owned())
        })
    }

    fn step(&mut self) -> Option<String> {
        writeln!(self.stdin).unwrap();
        self.next()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let place = super::Place::new();
    drop(place.open());
    let mut other = Other::start(&place.file(), "stream");
    let mut acknowledged = [0_u64; 8];
    let mut note_down = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let lane = words.next()?.strip_prefix("lane-")?;
        // The last line may be cut off by the kill.
        let next: u64 = words.next()?.parse().ok()?;
        acknowledged[lane.parse::<usize>().ok()?] = next;
        Some(())
    };
    for _ in 0..400 {
        note_down(&other.next().unwrap()).unwrap();
    }
    other.child.kill().unwrap();
    // Nobody has waited for it yet: even so it is known to be dead, and its lease does not matter.
    let rest: Vec<String> = std::iter::from_fn(|| other.next()).collect();
    for line in rest.iter().take(rest.len().saturating_sub(1)) {
        note_down(line).unwrap();
    }
    let journal = place.open();
    assert_eq!(journal.claimable(at(0)).await.unwrap().len(), 8);
    for (lane, acknowledged) in acknowledged.into_iter().enumerate() {
        let name = format!("lane-{lane}");
        let claimed = journal.claim(&id(&name), at(0)).await.unwrap().unwrap();
        let count = claimed.events.len() as u64;
        assert!(count > acknowledged, "{name}: {count} {acknowledged}");
        for (next, event) in claimed.events.iter().enumerate().skip(1) {
            assert_eq!(*event, note(format!("{name} {next}")));
        }
        journal
            .append(append(&name, count, vec![note("resumed")]))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_writer_stopped_past_its_lease_is_refused_afterwards() {
    let place = super::Place::new();
    let journal = place.open();
    let mut other = Other::start(&place.file(), "told");
    assert_eq!(other.next().unwrap(), "ack told 0");
    assert_eq!(other.step().unwrap(), "ack told 1");
    other.signal(Signal::STOP);
    assert!(journal.claim(&id("told"), at(10)).await.unwrap().is_none());
    assert_eq!(journal.claimable(at(11)).await.unwrap(), [id("told")]);
    let claimed = journal.claim(&id("told"), at(11)).await.unwrap().unwrap();
    assert_eq!(claimed.events.len(), 2);
    other.signal(Signal::CONT);
    assert_eq!(other.step().unwrap(), "fenced");
    journal
        .append(append("told", 2, vec![note("ours")]))
        .await
        .unwrap();
    assert_eq!(other.step().unwrap(), "fenced");
    let loaded = journal.load(&id("told")).await.unwrap().unwrap();
    assert_eq!(loaded.events.len(), 3);
}
