//! Repeating a run: which steps the new run keeps, and the new run itself, linked to the old and at rest in the
//! store until a server takes it up. Nothing that is kept is called again.

pub mod current;

use crate::world::now;
use onecall_engine::decide::{Input, decide};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{Kept, KeptStep, Output, Status};
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Journal, JournalError, NewRun, Phase, StoredRun};
use onecall_engine::state::{State, StepOutput};
use onecall_workflow::coerce::MASK;
use onecall_workflow::name::StepName;
use onecall_workflow::plan::Plan;
use onecall_workflow::step::Action;
use onecall_workflow::stored::ReadPlanError;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum RetryError {
    #[error("run `{run}` has not ended (it is {}); answer or cancel it first", .phase.as_str())]
    NotEnded { run: RunId, phase: Phase },
    #[error(
        "run `{run}` was imported without its sensitive values, and a repeat would call tools with `{MASK}` in \
         their place; export it with --reveal and import that"
    )]
    Masked { run: RunId },
    #[error("run `{run}` has no step `{step}`; it has {known}")]
    UnknownStep {
        run: RunId,
        step: String,
        known: String,
    },
    #[error(
        "step `{step}` of run `{run}` completed, and the present definition of `{workflow}` has no step of that \
         name; repeat the run without --with-current, or name an earlier step with --from STEP"
    )]
    Gone {
        run: RunId,
        step: String,
        workflow: String,
    },
    #[error("every step of run `{run}` completed; name the step to start from with --from STEP")]
    NothingLeft { run: RunId },
    #[error("the stored run cannot be read")]
    Unreadable(#[from] ReadPlanError),
}

/// A repeat that is ready to be made.
#[derive(Debug)]
pub struct Retry<'a> {
    stored: &'a StoredRun,
    state: State,
    pub steps: Vec<Fate>,
}

/// What becomes of a step in the repeat.
#[derive(Clone, Debug, Serialize)]
pub struct Fate {
    pub name: String,
    /// Its stored output is used and nothing is called.
    pub kept: bool,
    /// How it ended in the run that is repeated.
    pub status: Status,
    pub output: Option<Value>,
}

/// Decides what a repeat of a finished run keeps: the steps that completed, unless they are `from` or come after
/// a step that runs again.
pub fn prepare<'a>(stored: &'a StoredRun, from: Option<&str>) -> Result<Retry<'a>, RetryError> {
    let run = &stored.summary.id;
    let phase = stored.summary.phase;
    if !phase.is_ended() {
        let run = run.clone();
        return Err(RetryError::NotEnded { run, phase });
    }
    if stored.summary.masked {
        return Err(RetryError::Masked { run: run.clone() });
    }
    let state = crate::tend::fold(run, stored)?;
    let from = from
        .map(|from| index_of(&state.run, &state.plan, from))
        .transpose()?;
    let again = runs_again(&state.plan, from, |index| is_done(&state, index));
    let steps: Vec<Fate> = (0..state.steps.len())
        .map(|index| fate(&state, index, &again))
        .collect();
    let is_left = |step: &Fate| !step.kept && step.status != Status::Skipped;
    if from.is_none() && phase == Phase::Completed && !steps.iter().any(is_left) {
        return Err(RetryError::NothingLeft { run: run.clone() });
    }
    Ok(Retry {
        stored,
        state,
        steps,
    })
}

fn index_of(run: &RunId, plan: &Plan, step: &str) -> Result<usize, RetryError> {
    plan.workflow.step_index(step).ok_or_else(|| {
        let names = plan.workflow.step_names();
        RetryError::UnknownStep {
            run: run.clone(),
            step: step.to_owned(),
            known: names.map(StepName::as_str).collect::<Vec<_>>().join(", "),
        }
    })
}

fn fate(state: &State, index: usize, again: &BTreeSet<usize>) -> Fate {
    let step = &state.steps[index];
    Fate {
        name: state.plan.step(index).name.as_str().to_owned(),
        kept: step.status.0 == Status::Completed && !again.contains(&index),
        status: step.status.0,
        output: step.output.get().cloned(),
    }
}

/// `from`, what did not complete, and all that comes after these. A step that was skipped by its own condition is
/// looked at again, which calls nothing and takes nothing after it along.
fn runs_again(
    plan: &Plan,
    from: Option<usize>,
    is_done: impl Fn(usize) -> bool,
) -> BTreeSet<usize> {
    let steps = plan.workflow.steps.len();
    let mut again: BTreeSet<usize> = (0..steps)
        .filter(|index| Some(*index) == from || !is_done(*index))
        .collect();
    loop {
        let follows = |index: &usize| {
            let mut needs = plan.step(*index).needs.iter();
            needs.any(|need| {
                let need = plan.workflow.step_index(need.step.as_str());
                need.is_some_and(|need| again.contains(&need))
            })
        };
        let more: Vec<usize> = (0..steps)
            .filter(|index| !again.contains(index) && follows(index))
            .collect();
        if more.is_empty() {
            return again;
        }
        again.extend(more);
    }
}

/// A question that was not accepted is put again.
fn is_done(state: &State, index: usize) -> bool {
    let step = &state.steps[index];
    match (step.status.0, &state.plan.step(index).action) {
        (Status::Skipped, _) => true,
        (Status::Completed, Action::Ask(_)) => {
            let action = step.output.get().and_then(|output| output.get("action"));
            action.and_then(Value::as_str) == Some("accept")
        }
        (status, _) => status == Status::Completed,
    }
}

impl Retry<'_> {
    /// Makes the new run without events: the server that takes it decides what it reuses, by its own definition.
    pub async fn make_current(
        self,
        from: Option<&str>,
        journal: &dyn Journal,
    ) -> Result<RunId, JournalError> {
        let id = RunId::from_bits(rand::random());
        let at = now();
        let summary = &self.stored.summary;
        let mut labels = summary.labels.clone();
        current::mark(&mut labels, from);
        let new = NewRun {
            version: None,
            plan_hash: self.stored.plan_hash.clone(),
            plan: Arc::clone(&self.stored.plan),
            durability: self.stored.durability,
            principal: summary.principal.clone(),
            tenant: summary.tenant.clone(),
            labels,
            retry_of: Some(self.state.run),
            // The definition that is taken may have values that must not be shown.
            sensitive: true,
            ..NewRun::new(id.clone(), summary.workflow.clone(), at)
        };
        journal.create(new, Vec::new()).await?;
        journal.park(&id, Some(at)).await?;
        Ok(id)
    }

    /// Makes the new run. It lies in the store, due at once: the server that has its backends takes it up.
    pub async fn make(self, journal: &dyn Journal) -> Result<RunId, JournalError> {
        let Self {
            stored,
            state: old,
            steps,
        } = self;
        let id = RunId::from_bits(rand::random());
        let at = now();
        let kept = (0_u32..).zip(&steps).filter(|(_, fate)| fate.kept);
        let repeat = Input::Repeat {
            input: Arc::clone(&old.input),
            seed: rand::random(),
            kept: Kept {
                run: old.run.clone(),
                steps: kept.map(|(step, _)| kept_step(&old, step)).collect(),
            },
        };
        let mut state = State::new(id.clone(), Arc::clone(&old.plan));
        let events = decide(&mut state, at, repeat, &PlanEvaluator::default());
        let summary = &stored.summary;
        let new = NewRun {
            id: id.clone(),
            workflow: summary.workflow.clone(),
            version: summary.version.clone(),
            plan_hash: stored.plan_hash.clone(),
            plan: Arc::clone(&stored.plan),
            durability: stored.durability,
            principal: summary.principal.clone(),
            tenant: summary.tenant.clone(),
            labels: summary.labels.clone(),
            client_key: None,
            retry_of: Some(old.run),
            // What is kept may hold what a tool asked for in the old run.
            sensitive: old.plan.is_sensitive() || !old.marked_answers.is_empty(),
            masked: false,
            at,
            mark: state.mark(),
        };
        journal.create(new, events).await?;
        journal.park(&id, Some(at)).await?;
        Ok(id)
    }
}

/// The output of a step, to be reused.
fn kept_step(state: &State, step: u32) -> KeptStep {
    let own = state.step(step);
    KeptStep {
        step,
        output: match &own.output {
            StepOutput::Nothing => Output::Nothing,
            StepOutput::StructuredOf(_) => Output::Structured,
            StepOutput::Value(value) => Output::Value(Arc::clone(value)),
        },
        result: own.work.result.clone(),
    }
}
