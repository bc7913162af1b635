//! Repeating a run with the present definition of its workflow. The command makes a run without events and marks it;
//! the server that takes it has the definition, and decides what is reused: the completed steps of the same names.

use super::{Fate, Retry, RetryError, index_of, is_done, kept_step, runs_again};
use crate::publish::{BoundPlan, Published, Target};
use crate::runtime::Runtime;
use crate::tend::{Resumed, fold, folded, go_on};
use crate::world::chain;
use onecall_engine::decide::{Input, decide, end_with};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{Kept, Status};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Append, JournalError, Phase, StoredPlan, StoredRun};
use onecall_engine::state::State;
use onecall_workflow::plan::Plan;
use onecall_workflow::workflow::Workflow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The labels that mark such a run, and the step it starts from.
const DEFINITION: &str = "dev.onecall/definition";
const CURRENT: &str = "current";
const FROM: &str = "dev.onecall/from";

/// When it is looked again for a workflow that is not served, or whose backends are not there.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

pub(super) fn mark(labels: &mut BTreeMap<String, String>, from: Option<&str>) {
    labels.insert(DEFINITION.to_owned(), CURRENT.to_owned());
    labels.remove(FROM);
    if let Some(from) = from {
        labels.insert(FROM.to_owned(), from.to_owned());
    }
}

/// The run waits for a server to give it the present definition. One that has begun is like any other.
pub(crate) fn is_wanted(stored: &StoredRun) -> bool {
    let marked = stored.summary.labels.get(DEFINITION);
    stored.events.is_empty()
        && stored.summary.retry_of.is_some()
        && marked.is_some_and(|own| own == CURRENT)
}

/// A repeat with the present definition, of a run that can be repeated.
pub fn prepare(stored: &StoredRun) -> Result<Retry<'_>, RetryError> {
    let run = stored.summary.id.clone();
    let phase = stored.summary.phase;
    if !phase.is_ended() {
        return Err(RetryError::NotEnded { run, phase });
    }
    if stored.summary.masked {
        return Err(RetryError::Masked { run });
    }
    let state = fold(&run, stored)?;
    let steps = Vec::new();
    Ok(Retry {
        stored,
        state,
        steps,
    })
}

/// The fate of each step of this definition, as far as its files show.
pub fn fates(
    stored: &StoredRun,
    from: Option<&str>,
    workflow: &Workflow,
) -> Result<Vec<Fate>, RetryError> {
    let old = fold(&stored.summary.id, stored)?;
    let tools = workflow.steps.iter().map(|_| None).collect();
    let plan = Plan::plain(workflow.clone(), tools);
    let reused = reused(&old, from, &plan)?;
    let fates = plan.workflow.step_names().enumerate().map(|(index, name)| {
        let was = old.plan.workflow.step_index(name.as_str());
        let was = was.map(|was| &old.steps[was]);
        Fate {
            name: name.as_str().to_owned(),
            kept: reused.contains_key(&index),
            status: was.map_or(Status::Pending, |was| was.status.0),
            output: was.and_then(|was| was.output.get().cloned()),
        }
    });
    Ok(fates.collect())
}

/// The steps of the plan that are reused, with the step of the old run that each is.
fn reused(
    old: &State,
    from: Option<&str>,
    plan: &Plan,
) -> Result<BTreeMap<usize, u32>, RetryError> {
    let old_from = from.and_then(|from| old.plan.workflow.step_index(from));
    let again = runs_again(&old.plan, old_from, |index| is_done(old, index));
    let is_reused =
        |index: &usize| old.steps[*index].status.0 == Status::Completed && !again.contains(index);
    let must: BTreeSet<usize> = (0..old.steps.len()).filter(is_reused).collect();
    for index in &must {
        let name = old.plan.step(*index).name.as_str();
        if plan.workflow.step_index(name).is_none() {
            return Err(RetryError::Gone {
                run: old.run.clone(),
                step: name.to_owned(),
                workflow: plan.workflow.name.as_str().to_owned(),
            });
        }
    }
    let from = from
        .map(|from| index_of(&old.run, plan, from))
        .transpose()?;
    let was = |index: usize| {
        let name = plan.step(index).name.as_str();
        old.plan.workflow.step_index(name)
    };
    let again = runs_again(plan, from, |index| {
        was(index).is_some_and(|was| is_done(old, was))
    });
    let kept = (0..plan.workflow.steps.len()).filter(|index| !again.contains(index));
    let kept = kept.filter_map(|index| {
        let was = was(index).filter(|was| must.contains(was))?;
        Some((index, u32::try_from(was).ok()?))
    });
    Ok(kept.collect())
}

/// Begins a run that was claimed, once its workflow is there. What cannot be done now is tried again later.
pub(crate) fn begin(runtime: &Runtime, stored: StoredRun) {
    let runtime = runtime.clone();
    runtime.inner.tasks.clone().spawn(async move {
        let run = stored.summary.id.clone();
        match try_begin(&runtime, &stored).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%run, error = chain(&error), "cannot begin a run with the present definition");
            }
        }
        let again = Some(runtime.now().plus(AGAIN_AFTER));
        if let Err(error) = runtime.inner.journal.park(&run, again).await {
            tracing::warn!(%run, error = chain(&error), "cannot park the run");
        }
    });
}

/// `false`: its workflow is not served here now, or its backends are not known yet.
async fn try_begin(runtime: &Runtime, stored: &StoredRun) -> Result<bool, JournalError> {
    let workflow = stored.summary.workflow.as_str();
    let name = name_of(&runtime.current(), workflow).unwrap_or_else(|| workflow.to_owned());
    let published = runtime.settled_for(&name).await;
    let Some(plan) = plan_of(&published, workflow) else {
        return Ok(false);
    };
    let old = match &stored.summary.retry_of {
        Some(old) => load(runtime, old).await?,
        None => None,
    };
    let from = stored.summary.labels.get(FROM).map(String::as_str);
    let repeat = match &old {
        None => Err("the run that it repeats is not in the store any more".to_owned()),
        Some(old) => repeat(old, from, &plan, &published).map_err(|error| chain(&error)),
    };
    let run = stored.summary.id.clone();
    let kept = repeat.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
    let mut state = State::new(run.clone(), Arc::clone(&plan.plan));
    let input = Input::Repeat {
        input: old
            .as_ref()
            .map(|old| Arc::clone(&old.input))
            .unwrap_or_default(),
        seed: rand::random(),
        kept: Kept {
            run: old.map_or_else(|| run.clone(), |old| old.run),
            steps: kept,
        },
    };
    let stored_plan = StoredPlan {
        hash: plan.hash.clone(),
        text: Arc::clone(&plan.text),
    };
    runtime
        .inner
        .journal
        .rebind(&run, stored_plan, runtime.now())
        .await?;
    let Err(reason) = repeat else {
        let first = vec![input, Input::Resume];
        let resumed = Resumed {
            state,
            first,
            durability: stored.durability,
            principal: stored.summary.principal.as_deref(),
        };
        go_on(runtime, resumed, &[]);
        return Ok(true);
    };
    let at = runtime.now();
    let mut events = decide(&mut state, at, input, &PlanEvaluator::default());
    let failure = Failure::new(Code::InputInvalid, reason);
    events.extend(end_with(&mut state, at, failure));
    let append = Append {
        run: run.clone(),
        first: 0,
        events,
        durability: stored.durability,
        mark: state.mark(),
        at,
    };
    runtime.inner.journal.append(append).await?;
    runtime.inner.open_runs.remove(&run);
    runtime.inner.ends.note(&state);
    Ok(true)
}

/// The steps that the new run reuses, or why it cannot begin.
fn repeat(
    old: &State,
    from: Option<&str>,
    plan: &BoundPlan,
    published: &Published,
) -> Result<Vec<onecall_engine::event::KeptStep>, BeginError> {
    let reused = reused(old, from, &plan.plan)?;
    let parameters = published.workflows().find_map(|tool| match &tool.target {
        Target::Workflow(own) if own.workflow.name == plan.plan.workflow.name => {
            Some(&own.parameters)
        }
        Target::Workflow(_) | Target::Backend { .. } => None,
    });
    if let Some(parameters) = parameters {
        let accepted = parameters.accept(serde_json::Value::clone(&old.input));
        accepted.map_err(|faults| BeginError::Input(crate::calls::list(&faults)))?;
    }
    let kept = reused.into_iter().filter_map(|(index, was)| {
        let mut kept = kept_step(old, was);
        kept.step = u32::try_from(index).ok()?;
        Some(kept)
    });
    Ok(kept.collect())
}

#[derive(Debug, thiserror::Error)]
enum BeginError {
    #[error(transparent)]
    Retry(#[from] RetryError),
    #[error("the present definition does not accept the input of the run: {0}")]
    Input(String),
}

async fn load(runtime: &Runtime, run: &RunId) -> Result<Option<State>, JournalError> {
    let Some(stored) = runtime.inner.journal.load(run).await? else {
        return Ok(None);
    };
    if stored.summary.phase == Phase::Running {
        return Ok(None);
    }
    let plan = runtime.inner.plans.of(&stored.plan_hash, &stored.plan);
    Ok(plan.ok().map(|plan| folded(run, plan, &stored)))
}

fn name_of(published: &Published, workflow: &str) -> Option<String> {
    let mut found = published.workflows().filter(|tool| match &tool.target {
        Target::Workflow(own) => own.workflow.name == workflow,
        Target::Backend { .. } => false,
    });
    found.next().map(|tool| tool.name.clone())
}

fn plan_of(published: &Published, workflow: &str) -> Option<BoundPlan> {
    published.workflows().find_map(|tool| match &tool.target {
        Target::Workflow(own) if own.workflow.name == workflow => own.ready_plan().cloned(),
        Target::Workflow(_) | Target::Backend { .. } => None,
    })
}
