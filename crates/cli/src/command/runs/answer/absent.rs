//! Why there is nothing to answer: what became of the question, and what waits instead.

use crate::limits::HELD_SHOWN_MAX;
use onecall_engine::event::{Answer, AnswerAction, Event, What};
use onecall_engine::identity::Slot;
use onecall_engine::journal::{StoredRun, Summary};
use onecall_engine::state::State;
use onecall_source::suggest;

/// No step has this name.
pub(super) fn step(state: &State, name: &str, summary: &Summary) -> String {
    let run = &state.run;
    let steps: Vec<&str> = state
        .plan
        .workflow
        .step_names()
        .map(onecall_workflow::name::StepName::as_str)
        .collect();
    let near = suggest(name, steps.iter().copied());
    let near = near.map(|near| format!(", but one named `{near}`"));
    let waiting = match waiting(state, summary) {
        Some(names) => format!("these wait: {names}"),
        None => format!("none waits for an answer{}", ended(summary)),
    };
    format!(
        "run `{run}` has no step `{name}`{}; {waiting}",
        near.unwrap_or_default()
    )
}

/// The step asks nothing, and is not held.
pub(super) fn question(stored: &StoredRun, state: &State, slot: Slot) -> String {
    let summary = &stored.summary;
    let name = slot.named(state.step_name(slot.step));
    let closed = stored.events.iter().rev().find_map(|event| {
        let how = closing(&event.what, slot)?;
        Some(format!("{how} at {}", time(event)))
    });
    let why = match closed {
        Some(how) => format!("asks nothing any more: {how}{}", ended(summary)),
        None if summary.phase.is_ended() => format!("asks nothing{}", ended(summary)),
        None => "asks nothing now".to_owned(),
    };
    match waiting(state, summary) {
        Some(names) => format!("step `{name}` {why}; these wait: {names}"),
        None => format!("step `{name}` {why}"),
    }
}

/// How an event closed the question or the held call.
fn closing(what: &What, slot: Slot) -> Option<&'static str> {
    match what {
        What::QuestionAnswered { step, answer, .. } if *step == slot.step => Some(told(answer)),
        What::HeldResolved { slot: own, .. } if *own == slot => Some("it was decided"),
        _ => None,
    }
}

fn told(answer: &Answer) -> &'static str {
    match answer.action {
        AnswerAction::Timeout => "its time to answer was over",
        AnswerAction::Invalid => "its answers were invalid",
        _ if answer.defaulted => "its time to answer was over, and its default was taken",
        AnswerAction::Accept => "it was answered",
        AnswerAction::Decline => "it was declined",
        AnswerAction::Cancel => "it was cancelled",
    }
}

fn time(event: &Event) -> String {
    event.at.to_rfc3339()
}

/// `; the run has ended: timed_out, timeout.run`
fn ended(summary: &Summary) -> String {
    if !summary.phase.is_ended() {
        return String::new();
    }
    let failure = summary.failure.as_ref();
    let failure = failure.map(|code| format!(", {code}")).unwrap_or_default();
    format!("; the run has ended: {}{failure}", summary.phase.as_str())
}

/// What a person can move on, by name.
fn waiting(state: &State, summary: &Summary) -> Option<String> {
    if summary.phase.is_ended() {
        return None;
    }
    let asking = state.questions.keys().map(|step| Slot::of_step(*step));
    let held = state.held.keys().copied();
    let named = |slot: Slot| format!("`{}`", slot.named(state.step_name(slot.step)));
    let names: Vec<String> = asking.chain(held).take(HELD_SHOWN_MAX).map(named).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_may_have_been_closed_by_time_alone() {
        let closed = |action, defaulted| {
            let answer = Answer {
                action,
                content: None,
                defaulted,
            };
            let what = What::QuestionAnswered {
                step: 1,
                round: 0,
                answer,
                sent: None,
            };
            assert_eq!(closing(&what, Slot::of_step(0)), None);
            closing(&what, Slot::of_step(1)).unwrap()
        };
        assert_eq!(
            closed(AnswerAction::Timeout, false),
            "its time to answer was over"
        );
        assert!(closed(AnswerAction::Accept, true).contains("its default was taken"));
        assert_eq!(closed(AnswerAction::Accept, false), "it was answered");
    }
}
