//! Decide, evolve and driver with a world that answers at once and no journal.

use crate::load::{self, Instantly, drive_one, surroundings};
use crate::table::{Stopwatch, Table, Took, best};
use crate::{Done, Failed, runtime};
use onecall_engine::decide::{Input, decide};
use onecall_engine::driver::Stopped;
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{End, Outcome};
use onecall_engine::identity::RunId;
use onecall_engine::state::State;
use onecall_workflow::plan::Plan;
use onecall_workflow::policy::Durability;
use serde_json::{Value, json};
use std::sync::Arc;

const ROUNDS: usize = 5;

pub(crate) fn steps(table: &mut Table) -> Done {
    let count = 20;
    let runs = 2_000;
    let plan = load::chain(count)?;
    let total = runs * count as u64;
    let bare = decided(&plan, &load::input(), runs)?;
    let driven = driven(&plan, &load::input(), runs)?;
    table.tell("a step: decide + evolve", bare.cpu_us(total), "us CPU");
    table.at_most(
        "a step: decide + evolve + driver, no journal",
        driven.cpu_us(total),
        5.0,
        "us CPU",
    );
    table.tell("  the same", driven.wall_us(total), "us wall");
    Ok(())
}

pub(crate) fn items(table: &mut Table) -> Done {
    let items: Vec<String> = (0..1_000).map(|item| format!("item {item}")).collect();
    let input = json!({ "items": items });
    let plan = load::each()?;
    let runs = 40;
    let bare = decided(&plan, &input, runs)?;
    let driven = driven(&plan, &input, runs)?;
    table.tell(
        "an item of 1,000, 50 wide: decide + evolve",
        bare.cpu_us(runs * 1_000),
        "us CPU",
    );
    table.at_most(
        "an item of 1,000, 50 wide: decide + evolve + driver",
        driven.cpu_us(runs * 1_000),
        5.0,
        "us CPU",
    );
    table.tell("  the same", driven.wall_us(runs * 1_000), "us wall");
    Ok(())
}

/// Inputs fed by hand, one after the other.
fn decided(plan: &Arc<Plan>, input: &Value, runs: u64) -> Result<Took, &'static str> {
    let answer = load::answer();
    let rounds = (0..ROUNDS).map(|_| {
        let watch = Stopwatch::start();
        for _ in 0..runs {
            let mut state = State::new(RunId::new("run"), Arc::clone(plan));
            let start = load::start(input.clone());
            decide(&mut state, load::NOW, start, &PlanEvaluator::default());
            while let Some(call) = state.calls.keys().next().copied() {
                let outcome = Outcome::Returned(Arc::clone(&answer));
                let ended = Input::Ended { call, outcome };
                decide(&mut state, load::NOW, ended, &PlanEvaluator::default());
            }
            if !matches!(state.end, Some(End::Completed { .. })) {
                return None;
            }
        }
        Some(watch.stop())
    });
    let rounds: Option<Vec<Took>> = rounds.collect();
    rounds.and_then(best).ok_or("a run did not complete")
}

fn driven(plan: &Arc<Plan>, input: &Value, runs: u64) -> Result<Took, Failed> {
    let runtime = runtime()?;
    let surroundings = surroundings(Instantly::new(), None, Durability::None);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let watch = Stopwatch::start();
        runtime.block_on(async {
            for _ in 0..runs {
                let run = drive_one(Arc::clone(plan), input.clone(), surroundings.clone());
                let Stopped::Ended(state) = run.await? else {
                    return Err("a run did not end".into());
                };
                if !matches!(state.end, Some(End::Completed { .. })) {
                    return Err(format!("{:?}", state.end).into());
                }
            }
            Ok::<(), Failed>(())
        })?;
        rounds.push(watch.stop());
    }
    Ok(best(rounds).ok_or("no round")?)
}
