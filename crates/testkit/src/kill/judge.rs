//! What must hold when everything has come to rest, told from the store, from the ledger of the backends and from
//! what callers were told.

use super::client::Client;
use super::process::Ground;
use super::{Fault, Report, workflows};
use futures::executor::block_on;
use onecall_engine::event::{Event, Outcome, What};
use onecall_engine::evolve::evolve;
use onecall_engine::identity::Slot;
use onecall_engine::journal::{Filter, Journal, Phase, StoredRun};
use onecall_engine::state::State;
use onecall_workflow::stored::{ReadPlanError, read_plan};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::Arc;

/// Limit: runs of one test; the store lists no more.
pub(super) const RUNS_MAX: usize = 10_000;

/// How often each idempotency key stands in the ledger.
type Ledger = BTreeMap<String, u64>;

pub(super) fn fold(stored: &StoredRun) -> Result<State, ReadPlanError> {
    let plan = Arc::new(read_plan(&stored.plan)?);
    let mut state = State::new(stored.summary.id.clone(), plan);
    for event in &stored.events {
        evolve(&mut state, event);
    }
    Ok(state)
}

pub(super) fn judge(
    report: &mut Report,
    store: &dyn Journal,
    ground: &Ground,
    client: &Client,
) -> Result<(), Fault> {
    let ledger = read_ledger(BufReader::new(File::open(&ground.ledger)?))?;
    let mut judge = Judge {
        report,
        ledger,
        known: BTreeSet::new(),
        completed: BTreeSet::new(),
    };
    let all = Filter {
        limit: RUNS_MAX,
        ..Filter::default()
    };
    for summary in block_on(store.list(all))? {
        match block_on(store.load(&summary.id))? {
            Some(stored) => {
                let plan = fold(&stored)?.plan;
                judge.run(&stored, &|step| {
                    let tool = plan.tool(step as usize);
                    tool.is_some_and(|tool| tool.original == workflows::STRICT)
                });
            }
            None => judge.lost(format!("run {} is listed and not there", summary.id)),
        }
    }
    judge.effects();
    judge.promises(&client.told());
    Ok(())
}

fn read_ledger(text: impl BufRead) -> io::Result<Ledger> {
    let mut ledger = Ledger::new();
    for line in text.lines() {
        if let Some(key) = line?.split(' ').nth(1) {
            *ledger.entry(key.to_owned()).or_default() += 1;
        }
    }
    Ok(ledger)
}

struct Judge<'a> {
    report: &'a mut Report,
    ledger: Ledger,
    /// Keys of calls that were stored before they were made.
    known: BTreeSet<String>,
    completed: BTreeSet<String>,
}

impl Judge<'_> {
    /// `is_strict`: the step may not be repeated when its outcome is unknown.
    fn run(&mut self, stored: &StoredRun, is_strict: &dyn Fn(u32) -> bool) {
        let id = &stored.summary.id;
        self.report.runs += 1;
        match stored.summary.phase {
            Phase::Completed => {
                self.report.completed += 1;
                self.completed.insert(id.to_string());
            }
            Phase::Held => self.report.held += 1,
            phase => {
                let code = stored.summary.failure.as_deref().unwrap_or_default();
                self.lost(format!("run {id} is {} {code}", phase.as_str()));
            }
        }
        let mut calls: BTreeMap<Slot, BTreeSet<&str>> = BTreeMap::new();
        let mut ended = BTreeSet::new();
        for Event { what, .. } in &stored.events {
            match what {
                What::AttemptStarted { call, key, .. } => {
                    self.known.insert(key.clone());
                    calls.entry(call.slot()).or_default().insert(key);
                }
                What::AttemptEnded {
                    call,
                    outcome: Outcome::Returned(_),
                } => {
                    let keys = calls.get(&call.slot());
                    if keys.is_none_or(|keys| self.executed(keys) == 0) {
                        self.lost(format!("run {id}: {call:?} returned and had no effect"));
                    }
                }
                What::StepEnded { step, .. } if !ended.insert(*step) => {
                    self.doubled(format!("run {id}: step {step} ended twice"));
                }
                _ => {}
            }
        }
        for (slot, keys) in &calls {
            let times = self.executed(keys);
            if times > 1 && is_strict(slot.step) {
                self.doubled(format!("run {id}: {slot:?} took effect {times} times"));
            }
        }
    }

    fn executed(&self, keys: &BTreeSet<&str>) -> u64 {
        let times = keys.iter().filter_map(|key| self.ledger.get(*key));
        times.sum()
    }

    /// Append, then perform: no effect without a stored call.
    fn effects(&mut self) {
        let keys = self.ledger.keys().filter(|key| !self.known.contains(*key));
        for key in keys.cloned().collect::<Vec<_>>() {
            self.lost(format!("key {key} took effect and is in no run"));
        }
    }

    /// What a caller was told has happened.
    fn promises(&mut self, told: &[String]) {
        for run in told {
            if !self.completed.contains(run) {
                self.lost(format!("a caller was told that run {run} completed"));
            }
        }
    }

    fn lost(&mut self, fault: String) {
        self.report.lost += 1;
        self.report.faults.push(fault);
    }

    fn doubled(&mut self, fault: String) {
        self.report.doubled += 1;
        self.report.faults.push(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_engine::identity::{RunId, Timestamp};
    use onecall_engine::journal::Summary;
    use onecall_workflow::policy::Durability;
    use serde_json::json;

    fn stored(phase: Phase, what: Vec<What>) -> StoredRun {
        let at = Timestamp::default();
        let summary = Summary {
            phase,
            ..Summary::new(RunId::new("r1"), "chain", at)
        };
        StoredRun {
            summary,
            plan: Arc::from("{}"),
            plan_hash: String::new(),
            durability: Durability::Async,
            events: what.into_iter().map(|what| Event { at, what }).collect(),
        }
    }

    fn started(key: &str) -> What {
        What::AttemptStarted {
            call: Slot::of_step(0).attempt(0),
            arguments: Arc::new(json!({})),
            key: key.to_owned(),
            deadline: None,
            carried: None,
        }
    }

    fn returned() -> What {
        What::AttemptEnded {
            call: Slot::of_step(0).attempt(0),
            outcome: Outcome::Returned(Arc::new(json!({}))),
        }
    }

    fn verdict(ledger: &str, phase: Phase, what: Vec<What>, told: &[&str]) -> (u64, u64) {
        let mut report = Report::default();
        let mut judge = Judge {
            report: &mut report,
            ledger: read_ledger(ledger.as_bytes()).unwrap(),
            known: BTreeSet::new(),
            completed: BTreeSet::new(),
        };
        judge.run(&stored(phase, what), &|_| true);
        judge.effects();
        let told: Vec<String> = told.iter().map(|run| (*run).to_owned()).collect();
        judge.promises(&told);
        (report.lost, report.doubled)
    }

    #[test]
    fn what_is_lost_or_doubled_is_found() {
        let good = || vec![started("k"), returned()];
        let once = "1 k append hash\n";
        assert_eq!(verdict(once, Phase::Completed, good(), &["r1"]), (0, 0));
        let twice = "1 k append hash\n2 k append hash\n";
        assert_eq!(verdict(twice, Phase::Completed, good(), &[]), (0, 1));
        let two_keys = "1 k append hash\n2 l append hash\n";
        let both = vec![started("k"), started("l"), returned()];
        assert_eq!(verdict(two_keys, Phase::Completed, both, &[]), (0, 1));
        // A result without an effect, an effect without a call, a run that never came to rest, a broken promise.
        assert_eq!(verdict("", Phase::Completed, good(), &[]), (1, 0));
        assert_eq!(verdict(two_keys, Phase::Completed, good(), &[]), (1, 0));
        assert_eq!(verdict(once, Phase::Running, good(), &[]), (1, 0));
        assert_eq!(verdict(once, Phase::Held, good(), &["r1"]), (1, 0));
    }
}
