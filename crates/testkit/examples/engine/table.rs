//! Measuring and printing: CPU and wall time of a piece of work, and lines with a limit each.

use rustix::time::{ClockId, clock_gettime};
use std::io::Write;
use std::time::{Duration, Instant};

/// What a piece of work took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

impl Took {
    /// The one that took less CPU.
    pub(crate) fn least(self, other: Self) -> Self {
        if other.cpu < self.cpu { other } else { self }
    }

    /// Microseconds of CPU time for each of this many.
    pub(crate) fn cpu_us(self, count: u64) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / float(count)
    }

    pub(crate) fn wall_us(self, count: u64) -> f64 {
        self.wall.as_secs_f64() * 1e6 / float(count)
    }
}

/// A running measurement.
pub(crate) struct Stopwatch {
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self {
            cpu: cpu_time(),
            wall: Instant::now(),
        }
    }

    pub(crate) fn stop(&self) -> Took {
        Took {
            cpu: cpu_time().saturating_sub(self.cpu),
            wall: self.wall.elapsed(),
        }
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// The best of a few measurements: what the work costs when nothing else is in the way.
pub(crate) fn best(all: impl IntoIterator<Item = Took>) -> Option<Took> {
    all.into_iter().min_by_key(|took| took.cpu)
}

/// Lines as they are measured.
#[derive(Debug, Default)]
pub(crate) struct Table {
    passed_limits: u32,
}

impl Table {
    pub(crate) fn is_kept(&self) -> bool {
        self.passed_limits == 0
    }

    /// A number that may be at most its limit.
    pub(crate) fn at_most(&mut self, what: &str, value: f64, limit: f64, unit: &str) {
        let verdict = self.verdict(value <= limit);
        self.say(&format!(
            "{what:<62} {value:>9.2} {unit:<8} at most {limit:>6} {verdict}"
        ));
    }

    /// Something that must hold without any allowance.
    pub(crate) fn exact(&mut self, what: &str, shown: &str, holds: bool) {
        let verdict = self.verdict(holds);
        self.say(&format!("{what:<62} {shown:>32} {verdict}"));
    }

    /// A number that is told for its own sake.
    pub(crate) fn tell(&mut self, what: &str, value: f64, unit: &str) {
        self.say(&format!("{what:<62} {value:>9.2} {unit}"));
    }

    fn verdict(&mut self, is_kept: bool) -> &'static str {
        if is_kept {
            "kept"
        } else {
            self.passed_limits += 1;
            "PASSED"
        }
    }

    #[expect(clippy::unused_self, reason = "lines are said by their table only")]
    pub(crate) fn say(&self, line: &str) {
        let _ = writeln!(std::io::stdout().lock(), "{line}");
    }
}
