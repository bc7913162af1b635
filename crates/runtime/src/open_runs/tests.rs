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
fn the_store_is_believed_except_of_what_changed_meanwhile() {
    let open = OpenRuns::default();
    for run in ["ours", "live", "ended_elsewhere", "ends"] {
        open.put(&id(run), None, 1);
    }
    open.begin_count();
    open.put(&id("begins"), None, 1);
    open.remove(&id("ends"));
    let listed = vec![stored("ours", 9), stored("ends", 9), stored("theirs", 9)];
    open.end_count(Some(listed), |run| *run == id("live"));
    let ledger = open.lock();
    let counted: Vec<String> = ledger.runs.keys().map(ToString::to_string).collect();
    assert_eq!(counted, ["begins", "live", "ours", "theirs"]);
    assert_eq!(ledger.all.bytes, 12);
}
