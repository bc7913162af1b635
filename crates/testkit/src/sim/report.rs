//! What a simulation found: a broken promise with all that is needed to see it again, and how often each kind
//! of event was at each point where a process died.

use super::harness::Performance;
use super::{Break, Options};
use onecall_engine::event::What;
use std::collections::BTreeMap;
use std::fmt;

/// Where a process died or lost its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    BeforeAppend,
    AfterAppend,
    /// The append was refused: another process has the run.
    Refused,
}

impl Point {
    pub const ALL: [Self; 3] = [Self::BeforeAppend, Self::AfterAppend, Self::Refused];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeAppend => "before append",
            Self::AfterAppend => "after append",
            Self::Refused => "append refused",
        }
    }
}

/// A run cannot be lost before it is stored.
const IMPOSSIBLE: (&str, Point) = ("run_started", Point::Refused);

/// A promise that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    pub scenario: u64,
    pub run: u64,
    pub disturbance: String,
    pub fault: String,
    pub events: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub seed: u64,
    pub broken: Option<Break>,
    pub runs: u64,
    pub scenarios: u64,
    pub events: u64,
    pub hits: BTreeMap<(&'static str, Point), u64>,
    pub violation: Option<Violation>,
}

impl Report {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            seed: options.seed,
            broken: options.broken,
            runs: 0,
            scenarios: 0,
            events: 0,
            hits: BTreeMap::new(),
            violation: None,
        }
    }

    pub(super) fn count(&mut self, performance: &Performance) {
        self.runs += 1;
        self.events += performance.events.len() as u64;
        for (point, kind) in &performance.hits {
            *self.hits.entry((kind, *point)).or_default() += 1;
        }
    }

    fn hits_at(&self, kind: &'static str, point: Point) -> u64 {
        self.hits.get(&(kind, point)).copied().unwrap_or(0)
    }

    /// Places of the table that no run came to.
    pub fn untouched(&self) -> Vec<(&'static str, Point)> {
        let all = What::KINDS
            .iter()
            .flat_map(|kind| Point::ALL.map(|point| (*kind, point)));
        all.filter(|place| *place != IMPOSSIBLE && self.hits_at(place.0, place.1) == 0)
            .collect()
    }

    /// No promise was broken, and every kind of event met every kind of death.
    pub fn is_good(&self) -> bool {
        self.violation.is_none() && self.untouched().is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:<20}", "event")?;
        for point in Point::ALL {
            write!(formatter, "{:>16}", point.as_str())?;
        }
        writeln!(formatter)?;
        for kind in What::KINDS.iter().copied() {
            write!(formatter, "{kind:<20}")?;
            for point in Point::ALL {
                if (kind, point) == IMPOSSIBLE {
                    write!(formatter, "{:>16}", "-")?;
                } else {
                    write!(formatter, "{:>16}", self.hits_at(kind, point))?;
                }
            }
            writeln!(formatter)?;
        }
        if let Some(violation) = &self.violation {
            writeln!(
                formatter,
                "\nscenario {} of seed {}, {}: {}",
                violation.scenario, self.seed, violation.disturbance, violation.fault
            )?;
            for event in &violation.events {
                writeln!(formatter, "  {event}")?;
            }
        }
        for (kind, point) in self.untouched() {
            writeln!(formatter, "no run had {kind} {}", point.as_str())?;
        }
        let verdict = if self.is_good() { "good" } else { "BROKEN" };
        write!(
            formatter,
            "sim: seed {} · runs {} · scenarios {} · events {} · {verdict}",
            self.seed, self.runs, self.scenarios, self.events
        )
    }
}
