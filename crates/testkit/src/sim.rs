//! The simulator: random workflows on a random world, disturbed in every way a process can be disturbed,
//! and checked against the same run undisturbed. One seed gives the same runs everywhere.
//!
//! It drives `decide` and `evolve` themselves; journal, backends and people are small models.

mod backend;
pub mod dice;
mod feed;
mod harness;
mod path;
mod report;
mod scenario;
mod verify;

pub use feed::feed;
pub use path::{Path, critical_path};
pub use report::{Point, Report, Violation};

#[cfg(test)]
mod tests;

use dice::Dice;
use harness::{Crash, Disturbance, Performance, perform};
use scenario::Scenario;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub runs: u64,
    pub seed: u64,
    /// A guard to switch off, to see that the simulator notices.
    pub broken: Option<Break>,
}

impl Options {
    /// Reads `--runs N --seed S --break NAME`; what is not given is a million runs of seed 1, all guards on.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            runs: 1_000_000,
            seed: 1,
            broken: None,
        };
        for pair in words.chunks(2) {
            let [flag, value] = pair else {
                return Err(format!("`{}` needs a value", pair[0]));
            };
            let number = || {
                let number = value.replace('_', "").parse();
                number.map_err(|_| format!("`{value}` is no number"))
            };
            match *flag {
                "--runs" => options.runs = number()?,
                "--seed" => options.seed = number()?,
                "--break" => {
                    let names = Break::ALL.map(Break::as_str).join(", ");
                    let guard = Break::parse(value);
                    let unknown = || format!("no guard is named `{value}`; there are {names}");
                    options.broken = Some(guard.ok_or_else(unknown)?);
                }
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        Ok(options)
    }
}

/// Guards that can be switched off, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    AppendBeforePerform,
    Fence,
    SingleAnswer,
    Deadline,
    DefaultOnFailure,
}

impl Break {
    pub const ALL: [Self; 5] = [
        Self::AppendBeforePerform,
        Self::Fence,
        Self::SingleAnswer,
        Self::Deadline,
        Self::DefaultOnFailure,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::AppendBeforePerform => "append-before-perform",
            Self::Fence => "fence",
            Self::SingleAnswer => "single-answer",
            Self::Deadline => "deadline",
            Self::DefaultOnFailure => "default-on-failure",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guard| guard.as_str() == text)
    }
}

/// Simulates until a run breaks a promise or as many runs as asked for were made.
pub fn run(options: &Options) -> Report {
    let mut report = Report::new(options);
    let mut number = 0;
    while report.runs < options.runs && report.violation.is_none() {
        let scenario = Scenario::roll(options.seed, number);
        simulate(&scenario, options, &mut report);
        number += 1;
    }
    report.scenarios = number;
    report
}

/// One scenario: undisturbed, then with a crash at each append, then with noise, pauses and both.
fn simulate(scenario: &Scenario, options: &Options, report: &mut Report) {
    let calm = Disturbance::default();
    let base = perform(scenario, &calm, options.broken);
    note(scenario, &calm, &base, None, report);
    let appends = base.appends;
    for append in 1..=appends {
        for is_stored in [false, true] {
            let crash = Some(Crash { append, is_stored });
            let disturbance = Disturbance {
                crash,
                ..Disturbance::default()
            };
            try_one(scenario, &disturbance, &base, options, report);
        }
    }
    let mut dice = Dice::new(scenario.seed ^ 0x5eed);
    for round in 0..6 {
        let noise = (round % 2 == 0).then(|| dice.next());
        let crash = (round % 3 != 0).then(|| Crash {
            append: 1 + dice.below(appends.max(1)),
            is_stored: dice.chance(50),
        });
        let pause = (round >= 3 || dice.chance(40)).then(|| 1 + dice.below(base.inputs.max(2)));
        let disturbance = Disturbance {
            crash,
            noise,
            pause,
        };
        try_one(scenario, &disturbance, &base, options, report);
    }
}

fn try_one(
    scenario: &Scenario,
    disturbance: &Disturbance,
    base: &Performance,
    options: &Options,
    report: &mut Report,
) {
    if report.violation.is_some() || report.runs >= options.runs {
        return;
    }
    let performance = perform(scenario, disturbance, options.broken);
    note(scenario, disturbance, &performance, Some(base), report);
}

fn note(
    scenario: &Scenario,
    disturbance: &Disturbance,
    performance: &Performance,
    base: Option<&Performance>,
    report: &mut Report,
) {
    report.count(performance);
    if let Some(fault) = verify::first_fault(scenario, performance, base, report.broken) {
        report.violation = Some(Violation {
            scenario: scenario.number,
            run: report.runs,
            disturbance: format!("{disturbance:?}"),
            fault,
            events: performance
                .events
                .iter()
                .map(|event| format!("{} {:?}", event.at.as_micros() / 1_000, event.what))
                .collect(),
        });
    }
}
