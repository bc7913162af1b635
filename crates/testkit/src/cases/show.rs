//! A played run as text and data, to be compared with what a case expects.

use super::execute::{Executed, Run};
use onecall_engine::event::{End, Event, Outcome, Resolution, What};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::Slot;
use onecall_engine::result::of_run;
use onecall_engine::scripted::Played;
use onecall_engine::state::State;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// `1m`, `2s`, `1500ms`.
pub(super) fn duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis == 0 {
        "0s".to_owned()
    } else if millis.is_multiple_of(60_000) {
        format!("{}m", millis / 60_000)
    } else if millis.is_multiple_of(1_000) {
        format!("{}s", millis / 1_000)
    } else {
        format!("{millis}ms")
    }
}

/// Everything a `result` block can ask for.
pub(super) fn result(played: &Played) -> Map<String, Value> {
    let state = &played.state;
    let mut all = ending(state);
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("took", json!(duration(played.took())));
    put(
        "steps",
        by_step(state, |step| json!(state.step(step).status.0.as_str())),
    );
    put(
        "outputs",
        by_step(state, |step| json!(state.step(step).output.get())),
    );
    put(
        "defaulted",
        by_step(state, |step| json!(state.step(step).defaulted)),
    );
    put(
        "errors",
        by_step(state, |step| {
            json!(
                state
                    .step(step)
                    .failure
                    .as_ref()
                    .map(|failure| failure.code.as_str())
            )
        }),
    );
    put(
        "reasons",
        by_step(state, |step| json!(state.step(step).skip_reason)),
    );
    put(
        "held",
        json!(
            state
                .held
                .keys()
                .map(|slot| name(state, *slot))
                .collect::<Vec<_>>()
        ),
    );
    put("calls", json!(calls(played)));
    put("keys", json!(keys(played)));
    put("questions", json!(questions(played)));
    all
}

/// How the run ended, with what it gave or why it gave nothing.
fn ending(state: &State) -> Map<String, Value> {
    let (end, output, failure, partial) = match &state.end {
        None => ("open", Value::Null, None, None),
        Some(End::Completed {
            output, failure, ..
        }) => ("completed", Value::clone(output), failure.as_ref(), None),
        Some(End::Failed { failure, partial }) => {
            ("failed", Value::Null, Some(failure), Some(partial))
        }
        Some(End::TimedOut { failure, partial }) => {
            ("timed_out", Value::Null, Some(failure), Some(partial))
        }
        Some(End::Cancelled { failure, partial }) => {
            ("cancelled", Value::Null, Some(failure), Some(partial))
        }
    };
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("end", json!(end));
    put("output", output);
    put(
        "failure",
        json!(failure.map(|failure| failure.code.as_str())),
    );
    put(
        "message",
        json!(failure.map(|failure| failure.message.as_str())),
    );
    put(
        "step",
        json!(failure.and_then(|failure| failure.step.as_deref())),
    );
    put(
        "attempt",
        json!(failure.and_then(|failure| failure.attempt)),
    );
    put("partial", json!(partial));
    let answer = state.end.as_ref().map(|end| of_run(state, end));
    put("answer", json!(answer));
    let phase = state.mark().phase;
    put("phase", json!(phase.as_str()));
    all
}

fn by_step(state: &State, value: impl Fn(u32) -> Value) -> Value {
    let names = state.plan.workflow.step_names();
    let entries = (0_u32..).zip(names);
    Value::Object(
        entries
            .map(|(step, name)| (name.as_str().to_owned(), value(step)))
            .collect(),
    )
}

fn name(state: &State, slot: Slot) -> String {
    let step = state.step_name(slot.step);
    slot.item
        .map_or_else(|| step.to_owned(), |item| format!("{step}[{item}]"))
}

fn calls(played: &Played) -> Vec<String> {
    let calls = played.calls.iter().map(|call| {
        let at = duration(call.at.since(played.state.started));
        let slot = name(&played.state, call.id.slot());
        let carried = call.carried.as_ref().map(|carried| {
            let answers = Value::Object(carried.answers.clone());
            let state = carried.state.as_deref().unwrap_or("nothing");
            format!(" with {answers} and {state}")
        });
        format!(
            "{at} {slot} {}{}",
            call.arguments,
            carried.unwrap_or_default()
        )
    });
    calls.collect()
}

/// Letters for keys, in the order they were first used: the same letter is the same key.
fn keys(played: &Played) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let letters = played.calls.iter().map(|call| {
        let at = seen.iter().position(|key| *key == call.key);
        let at = at.unwrap_or_else(|| {
            seen.push(&call.key);
            seen.len() - 1
        });
        char::from(b'a' + u8::try_from(at.min(25)).unwrap_or(25))
    });
    letters.collect()
}

fn questions(played: &Played) -> Vec<String> {
    let asked = played.events.iter().filter_map(|event| match &event.what {
        What::QuestionAsked { message, .. } => Some(message.clone()),
        _ => None,
    });
    asked.collect()
}

/// One line an event, with its time since the start.
pub(super) fn events(played: &Played) -> String {
    let lines = played.events.iter().map(|event| {
        let at = duration(event.at.since(played.state.started));
        format!("{at} {}\n", line(&played.state, event))
    });
    lines.collect()
}

fn step_end(what: &What) -> String {
    let What::StepEnded {
        status,
        defaulted,
        reason,
        failure,
        ..
    } = what
    else {
        return String::new();
    };
    let default = if *defaulted { " with its default" } else { "" };
    let code = failure.as_ref().map(|failure| failure.code.to_string());
    let why = reason.clone().or(code).map(|why| format!(": {why}"));
    format!("{}{default}{}", status.as_str(), why.unwrap_or_default())
}

fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Returned(_) => "returned".to_owned(),
        Outcome::Failed { failure, .. } => format!("failed {}", failure.code),
        Outcome::Asks(_) => "asks".to_owned(),
        Outcome::Unknown(lost) => format!("unknown {lost:?}"),
    }
}

fn line(state: &State, event: &Event) -> String {
    let step_name = |step: u32| state.step_name(step);
    match &event.what {
        What::RunStarted { .. } => "run started".to_owned(),
        What::AttemptStarted {
            call, arguments, ..
        } => format!("{} called {arguments}", name(state, call.slot())),
        What::CallAsked { call, .. } => format!("{} asks meanwhile", name(state, call.slot())),
        What::AttemptEnded { call, outcome } => {
            format!("{} {}", name(state, call.slot()), outcome_words(outcome))
        }
        What::Used { call, total, .. } => format!(
            "{} used, in all {} and {} tokens",
            name(state, call.slot()),
            total.cost,
            total.tokens
        ),
        What::RetryAt { call, due } => {
            let due = duration(due.since(state.started));
            format!("{} waits until {due}", name(state, call.slot()))
        }
        What::Mocked { step, .. } => format!("{} mocked", step_name(*step)),
        What::ItemsAre { step, items, .. } => {
            format!("{} has {} items", step_name(*step), items.len())
        }
        What::ItemEnded {
            step, item, status, ..
        } => format!("{}[{item}] {}", step_name(*step), status.as_str()),
        What::StepEnded { step, .. } => format!("{} {}", step_name(*step), step_end(&event.what)),
        What::QuestionAsked { step, round, .. } => {
            format!("{} asked, round {round}", step_name(*step))
        }
        What::AnswerRefused { step, .. } => format!("{} answered wrongly", step_name(*step)),
        What::QuestionAnswered { step, answer, .. } => {
            format!("{} answered {}", step_name(*step), answer.action.as_str())
        }
        What::ClockStopped => "clock stopped".to_owned(),
        What::ClockStarted { .. } => "clock started".to_owned(),
        What::DefaultUsed { property, .. } => format!("output {property} defaulted"),
        What::Held { slot, .. } => format!("{} held", name(state, *slot)),
        What::HeldResolved { slot, resolution } => {
            let how = match resolution {
                Resolution::Retry => "retry",
                Resolution::Result(_) => "result",
                Resolution::Fail => "fail",
            };
            format!("{} resolved: {how}", name(state, *slot))
        }
        What::RemainingSkipped { step } => format!("rest skipped after {}", step_name(*step)),
        What::CancelAsked { .. } => "cancel asked".to_owned(),
        What::RunEnded { end } => match end {
            End::Completed { .. } => "run completed".to_owned(),
            End::Failed { failure, .. } => format!("run failed: {}", failure.code),
            End::TimedOut { .. } => "run timed out".to_owned(),
            End::Cancelled { .. } => "run cancelled".to_owned(),
        },
        What::Note { text } => format!("note: {text}"),
    }
}

/// The codes of all failures, but for those that the script put there.
pub(super) fn codes(executed: &Executed) -> BTreeSet<Code> {
    let failures: Vec<&Failure> = match &executed.run {
        Run::Unread => Vec::new(),
        Run::Refused(failure) => vec![failure],
        Run::Played(played) => played.events.iter().filter_map(failure_of).collect(),
    };
    let codes = failures.into_iter().map(|failure| failure.code);
    codes
        .filter(|code| !executed.scripted.contains(code))
        .collect()
}

fn failure_of(event: &Event) -> Option<&Failure> {
    match &event.what {
        What::AttemptEnded {
            outcome: Outcome::Failed { failure, .. },
            ..
        } => Some(failure),
        What::StepEnded { failure, .. } | What::ItemEnded { failure, .. } => failure.as_ref(),
        What::RunEnded { end } => match end {
            End::Completed { failure, .. } => failure.as_ref(),
            End::Failed { failure, .. }
            | End::TimedOut { failure, .. }
            | End::Cancelled { failure, .. } => Some(failure),
        },
        _ => None,
    }
}
