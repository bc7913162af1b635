//! What is logged of runs, and how many of them have ended how. Names and codes only: what a run was given, made or
//! failed with may be secret.

use onecall_engine::event::{End, Event, What};
use onecall_engine::journal::Phase;
use onecall_engine::state::State;
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
