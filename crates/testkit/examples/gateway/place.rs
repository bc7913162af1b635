//! Which cores this process runs on, and with it what it starts.

use crate::{Done, Failed};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

pub(crate) fn allowed() -> Result<CpuSet, Failed> {
    Ok(sched_getaffinity(None)?)
}

/// One of these alone, by its number among them.
pub(crate) fn only(cores: &CpuSet, number: usize) -> Option<CpuSet> {
    let mut own = (0..CpuSet::MAX_CPU).filter(|core| cores.is_set(*core));
    let core = own.nth(number)?;
    let mut one = CpuSet::new();
    one.set(core);
    Some(one)
}

pub(crate) fn stay_on(cores: &CpuSet) -> Done {
    Ok(sched_setaffinity(None, cores)?)
}
