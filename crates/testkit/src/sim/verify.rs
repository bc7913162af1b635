//! The promises, checked against what was stored and what the tools saw.

mod bounds;

use super::Break;
use super::backend::is_keyed;
use super::harness::Performance;
use super::scenario::Scenario;
use onecall_engine::event::{End, Event, Outcome, Status, What};
use onecall_engine::evolve::evolve;
use onecall_engine::failure::Code;
use onecall_engine::identity::{CallId, Slot, Timestamp};
use onecall_engine::state::State;
use onecall_workflow::policy::{SkippedNeed, Then};
use onecall_workflow::step::{Action, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The first promise that was broken, in words.
pub(super) fn first_fault(
    scenario: &Scenario,
    performance: &Performance,
    base: Option<&Performance>,
    broken: Option<Break>,
) -> Option<String> {
    if !performance.came_to_rest {
        return Some("the run goes on and on".to_owned());
    }
    if performance.state.end.is_none() {
        return Some("the run came to rest without an end".to_owned());
    }
    // A tampered state is not what its events say; that is not what such a simulation looks for.
    if broken.is_none()
        && let Some(fault) = folding(performance)
    {
        return Some(fault);
    }
    order(&performance.events)
        .or_else(|| effects(scenario, performance))
        .or_else(|| keys(&performance.events))
        .or_else(|| widths(scenario, &performance.events))
        .or_else(|| needs(scenario, &performance.events))
        .or_else(|| deadlines(performance))
        .or_else(|| defaults(scenario, &performance.events))
        .or_else(|| skips(scenario, &performance.events))
        .or_else(|| aborts(scenario, &performance.events))
        .or_else(|| retries(scenario, &performance.events))
        .or_else(|| bounds::first_fault(scenario, &performance.events))
        .or_else(|| base.and_then(|base| same_end(scenario, performance, base)))
}

/// Folding what was stored gives the state the last owner had.
fn folding(performance: &Performance) -> Option<String> {
    let plan = Arc::clone(&performance.state.plan);
    let mut folded = State::new(performance.state.run.clone(), plan);
    for event in &performance.events {
        evolve(&mut folded, event);
    }
    (folded.image() != performance.state.image())
        .then(|| "folding the events gives another state".to_owned())
}

/// Everything starts and ends once, and nothing is applied after the end.
fn order(events: &[Event]) -> Option<String> {
    let mut ended_steps = BTreeSet::new();
    let mut ended_items = BTreeSet::new();
    let mut answered = BTreeSet::new();
    let mut open: BTreeSet<CallId> = BTreeSet::new();
    let mut started = BTreeSet::new();
    let mut is_ended = false;
    for event in events {
        if is_ended && !matches!(event.what, What::Note { .. }) {
            return Some(format!("{} after the end of the run", event.what.kind()));
        }
        let is_fresh = match &event.what {
            What::StepEnded { step, .. } => ended_steps.insert(*step),
            What::ItemEnded { step, item, .. } => ended_items.insert((*step, *item)),
            // A tool may ask again, when it is called again.
            What::QuestionAnswered {
                step, round, sent, ..
            } => answered.insert((*step, sent.as_ref().map(|_| *round))),
            What::AttemptStarted { call, .. } => {
                open.insert(*call);
                started.insert(*call)
            }
            What::AttemptEnded { call, .. } => open.remove(call),
            What::RunEnded { .. } => {
                is_ended = true;
                true
            }
            _ => true,
        };
        if !is_fresh {
            return Some(format!("happened twice: {:?}", event.what));
        }
    }
    None
}

/// An effect is applied once, however often its call was made.
fn effects(scenario: &Scenario, performance: &Performance) -> Option<String> {
    for (slot, ledger) in performance.backend.ledger() {
        let applied = ledger.applied.len();
        if applied > 1 {
            let kind = if is_keyed(scenario, *slot) {
                "a keyed"
            } else {
                "an unrepeatable"
            };
            return Some(format!(
                "{kind} effect of {slot:?} was applied {applied} times"
            ));
        }
    }
    let completed = |slot: &Slot| {
        performance
            .backend
            .ledger()
            .get(slot)
            .is_some_and(|ledger| !ledger.applied.is_empty())
    };
    for event in &performance.events {
        if let What::AttemptEnded {
            call,
            outcome: Outcome::Returned(_),
        } = &event.what
            && !completed(&call.slot())
        {
            return Some(format!("{call:?} returned and had no effect"));
        }
    }
    None
}

/// The key of a slot changes after a definite failure and at no other time.
fn keys(events: &[Event]) -> Option<String> {
    let mut known: BTreeMap<Slot, &str> = BTreeMap::new();
    let mut settling = Settling::default();
    for event in events {
        let is_definite = settling.saw(event);
        match &event.what {
            What::AttemptStarted { call, key, .. } => {
                let before = known.insert(call.slot(), key);
                if before.is_some_and(|before| before != key) {
                    return Some(format!("{call:?} has a new key without a definite failure"));
                }
            }
            What::AttemptEnded { call, .. } if is_definite => {
                known.remove(&call.slot());
            }
            _ => {}
        }
    }
    None
}

/// Slots with a call that may have acted and that its tool has not answered since.
#[derive(Default)]
struct Settling(BTreeSet<Slot>);

impl Settling {
    /// Whether this is a failure of an attempt that says something of the calls before it.
    fn saw(&mut self, event: &Event) -> bool {
        let What::AttemptEnded { call, outcome } = &event.what else {
            return false;
        };
        let slot = call.slot();
        match outcome {
            Outcome::Unknown(_) => {
                self.0.insert(slot);
                false
            }
            Outcome::Returned(_) | Outcome::Asks(_) => {
                self.0.remove(&slot);
                false
            }
            Outcome::Failed { failure, .. } => {
                let is_told = matches!(failure.code, Code::ToolError | Code::ToolArguments);
                let is_definite = is_told || !self.0.contains(&slot);
                if is_definite {
                    self.0.remove(&slot);
                }
                is_definite
            }
        }
    }
}

/// No more steps of a run and no more items of a loop are open than allowed.
fn widths(scenario: &Scenario, events: &[Event]) -> Option<String> {
    let mut state = State::new(
        onecall_engine::identity::RunId::new("run"),
        Arc::clone(&scenario.plan),
    );
    let width = scenario.plan.workflow.policy.steps_parallel_max;
    for event in events {
        evolve(&mut state, event);
        if width.is_some_and(|width| state.active.len() > width as usize) {
            return Some(format!("{} steps are open at once", state.active.len()));
        }
        for (step, own) in scenario.plan.workflow.steps.iter().zip(&state.steps) {
            if let (Action::Each(each), Some(progress)) = (&step.action, &own.each)
                && progress.open > each.parallel_max
            {
                return Some(format!("loop `{}` is too wide", step.name));
            }
        }
    }
    None
}

/// A step does something only after the steps it needs have ended.
fn needs(scenario: &Scenario, events: &[Event]) -> Option<String> {
    let steps = &scenario.plan.workflow.steps;
    let mut ended = BTreeSet::new();
    for event in events {
        let step = match &event.what {
            What::AttemptStarted { call, .. } => call.step,
            What::QuestionAsked { step, .. } | What::ItemsAre { step, .. } => *step,
            What::StepEnded { step, status, .. } => {
                ended.insert(steps[*step as usize].name.as_str());
                if *status != Status::Completed {
                    continue;
                }
                *step
            }
            _ => continue,
        };
        let own = &steps[step as usize];
        let missing = own
            .needs
            .iter()
            .find(|need| !ended.contains(need.step.as_str()));
        if let Some(need) = missing {
            return Some(format!(
                "`{}` started before `{}` ended",
                own.name, need.step
            ));
        }
    }
    None
}

/// Nothing completes after its deadline. Deadlines that were moved are left to the cases.
fn deadlines(performance: &Performance) -> Option<String> {
    let moves = |event: &&Event| {
        matches!(
            event.what,
            What::Held { .. } | What::ClockStopped | What::CallAsked { .. }
        )
    };
    if performance.events.iter().any(|event| moves(&event)) {
        return None;
    }
    let mut run: Option<Timestamp> = None;
    let mut calls: BTreeMap<CallId, Timestamp> = BTreeMap::new();
    for event in &performance.events {
        match &event.what {
            What::RunStarted { deadline, .. } => run = *deadline,
            What::AttemptStarted {
                call,
                deadline: Some(deadline),
                ..
            } => {
                calls.insert(*call, *deadline);
            }
            What::AttemptEnded {
                call,
                outcome: Outcome::Returned(_) | Outcome::Failed { .. },
            } if calls
                .get(call)
                .is_some_and(|deadline| event.at >= *deadline) =>
            {
                return Some(format!("{call:?} ended after its deadline"));
            }
            What::RunEnded {
                end: End::Completed { .. },
            } if run.is_some_and(|deadline| event.at >= deadline) => {
                return Some("the run completed after its deadline".to_owned());
            }
            _ => {}
        }
    }
    None
}

/// Whatever is skipped, or fails and is continued, shows its default.
fn defaults(scenario: &Scenario, events: &[Event]) -> Option<String> {
    for event in events {
        let What::StepEnded {
            step,
            status,
            output,
            defaulted,
            ..
        } = &event.what
        else {
            continue;
        };
        let own = scenario.plan.step(*step as usize);
        let goes_on = own.on_error.then == Then::Continue;
        let wants = match status {
            Status::Skipped => own.default.as_ref(),
            Status::Failed if goes_on => own.default.as_ref(),
            Status::Failed
            | Status::Completed
            | Status::Cancelled
            | Status::Pending
            | Status::Running => None,
        };
        let shows = match output {
            onecall_engine::event::Output::Value(value) if *defaulted => Some(&**value),
            _ => None,
        };
        if wants != shows {
            return Some(format!(
                "step `{}` shows {shows:?}, not {wants:?}",
                own.name
            ));
        }
    }
    None
}

/// Where a skip travels, a step whose need was skipped without a default does nothing; nor, where failures
/// travel too, does one whose need failed.
fn skips(scenario: &Scenario, events: &[Event]) -> Option<String> {
    let steps = &scenario.plan.workflow.steps;
    let mut skipped = BTreeSet::new();
    let mut failed = BTreeSet::new();
    for event in events {
        let What::StepEnded {
            step,
            status,
            defaulted,
            ..
        } = &event.what
        else {
            continue;
        };
        let own = &steps[*step as usize];
        let is_hit = own.needs.iter().filter(|need| !need.optional).any(|need| {
            let need = need.step.as_str();
            match own.skipped_need {
                SkippedNeed::Runs => false,
                SkippedNeed::Skips => skipped.contains(need),
                SkippedNeed::SkipsAfterFailure => skipped.contains(need) || failed.contains(need),
            }
        });
        if is_hit && *status != Status::Skipped {
            return Some(format!("`{}` ran after a need was skipped", own.name));
        }
        if *status == Status::Skipped && !defaulted {
            skipped.insert(own.name.as_str());
        } else if *status == Status::Failed && !defaulted {
            failed.insert(own.name.as_str());
        }
    }
    None
}

/// A failed step that aborts ends the run, and a run that completed had none.
fn aborts(scenario: &Scenario, events: &[Event]) -> Option<String> {
    let aborted = events.iter().any(|event| match &event.what {
        What::StepEnded {
            step,
            status: Status::Failed,
            ..
        } => scenario.plan.step(*step as usize).on_error.then == Then::Abort,
        _ => false,
    });
    let completed = events.iter().any(|event| {
        matches!(
            event.what,
            What::RunEnded {
                end: End::Completed { .. }
            }
        )
    });
    (aborted && completed).then(|| "a step aborted and the run completed".to_owned())
}

/// No slot fails more often than its policy allows.
fn retries(scenario: &Scenario, events: &[Event]) -> Option<String> {
    let mut failures: BTreeMap<Slot, u32> = BTreeMap::new();
    let mut settling = Settling::default();
    for event in events {
        if settling.saw(event)
            && let What::AttemptEnded { call, .. } = &event.what
        {
            *failures.entry(call.slot()).or_default() += 1;
        }
    }
    failures.into_iter().find_map(|(slot, count)| {
        let own = governing(scenario, slot);
        let times = own.on_error.retry.as_ref().map_or(0, |retry| retry.times);
        (count > times + 1)
            .then(|| format!("{slot:?} failed {count} times, {times} retries allowed"))
    })
}

fn governing(scenario: &Scenario, slot: Slot) -> &Step {
    let step = scenario.plan.step(slot.step as usize);
    match (&step.action, slot.item) {
        (Action::Each(each), Some(_)) => &each.body,
        (Action::Each(_) | Action::Call(_) | Action::Ask(_), _) => step,
    }
}

/// Where nothing depends on time, the end is that of the undisturbed run.
fn same_end(scenario: &Scenario, performance: &Performance, base: &Performance) -> Option<String> {
    if !scenario.is_timely || performance.jumped {
        return None;
    }
    let (own, other) = (ending(&performance.state), ending(&base.state));
    (own != other).then(|| format!("ended otherwise than undisturbed:\n  {own}\n  {other}"))
}

/// What the semantics promise about an end: all of it where the run completed. What was under way when a run
/// failed depends on time.
fn ending(state: &State) -> String {
    match &state.end {
        Some(End::Completed {
            output, failure, ..
        }) => {
            let steps: Vec<String> = state
                .steps
                .iter()
                .map(|step| {
                    format!(
                        "{} {} {}",
                        step.status.0.as_str(),
                        step.defaulted,
                        step.output
                            .get()
                            .map(ToString::to_string)
                            .unwrap_or_default()
                    )
                })
                .collect();
            let code = failure.as_ref().map(|failure| failure.code);
            format!("completed {output} {code:?} {steps:?}")
        }
        Some(End::Failed { .. }) => "failed".to_owned(),
        Some(End::TimedOut { .. }) => "timed out".to_owned(),
        Some(End::Cancelled { .. }) => "cancelled".to_owned(),
        None => "none".to_owned(),
    }
}
