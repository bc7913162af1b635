//! Budgets: a run ends as soon as a cap is passed, says which, and never without reason.

use crate::sim::scenario::Scenario;
use onecall_engine::event::{End, Event, Status, What};
use onecall_engine::evolve::evolve;
use onecall_engine::failure::{Category, Code};
use onecall_engine::identity::RunId;
use onecall_engine::state::State;
use onecall_engine::usage::Cost;
use onecall_workflow::policy::Budget;
use std::sync::Arc;

pub(super) fn first_fault(scenario: &Scenario, events: &[Event]) -> Option<String> {
    let mut state = State::new(RunId::new("run"), Arc::clone(&scenario.plan));
    let budget = scenario.plan.workflow.policy.budget.clone();
    let budget = budget.unwrap_or_default();
    for event in events {
        if let What::AttemptStarted { call, .. } = &event.what
            && let Some(code) = passed(&budget, &state, event)
        {
            return Some(format!("{call:?} started after {code} was passed"));
        }
        evolve(&mut state, event);
        if let What::RunEnded { end } = &event.what {
            return ending(&budget, &state, end, event);
        }
    }
    None
}

/// The cap of what was reported or of time that the run has passed.
fn passed(budget: &Budget, state: &State, event: &Event) -> Option<Code> {
    let cost = budget.cost_usd.map(Cost::from_usd);
    let time = event.at.since(state.started);
    if cost.is_some_and(|cap| state.spent.cost > cap) {
        Some(Code::BudgetCost)
    } else if budget.tokens.is_some_and(|cap| state.spent.tokens > cap) {
        Some(Code::BudgetTokens)
    } else if budget.time.is_some_and(|cap| time > cap) {
        Some(Code::BudgetTime)
    } else if budget.calls.is_some_and(|cap| state.calls_made > cap) {
        Some(Code::BudgetCalls)
    } else {
        None
    }
}

fn ending(budget: &Budget, state: &State, end: &End, event: &Event) -> Option<String> {
    let passed = passed(budget, state, event);
    match end {
        End::Completed { .. } => {
            passed.map(|code| format!("the run completed although {code} was passed"))
        }
        End::Failed { failure, .. } if failure.code.category() == Category::Budget => {
            let is_used_up = budget.calls.is_some_and(|cap| state.calls_made >= cap);
            if passed != Some(failure.code) && !(is_used_up && failure.code == Code::BudgetCalls) {
                return Some(format!("{} without reason", failure.code));
            }
            let mut steps = state.steps.iter();
            let open = steps.any(|step| step.status.0 == Status::Pending);
            open.then(|| "a step is neither run nor skipped".to_owned())
        }
        End::Failed { .. } | End::TimedOut { .. } | End::Cancelled { .. } => None,
    }
}
