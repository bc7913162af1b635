//! Where deciding happens and what a panic in it does. What is decided over a large value would hold up every
//! other run on its thread, so it is decided on a thread that may block.

use crate::decide::{Input, decide, end_with_fault};
use crate::evaluate::Evaluator;
use crate::event::{Event, Outcome, Resolution, Status, What};
use crate::identity::Timestamp;
use crate::limits::EVALUATION_BYTES_MAX;
use crate::state::State;
use crate::weight::is_heavier;
use onecall_workflow::coerce;
use onecall_workflow::policy::Then;
use onecall_workflow::step::Action;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Decides on the first input of a run. One whose decider panics has ended with that fault.
pub async fn begin(
    state: &mut State,
    at: Timestamp,
    input: Input,
    evaluator: &Arc<dyn Evaluator>,
) -> Vec<Event> {
    let (run, plan) = (state.run.clone(), Arc::clone(&state.plan));
    if let Some(events) = decided(state, at, vec![input], evaluator).await {
        return events;
    }
    *state = State::new(run, plan);
    end_with_fault(state, at)
}

/// Decides on inputs and folds what was decided. `None`: deciding panicked, and the state is of no use.
pub(super) async fn decided(
    state: &mut State,
    at: Timestamp,
    inputs: Vec<Input>,
    evaluator: &Arc<dyn Evaluator>,
) -> Option<Vec<Event>> {
    let takes_long = state.largest_bytes > EVALUATION_BYTES_MAX
        || state.plan.backtracks()
        || inputs
            .iter()
            .any(|input| is_large(input) || backtracks(state, input));
    let events = if takes_long {
        decided_elsewhere(state, at, inputs, Arc::clone(evaluator)).await
    } else {
        catch(state, at, inputs, &**evaluator)
    }?;
    warn_of_continued(state, &events);
    warn_of_defaults(state, &events);
    Some(events)
}

async fn decided_elsewhere(
    state: &mut State,
    at: Timestamp,
    inputs: Vec<Input>,
    evaluator: Arc<dyn Evaluator>,
) -> Option<Vec<Event>> {
    let empty = State::new(state.run.clone(), Arc::clone(&state.plan));
    let mut own = std::mem::replace(state, empty);
    let work = tokio::task::spawn_blocking(move || {
        let events = catch(&mut own, at, inputs, &*evaluator);
        (own, events)
    });
    let (own, events) = work.await.ok()?;
    *state = own;
    events
}

fn catch(
    state: &mut State,
    at: Timestamp,
    inputs: Vec<Input>,
    evaluator: &dyn Evaluator,
) -> Option<Vec<Event>> {
    // Unwind safety: a state that a panic left half changed is thrown away.
    let all = AssertUnwindSafe(|| {
        let mut events = Vec::new();
        for input in inputs {
            events.extend(decide(state, at, input, evaluator));
        }
        events
    });
    catch_unwind(all).ok()
}

/// Whether the question that an input answers has a schema with a pattern that backtracks. A tool writes its own.
fn backtracks(state: &State, input: &Input) -> bool {
    let is_answer = matches!(input, Input::Answer { .. });
    let mut schemas = state
        .questions
        .values()
        .filter_map(|question| question.schema.as_deref());
    is_answer && schemas.any(coerce::backtracks)
}

fn is_large(input: &Input) -> bool {
    let value: &Value = match input {
        Input::Start { input, .. } | Input::Repeat { input, .. } => input,
        Input::Ended {
            outcome: Outcome::Returned(result),
            ..
        } => result,
        Input::Answer { answer, .. } => match &answer.content {
            Some(content) => content,
            None => return false,
        },
        Input::Resolve {
            resolution: Resolution::Result(value),
            ..
        } => value,
        Input::CallAsks { request, .. } => request,
        Input::Ended { .. }
        | Input::Resolve { .. }
        | Input::Time
        | Input::Cancel { .. }
        | Input::Resume => return false,
    };
    is_heavier(value, EVALUATION_BYTES_MAX)
}

/// A failure after which the run goes on is seen in no result; the log names it. Not its message, in which a tool
/// may repeat what it was given; the journal has that.
fn warn_of_continued(state: &State, events: &[Event]) {
    for event in events {
        let (What::StepEnded {
            step,
            status: Status::Failed,
            failure: Some(failure),
            ..
        }
        | What::ItemEnded {
            step,
            status: Status::Failed,
            failure: Some(failure),
            ..
        }) = &event.what
        else {
            continue;
        };
        let own = state.plan.step(*step as usize);
        let is_item = matches!(event.what, What::ItemEnded { .. });
        let of_item = match &own.action {
            Action::Each(each) if is_item => each.body.on_error.then,
            Action::Each(_) | Action::Call(_) | Action::Ask(_) => Then::Abort,
        };
        if own.on_error.then == Then::Continue || of_item == Then::Continue {
            tracing::warn!(
                run = %state.run,
                step = own.name.as_str(),
                item = failure.item,
                attempt = failure.attempt,
                code = %failure.code,
                "the step failed and the run goes on"
            );
        }
    }
}

/// A default in the output looks like any other value; the log names the property. Not the reason, in which a value
/// of the run may stand; the journal has that.
fn warn_of_defaults(state: &State, events: &[Event]) {
    for event in events {
        if let What::DefaultUsed { property, .. } = &event.what {
            tracing::warn!(
                run = %state.run,
                property = property.as_str(),
                "a default took the place of a value of the output"
            );
        }
    }
}
