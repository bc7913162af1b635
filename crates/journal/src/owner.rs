//! Owners: who has opened the store, and when one of them counts as dead.
//! A run belongs to exactly one of them; how it passes to another is left to the stores.

use onecall_engine::identity::Timestamp;
use std::time::Duration;

/// An opening of the store.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) process: Option<Process>,
    /// When it last said that it is alive.
    pub(crate) seen: Timestamp,
    /// How long its word holds.
    pub(crate) lease: Duration,
    /// It closed the store in good order.
    pub(crate) left: bool,
}

impl Owner {
    /// `here` names the machine that asks; a process of another machine can only be judged by its lease.
    pub(crate) fn is_dead(&self, now: Timestamp, here: Option<&str>) -> bool {
        self.left
            || now.since(self.seen) > self.lease
            || self
                .process
                .as_ref()
                .is_some_and(|process| Some(process.host.as_str()) == here && process.is_gone())
    }
}

/// A process, told apart from a later one with the same number by the time it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// The machine since its last start, and the namespace in which process numbers count.
    pub(crate) host: String,
    pub(crate) pid: u32,
    /// In clock ticks since the machine started.
    pub(crate) started: u64,
}

impl Process {
    /// `None` where the system does not tell: then only the lease counts.
    pub(crate) fn this() -> Option<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let space = std::fs::read_link("/proc/self/ns/pid").ok()?;
        let pid = std::process::id();
        match state_of(pid) {
            State::Since(started) => Some(Self {
                host: format!("{} {}", boot.trim(), space.display()),
                pid,
                started,
            }),
            State::Gone | State::Unknown => None,
        }
    }

    /// Only certainty counts: what cannot be found out is left to the lease.
    fn is_gone(&self) -> bool {
        match state_of(self.pid) {
            State::Since(started) => started != self.started,
            State::Gone => true,
            State::Unknown => false,
        }
    }
}

enum State {
    Since(u64),
    Gone,
    Unknown,
}

fn state_of(pid: u32) -> State {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => parse_stat(&stat),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::Gone,
        // The process ended between opening and reading.
        Err(error) if error.raw_os_error() == Some(ESRCH) => State::Gone,
        Err(_) => State::Unknown,
    }
}

const ESRCH: i32 = 3;

/// The name of the program stands in parentheses and may hold any character, so the fields count from its end:
/// the state comes first, the start time is the twentieth. A zombie does no more work.
fn parse_stat(stat: &str) -> State {
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return State::Unknown;
    };
    let mut fields = fields.split_ascii_whitespace();
    match fields.next() {
        Some("Z" | "X" | "x") => State::Gone,
        Some(_) => fields
            .nth(18)
            .and_then(|started| started.parse().ok())
            .map_or(State::Unknown, State::Since),
        None => State::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(process: Option<Process>) -> Owner {
        Owner {
            process,
            seen: Timestamp::from_millis(1_000),
            lease: Duration::from_secs(10),
            left: false,
        }
    }

    #[test]
    fn a_lease_ends_after_its_time_and_not_before() {
        let owner = owner(None);
        assert!(!owner.is_dead(Timestamp::from_millis(11_000), None));
        assert!(owner.is_dead(Timestamp::from_millis(11_001), None));
    }

    #[test]
    fn a_living_process_is_not_dead_and_one_with_a_reused_number_is() {
        let this = Process::this().unwrap();
        let now = Timestamp::from_millis(1_000);
        assert!(!owner(Some(this.clone())).is_dead(now, Some(&this.host)));
        let earlier = Process {
            started: this.started - 1,
            ..this.clone()
        };
        assert!(owner(Some(earlier.clone())).is_dead(now, Some(&this.host)));
        assert!(!owner(Some(earlier)).is_dead(now, Some("another machine")));
    }

    #[test]
    fn names_with_parentheses_do_not_confuse_the_fields() {
        let fields = "S 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        assert!(matches!(
            parse_stat(&format!("7 (a) b) {fields}")),
            State::Since(4711)
        ));
        assert!(matches!(parse_stat("7 (a) Z 1"), State::Gone));
        assert!(matches!(parse_stat("nonsense"), State::Unknown));
    }
}
