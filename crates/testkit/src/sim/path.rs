//! How long a run takes against its longest chain of steps, on the virtual clock.

use super::dice::Dice;
use super::scenario;
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::scripted::{Reply, Script, play};
use serde_json::json;
use std::time::Duration;

/// What a run took, and what it had to take.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub took: Duration,
    /// The longest chain of steps that wait for each other.
    pub longest: Duration,
}

/// Plays a random graph of calls, each of which takes its own time.
pub fn critical_path(number: u64) -> Path {
    let mut dice = Dice::of(&[11, number]);
    let count = 2 + dice.below(30);
    let (plan, needs) = scenario::plain(&mut dice, count);
    let mut script = Script::default();
    let mut ends: Vec<Duration> = Vec::new();
    for (step, needs) in needs.iter().enumerate() {
        let work = Duration::from_micros(1 + dice.below(90_000_000));
        let reply = Reply::structured(&json!({ "value": 1 })).after(work);
        script.tools.insert(format!("s{step}"), vec![reply]);
        let start = needs.iter().map(|need| ends[*need]).max();
        ends.push(start.unwrap_or_default() + work);
    }
    let played = play(&plan, json!({}), &script, &PlanEvaluator::default());
    Path {
        took: played.took(),
        longest: ends.into_iter().max().unwrap_or_default(),
    }
}
