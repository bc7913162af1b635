//! Folding: each event changes the state in one way. Nothing is evaluated here, so a journal folds the same
//! whatever has become of the evaluator since.

use crate::event::{Event, KeptStep, Lost, Outcome, Output, Resolution, Status, What};
use crate::failure::Code;
use crate::identity::{CallId, Slot, Timestamp};
use crate::inquiry::{Asking, Inquiry, Way};
use crate::result::given_result;
use crate::state::{
    Held, ItemState, Loop, MarkedAnswer, OpenCall, OpenQuestion, State, StepOutput, StepStatus,
    Wait, Work,
};
use crate::weight::weight;
use onecall_workflow::coerce::is_marked;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Folds one event into the state.
pub fn evolve(state: &mut State, event: &Event) {
    state.events += 1;
    let at = event.at;
    match &event.what {
        What::RunStarted { .. } => run_started(state, event),
        What::AttemptStarted { .. } => attempt_started(state, event),
        What::CallAsked { .. } => call_asked(state, event),
        What::AttemptEnded { call, outcome } => attempt_ended(state, *call, outcome, at),
        What::Used { total, .. } => state.spent = *total,
        What::RetryAt { call, due } => {
            state.waits.insert(call.slot(), Wait { due: *due });
        }
        What::Mocked { step, arguments } => {
            start_step(state, *step, at, None);
            state.steps[*step as usize]
                .work
                .arguments
                .clone_from(arguments);
        }
        What::ItemsAre { .. } => items_are(state, event),
        What::ItemEnded { .. } => item_ended(state, event),
        What::StepEnded { .. } => step_ended(state, event),
        What::QuestionAsked { .. } => question_asked(state, event),
        What::AnswerRefused { step, reason, .. } => {
            let own = &mut state.steps[*step as usize];
            own.answers_refused += 1;
            own.answer_fault = Some(reason.clone());
        }
        What::QuestionAnswered { .. } => question_answered(state, event),
        What::ClockStopped => state.clock_stopped = Some(at),
        What::ClockStarted { deadline } => {
            state.clock_stopped = None;
            state.deadline = *deadline;
        }
        What::Held { slot, reason } => {
            let reason = reason.clone();
            state.held.insert(*slot, Held { reason, since: at });
            stand_still(state, slot.step, at);
        }
        What::HeldResolved { slot, resolution } => held_resolved(state, *slot, resolution, at),
        What::RemainingSkipped { step } => state.skipping_after = Some(*step),
        What::RunEnded { end } => {
            state.end = Some(end.clone());
            state.ended = Some(at);
            state.calls.clear();
            state.waits.clear();
            state.questions.clear();
            state.asking.clear();
            state.held.clear();
        }
        What::DefaultUsed { .. } | What::CancelAsked { .. } | What::Note { .. } => {}
    }
}

fn run_started(state: &mut State, event: &Event) {
    let What::RunStarted {
        input,
        seed,
        deadline,
        kept,
    } = &event.what
    else {
        return;
    };
    hold(state, input);
    state.input = Arc::clone(input);
    state.seed = *seed;
    state.started = event.at;
    state.started_text = event.at.to_rfc3339();
    state.deadline = *deadline;
    let ready = (0..).zip(&state.steps).filter(|(_, step)| step.unmet == 0);
    state.ready = ready.map(|(index, _)| index).collect();
    for step in kept.iter().flat_map(|kept| &kept.steps) {
        keep_step(state, step, event.at);
    }
}

/// The step stands as the earlier run left it, without having been at work here.
fn keep_step(state: &mut State, kept: &KeptStep, at: Timestamp) {
    let Some(own) = state.steps.get_mut(kept.step as usize) else {
        return;
    };
    own.work.result.clone_from(&kept.result);
    if let Some(result) = &kept.result {
        hold(state, result);
    }
    let what = What::StepEnded {
        step: kept.step,
        status: Status::Completed,
        output: kept.output.clone(),
        defaulted: false,
        failure: None,
        reason: None,
    };
    step_ended(state, &Event { at, what });
}

fn items_are(state: &mut State, event: &Event) {
    let What::ItemsAre {
        step,
        items,
        deadline,
    } = &event.what
    else {
        return;
    };
    items.iter().for_each(|item| hold(state, item));
    start_step(state, *step, event.at, *deadline);
    state.steps[*step as usize].each = Some(Loop {
        items: Arc::clone(items),
        states: vec![ItemState::default(); items.len()],
        next: 0,
        open: 0,
        ended: 0,
    });
}

fn question_asked(state: &mut State, event: &Event) {
    let What::QuestionAsked {
        step,
        round,
        message,
        schema,
        deadline,
        by,
        url,
    } = &event.what
    else {
        return;
    };
    start_step(state, *step, event.at, *deadline);
    let question = OpenQuestion {
        round: *round,
        message: message.clone(),
        schema: schema.clone(),
        deadline: *deadline,
        asked: event.at,
        by: by.clone(),
        url: url.clone(),
        fault: state.steps[*step as usize].answer_fault.take(),
    };
    state.steps[*step as usize].questions_put = *round + 1;
    state.questions.insert(*step, question);
}

fn attempt_started(state: &mut State, event: &Event) {
    let What::AttemptStarted {
        call,
        arguments,
        key,
        deadline,
        carried,
    } = &event.what
    else {
        return;
    };
    let open = OpenCall {
        arguments: Arc::clone(arguments),
        key: key.clone(),
        deadline: *deadline,
        started: event.at,
        carried: carried.clone(),
    };
    open_call(state, *call, open);
}

fn open_call(state: &mut State, call: CallId, open: OpenCall) {
    let slot = call.slot();
    state.calls_made += 1;
    // Every attempt of a slot has the arguments of its first.
    if call.attempt == 0 {
        hold(state, &open.arguments);
    }
    state.waits.remove(&slot);
    if state.asking.remove(&slot).is_some() {
        go_on(state, slot, open.started);
    }
    if call.item.is_none() {
        start_step(state, call.step, open.started, open.deadline);
        state.steps[call.step as usize].deadline = open.deadline;
    } else if let Some((each, item)) = item_of(state, slot)
        && each.states[item].status.0 == Status::Pending
    {
        each.states[item].status = StepStatus(Status::Running);
        each.states[item].deadline = open.deadline;
        each.open += 1;
        each.next = each.next.max(slot.item.unwrap_or(0) + 1);
    }
    if let Some((each, item)) = item_of(state, slot) {
        each.states[item].deadline = open.deadline;
    }
    if let Some(work) = work_of(state, slot) {
        work.attempts = call.attempt + 1;
        work.arguments = Some(Arc::clone(&open.arguments));
        work.carried.clone_from(&open.carried);
    }
    state.calls.insert(call, open);
}

fn attempt_ended(state: &mut State, call: CallId, outcome: &Outcome, at: Timestamp) {
    let slot = call.slot();
    state.calls.remove(&call);
    if let Some(result) = outcome.result() {
        hold(state, result);
    }
    if *outcome == Outcome::Unknown(Lost::Crash) {
        state.calls_made = state.calls_made.saturating_sub(1);
    }
    forget_inquiry(state, slot, at);
    if let Outcome::Asks(inquiry) = outcome {
        start_asking(state, call, Inquiry::clone(inquiry), at);
    }
    let Some(work) = work_of(state, slot) else {
        return;
    };
    match outcome {
        Outcome::Returned(result) => work.result = Some(Arc::clone(result)),
        Outcome::Failed { failure, result } => {
            failed_attempt(work, failure.code);
            work.result.clone_from(result);
            work.carried = None;
        }
        Outcome::Asks(_) => {
            work.asked += 1;
            work.is_unsettled = false;
        }
        Outcome::Unknown(lost) => {
            work.is_unsettled = true;
            match lost {
                Lost::Crash => work.crashed += 1,
                Lost::Connection { .. } | Lost::Deadline | Lost::Cancelled => work.lost += 1,
            }
        }
    }
}

/// The key changes when the call has definitely failed: never while an earlier one under it may have acted, unless
/// the tool itself has answered.
fn failed_attempt(work: &mut Work, code: Code) {
    if code.may_have_acted() {
        work.is_unsettled = true;
    } else if work.is_unsettled && !code.is_told_by_the_tool() {
        work.unsent += 1;
    } else {
        work.definite_failures += 1;
        work.is_unsettled = false;
    }
}

/// Counts a value the run holds from now on. Values that were let go again still count.
fn hold(state: &mut State, value: &Value) {
    let bytes = weight(value);
    state.data_bytes = state.data_bytes.saturating_add(bytes);
    state.largest_bytes = state.largest_bytes.max(bytes);
}

fn hold_output(state: &mut State, output: &Output) {
    if let Output::Value(value) = output {
        hold(state, value);
    }
}

fn start_step(state: &mut State, step: u32, at: Timestamp, deadline: Option<Timestamp>) {
    let own = &mut state.steps[step as usize];
    if own.status.0 == Status::Pending {
        own.status = StepStatus(Status::Running);
        own.started = Some(at);
        own.deadline = deadline;
        state.ready.remove(&step);
        state.active.insert(step);
    }
}

fn item_ended(state: &mut State, event: &Event) {
    let What::ItemEnded {
        step,
        item,
        status,
        output,
        failure,
    } = &event.what
    else {
        return;
    };
    let slot = Slot {
        step: *step,
        item: Some(*item),
    };
    state.waits.remove(&slot);
    state.held.remove(&slot);
    hold_output(state, output);
    forget_inquiry(state, slot, event.at);
    go_on(state, slot, event.at);
    let Some((each, index)) = item_of(state, slot) else {
        return;
    };
    let own = &mut each.states[index];
    if own.status.0 == Status::Running {
        each.open -= 1;
    }
    own.output = StepOutput::from_event(output, &own.work);
    own.failure.clone_from(failure);
    own.status = StepStatus(*status);
    each.ended += 1;
    each.next = each.next.max(*item + 1);
}

fn step_ended(state: &mut State, event: &Event) {
    let What::StepEnded {
        step,
        status,
        output,
        defaulted,
        failure,
        reason,
    } = &event.what
    else {
        return;
    };
    hold_output(state, output);
    let slots = |slot: &Slot| slot.step == *step;
    state.waits.retain(|slot, _| !slots(slot));
    state.held.retain(|slot, _| !slots(slot));
    state.asking.retain(|slot, _| !slots(slot));
    state.calls.retain(|call, _| call.step != *step);
    state.questions.remove(step);
    state.ready.remove(step);
    state.active.remove(step);
    state.ended_steps += 1;
    let own = &mut state.steps[*step as usize];
    own.output = StepOutput::from_event(output, &own.work);
    own.status = StepStatus(*status);
    own.started = own.started.or(Some(event.at));
    own.ended = Some(event.at);
    own.defaulted = *defaulted;
    own.failure_json = failure.as_ref().map(crate::failure::Failure::to_json);
    own.failure.clone_from(failure);
    own.skip_reason.clone_from(reason);
    let needs = Arc::clone(&state.needs);
    for dependent in &needs.dependents[*step as usize] {
        let other = &mut state.steps[*dependent as usize];
        other.unmet = other.unmet.saturating_sub(1);
        if other.unmet == 0 && other.status.0 == Status::Pending {
            state.ready.insert(*dependent);
        }
    }
}

fn call_asked(state: &mut State, event: &Event) {
    let What::CallAsked { call, key, request } = &event.what else {
        return;
    };
    let request = Value::clone(request);
    if let Some(asking) = state.asking.get_mut(&call.slot()) {
        if !asking.is_open() {
            asking.since = event.at;
        }
        asking.inquiry.requests.insert(key.clone(), request);
        stand_still(state, call.step, event.at);
        return;
    }
    let requests = [(key.clone(), request)].into_iter().collect();
    let inquiry = Inquiry {
        requests,
        state: None,
        way: Way::Live,
    };
    start_asking(state, *call, inquiry, event.at);
}

fn start_asking(state: &mut State, call: CallId, inquiry: Inquiry, at: Timestamp) {
    let asking = Asking {
        call,
        inquiry,
        since: at,
        answers: serde_json::Map::new(),
    };
    state.asking.insert(call.slot(), asking);
    stand_still(state, call.step, at);
}

fn question_answered(state: &mut State, event: &Event) {
    let What::QuestionAnswered {
        step, answer, sent, ..
    } = &event.what
    else {
        return;
    };
    let own = &mut state.steps[*step as usize];
    own.answers_refused = 0;
    own.answer_fault = None;
    let Some(question) = state.questions.remove(step) else {
        return;
    };
    if let (Some(schema), Some(content)) = (question.schema, &answer.content)
        && is_marked(&schema)
    {
        let content = content.clone();
        state.marked_answers.push(MarkedAnswer { schema, content });
    }
    let Some(by) = question.by else {
        return;
    };
    let slot = Slot {
        step: *step,
        item: by.item,
    };
    let (Some(asking), Some(sent)) = (state.asking.get_mut(&slot), sent) else {
        return;
    };
    asking.answers.insert(by.key, Value::clone(sent));
    if asking.is_open() {
        return;
    }
    // A call in flight had its clock stopped while it waited.
    let waited = event.at.since(asking.since);
    if let Some(call) = state.calls.get_mut(&asking.call) {
        call.deadline = call.deadline.map(|deadline| deadline.plus(waited));
        later_item(state, slot, waited);
        go_on(state, slot, event.at);
    }
}

/// The tool of a slot asks nothing any more, answered or not.
fn forget_inquiry(state: &mut State, slot: Slot, at: Timestamp) {
    if state.asking.remove(&slot).is_none() {
        return;
    }
    let is_its = |question: &OpenQuestion| {
        let by = question.by.as_ref();
        by.is_some_and(|by| by.item == slot.item)
    };
    if state.questions.get(&slot.step).is_some_and(is_its) {
        state.questions.remove(&slot.step);
    }
    go_on(state, slot, at);
}

/// While people are waited for, the deadline of a step stands still.
fn stand_still(state: &mut State, step: u32, at: Timestamp) {
    let own = &mut state.steps[step as usize];
    own.still_since.get_or_insert(at);
}

/// A slot waits for nobody any more; its step goes on once none of its slots does.
fn go_on(state: &mut State, slot: Slot, at: Timestamp) {
    if state.stands_still(slot.step) {
        return;
    }
    let own = &mut state.steps[slot.step as usize];
    if let Some(since) = own.still_since.take() {
        own.deadline = own.deadline.map(|deadline| deadline.plus(at.since(since)));
    }
}

/// The time a slot was held does not count against its deadlines.
fn held_resolved(state: &mut State, slot: Slot, resolution: &Resolution, at: Timestamp) {
    let Some(held) = state.held.remove(&slot) else {
        return;
    };
    go_on(state, slot, at);
    later_item(state, slot, at.since(held.since));
    let Resolution::Result(value) = resolution else {
        return;
    };
    let result = given_result(value);
    hold(state, &result);
    if let Some(work) = work_of(state, slot) {
        work.result = Some(Arc::new(result));
        work.is_unsettled = false;
    }
}

fn later_item(state: &mut State, slot: Slot, waited: Duration) {
    if let Some((each, item)) = item_of(state, slot) {
        let own = &mut each.states[item];
        own.deadline = own.deadline.map(|deadline| deadline.plus(waited));
    }
}

fn item_of(state: &mut State, slot: Slot) -> Option<(&mut Loop, usize)> {
    let each = state.steps.get_mut(slot.step as usize)?.each.as_mut()?;
    let item = slot.item? as usize;
    (item < each.states.len()).then_some((each, item))
}

fn work_of(state: &mut State, slot: Slot) -> Option<&mut Work> {
    match slot.item {
        None => state
            .steps
            .get_mut(slot.step as usize)
            .map(|step| &mut step.work),
        Some(_) => item_of(state, slot).map(|(each, item)| &mut each.states[item].work),
    }
}
