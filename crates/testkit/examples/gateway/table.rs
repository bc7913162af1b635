//! The table: a line a figure, with its goal, whether it was reached, and where the CPU time went.

use crate::load::Took;
use std::io::Write as _;

#[derive(Debug, Default)]
pub(crate) struct Table {
    missed: Vec<String>,
}

impl Table {
    pub(crate) fn head(&self) {
        self.say(&format!(
            "{:<46} {:>10} {:>10}  {:<8} {}",
            "what", "measured", "goal", "verdict", "beside it"
        ));
    }

    /// A figure with a goal; `beside` says what it was made from.
    pub(crate) fn at_most(&mut self, what: &str, value: f64, goal: f64, unit: &str, beside: &str) {
        let verdict = if value <= goal { "reached" } else { "MISSED" };
        if value > goal {
            self.missed.push(what.to_owned());
        }
        self.say(&format!(
            "{what:<46} {:>10} {:>10}  {verdict:<8} {beside}",
            shown(value, unit),
            shown(goal, unit)
        ));
    }

    /// A figure that is told for its own sake.
    pub(crate) fn tell(&self, what: &str, value: f64, unit: &str, beside: &str) {
        let value = shown(value, unit);
        self.say(&format!(
            "{what:<46} {value:>10} {:>10}  {:<8} {beside}",
            "", ""
        ));
    }

    pub(crate) fn missed(&self) -> &[String] {
        &self.missed
    }

    #[expect(clippy::unused_self, reason = "lines are said by their table only")]
    pub(crate) fn say(&self, line: &str) {
        let _ = writeln!(std::io::stdout().lock(), "{}", line.trim_end());
    }
}

fn shown(value: f64, unit: &str) -> String {
    match unit {
        "" => format!("{value:.2}"),
        "ms" => format!("{value:.3} ms"),
        "/s" => format!("{value:.0} /s"),
        unit => format!("{value:.1} {unit}"),
    }
}

/// CPU time of each process for one of `per` pieces of the work.
pub(crate) fn cpu(took: &Took, per: f64) -> String {
    let us = |time: std::time::Duration| time.as_secs_f64() * 1e6 / (took.count() * per);
    let cpu = took.cpu;
    format!(
        "CPU us: gateway {:.0}, backend {:.0}, generator {:.0}",
        us(cpu.gateway),
        us(cpu.backend),
        us(cpu.generator)
    )
}
