//! What must be done now: calls to make, questions to put, the next moment that matters.

use crate::identity::{CallId, Timestamp};
use crate::state::{OpenCall, OpenQuestion, State};

/// What a run asks of the world.
#[derive(Debug)]
pub struct Outstanding<'a> {
    pub calls: Vec<(CallId, &'a OpenCall)>,
    pub questions: Vec<(u32, &'a OpenQuestion)>,
    pub due: Option<Timestamp>,
}

pub fn outstanding(state: &State) -> Outstanding<'_> {
    Outstanding {
        calls: state.calls.iter().map(|(id, call)| (*id, call)).collect(),
        questions: state
            .questions
            .iter()
            .map(|(step, question)| (*step, question))
            .collect(),
        due: next_due(state),
    }
}

/// The next moment at which time alone changes something.
pub fn next_due(state: &State) -> Option<Timestamp> {
    if state.end.is_some() {
        return None;
    }
    let run = state.deadline.filter(|_| state.clock_stopped.is_none());
    let budget = state.budget_ends();
    let steps = state
        .active
        .iter()
        .filter(|step| !state.stands_still(**step))
        .filter_map(|step| state.step(*step).deadline);
    let calls = state
        .calls
        .iter()
        .filter(|(id, _)| !state.is_asking(id.slot()))
        .filter_map(|(_, call)| call.deadline);
    let waits = state.waits.values().map(|wait| wait.due);
    let questions = state
        .questions
        .values()
        .filter_map(|question| question.deadline);
    run.into_iter()
        .chain(budget)
        .chain(steps)
        .chain(calls)
        .chain(waits)
        .chain(questions)
        .min()
}
