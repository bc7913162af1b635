//! The runtime itself on a paused clock, over a store and a backend that misbehave: runs are parked, woken, retried,
//! answered and cancelled, leases are lost, files are reloaded, processes restart, and callers come and go. Every caller
//! gets an end, and nothing repeats without waiting for something.
//!
//! `ONECALL_SIM_SEEDS=1000` runs more seeds, `ONECALL_SIM_SEED=7` begins at another one. A seed gives the same
//! disturbances; which of several tasks that wake at one moment goes first is left to tokio, so a seed that failed once
//! may have to run a few times.

mod callers;
mod outside;
mod processes;

use processes::{Tally, scene};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Seeds of the usual test run.
const SEEDS: u64 = 40;

/// One seed takes a fraction of a second. Where the paused clock does not move for so long, a task keeps its thread.
const STUCK_AFTER: Duration = Duration::from_secs(20);

#[test]
fn every_caller_gets_an_end() {
    let first = number("ONECALL_SIM_SEED").unwrap_or(1);
    let seeds = number("ONECALL_SIM_SEEDS").unwrap_or(SEEDS);
    let mut all = Tally::default();
    for seed in first..first + seeds {
        all.add(&watched(seed));
    }
    println!("seeds {first} to {}: {all:?}", first + seeds - 1);
    if seeds >= SEEDS {
        assert!(all.has_seen_everything(), "{all:?}");
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// Runs one seed on a thread of its own, which may never come back.
fn watched(seed: u64) -> Tally {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let tally = runtime.block_on(scene(seed));
        let _ = done.send(tally);
    });
    let again = format!(
        "ONECALL_SIM_SEED={seed} ONECALL_SIM_SEEDS=1 cargo test -p onecall-runtime --test it sim"
    );
    match ended.recv_timeout(STUCK_AFTER) {
        Ok(tally) => tally,
        Err(RecvTimeoutError::Timeout) => {
            panic!("seed {seed}: a task repeats without waiting for anything; again: {again}")
        }
        Err(RecvTimeoutError::Disconnected) => {
            let panic = thread.join().expect_err("who ends well has sent a tally");
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            panic!("seed {seed}: {}; again: {again}", text.unwrap_or("a panic"));
        }
    }
}
