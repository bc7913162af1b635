//! Which cores this process runs on, and with it what it starts.

use crate::{Done, Failed};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Stays on the first core that is allowed, and says which were.
pub(crate) fn stay_on_one() -> Result<CpuSet, Failed> {
    let allowed = sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core));
    let mut one = CpuSet::new();
    one.set(first.ok_or("no core is allowed")?);
    stay_on(&one)?;
    Ok(allowed)
}

pub(crate) fn stay_on(cores: &CpuSet) -> Done {
    Ok(sched_setaffinity(None, cores)?)
}
