//! The conformance suite: what every store must do, run against each. A test is written once, over `dyn Journal`.

mod inbox;
mod lists;
mod owners;
mod runs;
pub(crate) mod samples;
mod values;

use crate::memory::MemoryStore;
use crate::open::{Options, Retention};
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::Journal;
use std::sync::Arc;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

/// Something that several owners can open.
trait Store: Send + Sync {
    fn open(&self, now: Timestamp) -> Arc<dyn Journal>;
}

const RETENTION: Retention = Retention {
    age_max: Duration::from_secs(1_000),
    runs_max: 100,
    bytes_max: 1024 * 1024 * 1024,
};

struct Memory(MemoryStore);

impl Memory {
    fn new() -> Self {
        Self(MemoryStore::new(RETENTION))
    }
}

impl Store for Memory {
    fn open(&self, now: Timestamp) -> Arc<dyn Journal> {
        Arc::new(self.0.open(now, LEASE))
    }
}

struct Sqlite(tempfile::TempDir);

impl Sqlite {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Store for Sqlite {
    fn open(&self, now: Timestamp) -> Arc<dyn Journal> {
        let mut options = Options::new(self.0.path().join("runs.db"), now);
        options.lease = LEASE;
        options.retention = RETENTION;
        crate::open::open(options).unwrap()
    }
}

/// Names each test once and runs it against every store.
macro_rules! against_every_store {
    ($($part:ident::$test:ident;)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$part::$test(&super::Memory::new()).await;
            })*
        }

        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$part::$test(&super::Sqlite::new()).await;
            })*
        }
    };
}

against_every_store! {
    runs::events_come_back_in_order;
    runs::a_run_is_created_once;
    runs::a_run_that_is_not_there_is_named;
    runs::a_gap_and_a_repetition_are_refused;
    runs::appends_of_many_runs_do_not_mix;
    runs::a_note_after_the_end_is_kept;
    runs::what_is_not_durable_is_not_stored;
    runs::a_client_key_names_one_run;
    runs::a_run_without_events_begins_later;
    owners::a_run_of_a_living_owner_is_not_claimed;
    owners::a_silent_owner_loses_its_run_and_is_fenced;
    owners::a_heartbeat_keeps_a_run;
    owners::a_closed_owner_leaves_its_runs;
    owners::a_run_is_claimed_exactly_once;
    owners::a_run_goes_to_and_fro;
    owners::a_run_is_bound_to_another_plan_while_nobody_else_drives_it;
    owners::an_ended_run_is_not_claimed;
    owners::a_parked_run_wakes_at_its_time;
    owners::a_parked_run_of_a_dead_owner_waits_for_its_time;
    owners::a_parked_run_takes_no_events;
    inbox::a_command_reaches_the_owner_only;
    inbox::a_command_to_a_run_nobody_owns_reaches_anybody;
    inbox::a_taken_command_survives_its_taker;
    inbox::a_settled_command_is_gone;
    inbox::a_command_follows_the_run_to_its_owner;
    inbox::a_command_that_is_given_back_is_given_out_again_once;
    inbox::an_ended_or_unknown_run_takes_no_commands;
    inbox::what_was_told_can_be_looked_at;
    inbox::an_inbox_has_an_end;
    lists::the_newest_comes_first;
    lists::filters_narrow_a_list;
    lists::a_summary_follows_the_run;
    lists::open_runs_are_listed_with_what_they_hold;
    lists::the_oldest_finished_runs_are_removed;
    values::long_values_come_back;
    values::kept_values_are_replaced;
}
