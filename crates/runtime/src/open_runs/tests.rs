//! The ledger of open runs, without a runtime.

use super::*;

fn limits() -> OpenLimits {
    OpenLimits {
        runs: 3,
        runs_per_caller: 2,
        bytes: 1_000,
        bytes_per_caller: 600,
    }
}

fn id(name: &str) -> RunId {
    RunId::new(name)
}

fn stored(name: &str, bytes: u64) -> OpenRun {
    OpenRun {
        id: id(name),
        principal: None,
        bytes,
        plan_hash: String::new(),
        is_left: false,
    }
}

#[test]
fn each_limit_refuses_by_its_own_name() {
    let open = OpenRuns::default();
    let admit = |run: &str, caller, bytes| {
        let admitted = open.admit(&limits(), &id(run), caller, bytes);
        admitted.map_err(|refusal| refusal.to_string())
    };
    let told = |refused: Result<(), String>, key: &str| {
        let text = refused.unwrap_err();
        assert!(text.contains(key) && text.contains("try again"), "{text}");
    };
    admit("a", Some("ada"), 100).unwrap();
    told(
        admit("big", Some("ada"), 501),
        "`limits.open_bytes_per_caller`",
    );
    admit("b", Some("ada"), 500).unwrap();
    told(admit("c", Some("ada"), 0), "`limits.open_runs_per_caller`");
    told(admit("d", None, 401), "`limits.open_bytes`");
    admit("d", None, 400).unwrap();
    told(admit("e", None, 0), "`limits.open_runs`");
    open.remove(&id("a"));
    admit("e", Some("ada"), 0).unwrap();
}

#[test]
fn a_run_that_grows_and_ends_is_counted_once() {
    let open = OpenRuns::default();
    open.put(&id("a"), None, 10);
    open.put(&id("a"), None, 20);
    open.grown(&id("a"), 70);
    open.grown(&id("gone"), 1_000);
    let sums = || {
        let ledger = open.lock();
        (ledger.all.runs, ledger.all.bytes, ledger.callers.len())
    };
    assert_eq!(sums(), (1, 70, 1));
    open.remove(&id("a"));
    open.remove(&id("a"));
    assert_eq!(sums(), (0, 0, 0));
}

#[test]
fn the_store_is_believed_except_of_what_is_driven_here_or_changed_meanwhile() {
    let open = OpenRuns::default();
    for run in ["foreign", "live", "ended_elsewhere", "ends", "grows"] {
        open.put(&id(run), None, 1);
    }
    open.admit(
        &OpenLimits {
            runs: 9,
            ..limits()
        },
        &id("new"),
        Some("ada"),
        1,
    )
    .unwrap();
    let counting = open.begin_count();
    open.put(&id("begins"), None, 1);
    open.remove(&id("ends"));
    open.grown(&id("grows"), 5);
    let listed = ["foreign", "live", "ends", "grows", "theirs"].map(|run| stored(run, 9));
    let is_live = |run: &RunId| *run == id("live");
    counting.end(listed.to_vec(), is_live);
    let counted: Vec<(String, u64)> = {
        let ledger = open.lock();
        assert!(ledger.adds_up());
        let runs = ledger.runs.iter();
        runs.map(|(run, open)| (run.to_string(), open.bytes))
            .collect()
    };
    let expected = [
        ("begins", 1),
        ("foreign", 9),
        ("grows", 5),
        ("live", 1),
        ("new", 1),
        ("theirs", 9),
    ];
    assert_eq!(
        counted,
        expected.map(|(run, bytes)| (run.to_owned(), bytes))
    );
    assert!(open.has_foreign(is_live));
    assert!(!open.has_foreign(|_| true));
}

#[test]
fn a_count_that_is_given_up_changes_nothing() {
    let open = OpenRuns::default();
    open.put(&id("a"), None, 1);
    drop(open.begin_count());
    assert!(open.lock().changed.is_none());
    assert_eq!(open.lock().all.runs, 1);
}
