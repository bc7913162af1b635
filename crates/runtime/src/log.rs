//! What is logged of runs, and how many of them have ended how. Names and codes only: what a run was given, made or
//! failed with may be secret.

use onecall_engine::driver::Observer;
use onecall_engine::event::{End, Event, What};
use onecall_engine::journal::Phase;
use onecall_engine::state::State;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many runs of this process have ended, by phase.
#[derive(Debug, Default)]
pub(crate) struct Ends([AtomicU64; Phase::ALL.len()]);

impl Ends {
    /// Counts and logs the end of a run; one that has not ended is passed over.
    pub(crate) fn note(&self, state: &State) {
        let Some(end) = &state.end else {
            return;
        };
        let phase = state.phase();
        self.0[phase as usize].fetch_add(1, Ordering::Relaxed);
        let failure = match end {
            End::Completed { failure, .. } => failure.as_ref(),
            End::Failed { failure, .. }
            | End::TimedOut { failure, .. }
            | End::Cancelled { failure, .. } => Some(failure),
        };
        let lasted = state.ended.unwrap_or(state.started).since(state.started);
        let millis = u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX);
        let workflow = state.plan.workflow.name.as_str();
        let (run, outcome) = (&state.run, phase.as_str());
        match failure {
            None => tracing::info!(workflow, %run, outcome, ms = millis, "a run ended"),
            Some(failure) => {
                let code = failure.code.as_str();
                let step = failure.step.as_deref();
                if phase == Phase::Cancelled {
                    tracing::info!(workflow, %run, outcome, code, ms = millis, "a run ended");
                } else {
                    tracing::warn!(workflow, %run, outcome, code, step, ms = millis, "a run failed");
                }
            }
        }
    }

    /// Those phases that a run can end in, with how many did.
    pub(crate) fn counts(&self) -> Vec<(Phase, u64)> {
        let ends = Phase::ALL.into_iter().filter(|phase| phase.is_ended());
        ends.map(|phase| (phase, self.0[phase as usize].load(Ordering::Relaxed)))
            .collect()
    }
}

/// Logs what a run needs of a person, next to another observer.
pub(crate) struct Noting<O> {
    pub(crate) is_logged: bool,
    pub(crate) store_flag: Option<Arc<str>>,
    pub(crate) inner: Arc<O>,
}

impl<O: Observer> Observer for Noting<O> {
    fn saw(&self, state: &State, events: &[Event]) {
        if self.is_logged {
            needs(state, events, self.store_flag.as_deref());
        }
        self.inner.saw(state, events);
    }
}

/// Logs once that a run became held or waits for a person, with the command that moves it on. A question and the reason
/// of a held call may hold what is secret.
fn needs(state: &State, events: &[Event], store_flag: Option<&str>) {
    let (run, workflow) = (&state.run, state.plan.workflow.name.as_str());
    let help = |step: &str, choice: &str| match store_flag {
        Some(flag) => format!("onecall runs answer {run} {step}{choice}{flag}"),
        None => "answer in the client; the run ends with this process".to_owned(),
    };
    let held: Vec<String> = events
        .iter()
        .filter_map(|event| held(state, event))
        .collect();
    // Further calls of a run that is held already are not news.
    if let Some(step) = held.first().filter(|_| state.held.len() <= held.len()) {
        let help = help(&quoted(step), " (--result JSON | --fail | --retry)");
        tracing::warn!(
            workflow, %run, step, calls = held.len(), help,
            "a run is held: a call was sent and not answered, and whether it is made again is for a person to decide"
        );
    }
    for event in events {
        if let What::QuestionAsked { step, .. } = &event.what {
            let step = state.step_name(*step);
            tracing::info!(workflow, %run, step, help = help(step, ""), "a run waits for a person");
        }
    }
}

fn held(state: &State, event: &Event) -> Option<String> {
    match &event.what {
        What::Held { slot, .. } => Some(slot.named(state.step_name(slot.step))),
        _ => None,
    }
}

/// The name of a step or an item as a shell takes it: brackets mean something there.
fn quoted(name: &str) -> String {
    if name.contains('[') {
        format!("'{name}'")
    } else {
        name.to_owned()
    }
}

/// Logs the steps among some events.
pub(crate) fn steps(state: &State, events: &[Event]) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let run = &state.run;
    for event in events {
        match &event.what {
            What::RunStarted { .. } => {
                let workflow = state.plan.workflow.name.as_str();
                tracing::debug!(workflow, %run, "a run began");
            }
            What::StepEnded { step, status, .. } => {
                let (step, status) = (state.step_name(*step), status.as_str());
                tracing::debug!(%run, step, status, "a step ended");
            }
            _ => {}
        }
    }
}
