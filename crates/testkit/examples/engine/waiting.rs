//! Runs that wait for a person: what they hold in memory, and that a parked one holds nothing.

use crate::load::{self, Instantly, drive_one, surroundings};
use crate::table::{Table, float};
use crate::{Done, Failed, runtime, stored};
use onecall_engine::driver::Stopped;
use onecall_workflow::policy::Durability;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinSet;

const RUNS: u64 = 10_000;
const MEGABYTE: f64 = 1_000_000.0;

pub(crate) fn measure(table: &mut Table) -> Done {
    in_memory(table)?;
    parked(table)
}

/// Each in a task of its own, with its question asked.
fn in_memory(table: &mut Table) -> Done {
    let runtime = runtime()?;
    let plan = load::asks()?;
    let (pass_time, is_later) = watch::channel(false);
    let world = Arc::new(Instantly {
        answer: Some(load::answer()),
        is_later,
    });
    runtime.block_on(async {
        let before = resident_bytes()?;
        let mut runs = JoinSet::new();
        for _ in 0..RUNS {
            let surroundings = surroundings(Arc::clone(&world), None, Durability::None);
            runs.spawn(drive_one(Arc::clone(&plan), load::input(), surroundings));
        }
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let held = resident_bytes()?.saturating_sub(before);
        table.at_most(
            "10,000 waiting runs in memory",
            float(held) / MEGABYTE,
            200.0,
            "MB",
        );
        pass_time.send(true)?;
        let mut parked = 0;
        while let Some(stopped) = runs.join_next().await {
            parked += u64::from(matches!(stopped??, Stopped::Parked { .. }));
        }
        let tasks = runtime.metrics().num_alive_tasks();
        table.exact(
            "the same, ten seconds later",
            &format!("{parked} parked, {tasks} tasks left"),
            parked == RUNS && tasks == 0,
        );
        Ok(())
    })
}

/// A few at a time, so that what the process holds at the end is what parked runs cost it.
fn parked(table: &mut Table) -> Done {
    let runtime = runtime()?;
    let plan = load::asks()?;
    runtime.block_on(async {
        let store = stored::Store::open()?;
        // What the store itself holds is there after the first runs.
        stored::wait_and_park(&store, &plan, "warm", 500).await?;
        let before = resident_bytes()?;
        stored::wait_and_park(&store, &plan, "run", RUNS).await?;
        let held = resident_bytes()?.saturating_sub(before);
        table.at_most(
            "10,000 parked runs in memory, all of them in the store",
            float(held) / MEGABYTE,
            20.0,
            "MB",
        );
        Ok(())
    })
}

fn resident_bytes() -> Result<u64, Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kibibytes.ok_or("no VmRSS")?.parse::<u64>()? * 1024)
}
