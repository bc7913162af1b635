//! Repeating a run with the present definition of its workflow. The command makes a run without events and marks it;
//! the server that takes it has the definition, and decides what is reused: the completed steps of the same names.

use super::{Fate, Retry, RetryError, index_of, is_done, kept_step, runs_again};
use crate::limits::{BEGIN_PAUSE_MAX, STRANDED_MAX};
use crate::publish::{BoundPlan, Published, Target};
use crate::release::release;
use crate::runs::names_of;
use crate::runtime::Runtime;
use crate::tend::{Resumed, fold, go_on, hold, input_of};
use crate::world::chain;
use crate::{arrive, calls};
use futures::FutureExt as _;
use onecall_engine::decide::{Input, decide, end_with};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{Event, Kept, KeptStep, Status};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::RunId;
use onecall_engine::journal::{
    Append, Filter, Journal, JournalError, Order, Phase, StoredPlan, StoredRun,
};
use onecall_engine::state::State;
use onecall_workflow::plan::Plan;
use onecall_workflow::workflow::Workflow;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// The labels that mark such a run, and the step it starts from.
const DEFINITION: &str = "dev.onecall/definition";
const CURRENT: &str = "current";
const FROM: &str = "dev.onecall/from";

/// The first pause before a run is begun again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

pub(super) fn mark(labels: &mut BTreeMap<String, String>, from: Option<&str>) {
    labels.insert(DEFINITION.to_owned(), CURRENT.to_owned());
    labels.remove(FROM);
    if let Some(from) = from {
        labels.insert(FROM.to_owned(), from.to_owned());
    }
}

/// The run waits for a server to give it the present definition. One that has begun is like any other.
pub fn is_wanted(stored: &StoredRun) -> bool {
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

/// The same of a run in the store.
pub(crate) async fn is_wanted_of(runtime: &Runtime, run: &RunId) -> Result<bool, JournalError> {
    let stored = runtime.inner.journal.load(run).await?;
    Ok(stored.is_some_and(|stored| is_wanted(&stored)))
}

/// The runs in the store that wait so.
pub(crate) async fn all_wanted(journal: &dyn Journal) -> Result<BTreeSet<RunId>, JournalError> {
    let labels = [(DEFINITION.to_owned(), CURRENT.to_owned())];
    let filter = Filter {
        phases: vec![Phase::Running],
        labels: labels.into(),
        limit: STRANDED_MAX,
        ..Filter::default()
    };
    let listed = journal.list(filter).await?.into_iter();
    let wanted = listed.filter(|run| run.event_count == 0);
    Ok(wanted.map(|run| run.id).collect())
}

/// Says that a run waits for a workflow that is not served here. It is looked at again after a while, and when the files
/// have changed.
pub(crate) fn note_unserved(runtime: &Runtime, run: &RunId, workflow: &str) {
    runtime.inner.unserved.insert(run.clone());
    let error = WaitError::Unserved {
        run: run.clone(),
        workflow: workflow.to_owned(),
        server: runtime.name().to_owned(),
    };
    runtime.inner.repeated.warn(WAITS, &error);
}

/// Logged of a run that cannot begin yet.
const WAITS: &str = "a run that is to repeat another with the present definition waits";

/// Why a run cannot begin yet, and what to do.
#[derive(Debug, thiserror::Error)]
enum WaitError {
    #[error(
        "run `{run}` needs workflow `{workflow}`, which server `{server}` does not have; add its file, or end the \
         run with `onecall runs cancel {run}`"
    )]
    Unserved {
        run: RunId,
        workflow: String,
        server: String,
    },
    #[error(
        "run `{run}` needs workflow `{workflow}`, which cannot be called now: {reason}; once it can the run begins, \
         and `onecall runs cancel {run}` ends it"
    )]
    NotReady {
        run: RunId,
        workflow: String,
        reason: String,
    },
    #[error("run `{run}` could not begin")]
    Store {
        run: RunId,
        #[source]
        cause: JournalError,
    },
}

/// Begins a run that was claimed, once its workflow is there, or ends it if the orders say so. What cannot be done now is
/// tried again later; the store then hands the orders out again.
pub(crate) fn begin(runtime: &Runtime, stored: StoredRun, orders: Vec<Order>) {
    let runtime = runtime.clone();
    runtime.inner.tasks.clone().spawn(async move {
        let run = stored.summary.id.clone();
        let beginning = AssertUnwindSafe(try_begin(&runtime, &stored, &orders)).catch_unwind();
        match beginning.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => runtime.inner.repeated.warn(WAITS, &error),
            // A fault in one run never ends the process, nor loses the run.
            Err(_) => tracing::error!(%run, "the run did not begin: an internal error"),
        }
        let now = runtime.now();
        // A run that has waited for long can wait longer.
        let pause = now
            .since(stored.summary.created)
            .clamp(AGAIN_AFTER, BEGIN_PAUSE_MAX);
        release(&runtime, &run, Some(now.plus(pause))).await;
    });
}

async fn try_begin(
    runtime: &Runtime,
    stored: &StoredRun,
    orders: &[Order],
) -> Result<(), WaitError> {
    let run = stored.summary.id.clone();
    let store = |cause| WaitError::Store {
        run: stored.summary.id.clone(),
        cause,
    };
    let cancel = orders.iter().find_map(|order| match order {
        Order::Cancel { reason } => Some(reason.clone()),
        Order::Answer { .. } | Order::Resolve { .. } => None,
    });
    if let Some(reason) = cancel {
        return cancelled(runtime, stored, reason).await.map_err(store);
    }
    let workflow = stored.summary.workflow.as_str();
    let name = name_of(&runtime.current(), workflow).unwrap_or_else(|| workflow.to_owned());
    let published = runtime.settled_for(&name).await;
    let Some(plan) = plan_of(&published, workflow) else {
        let withheld = published.withheld_reason(&name).map(str::to_owned);
        return Err(WaitError::NotReady {
            run,
            workflow: workflow.to_owned(),
            reason: withheld.unwrap_or_else(|| arrive::unreachable_text(runtime)),
        });
    };
    let old = load(runtime, stored).await.map_err(store)?;
    let from = stored.summary.labels.get(FROM).map(String::as_str);
    let repeat = match &old {
        Err(reason) => Err(reason.clone()),
        Ok(old) => repeat(old, from, &plan, &published)
            .await
            .map_err(|error| chain(&error)),
    };
    let kept = repeat.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
    let mut state = State::new(run.clone(), Arc::clone(&plan.plan));
    let input = start_of(&run, old.ok(), kept);
    let stored_plan = StoredPlan {
        hash: plan.hash.clone(),
        text: Arc::clone(&plan.text),
    };
    let journal = &runtime.inner.journal;
    let rebound = journal.rebind(&run, stored_plan, runtime.now()).await;
    rebound.map_err(store)?;
    let Err(reason) = repeat else {
        let steps = names_of(&state);
        let mut first = vec![input, Input::Resume];
        first.extend(orders.iter().filter_map(|order| input_of(order, &steps)));
        let resumed = Resumed {
            state,
            first,
            durability: stored.durability,
            principal: stored.summary.principal.as_deref(),
        };
        go_on(runtime, resumed, orders);
        return Ok(());
    };
    let at = runtime.now();
    let mut events = decide(&mut state, at, input, &PlanEvaluator::default());
    let failure = Failure::new(Code::InputInvalid, reason);
    events.extend(end_with(&mut state, at, failure));
    let ended = end(runtime, stored, &state, events).await;
    ended.map_err(store)
}

/// Ends a run that has not begun, which takes no definition but the one it is stored with.
async fn cancelled(
    runtime: &Runtime,
    stored: &StoredRun,
    reason: String,
) -> Result<(), JournalError> {
    let run = &stored.summary.id;
    let plan = match runtime.inner.plans.of(&stored.plan_hash, &stored.plan) {
        Ok(plan) => plan,
        Err(error) => return hold(runtime, stored, chain(&error)).await,
    };
    let old = load(runtime, stored).await?.ok();
    let mut state = State::new(run.clone(), plan);
    let mut events = Vec::new();
    for input in [start_of(run, old, Vec::new()), Input::Cancel { reason }] {
        let at = runtime.now();
        events.extend(decide(&mut state, at, input, &PlanEvaluator::default()));
    }
    end(runtime, stored, &state, events).await
}

/// The first input of a run that repeats another, if that is still there.
fn start_of(run: &RunId, old: Option<State>, steps: Vec<KeptStep>) -> Input {
    Input::Repeat {
        input: old
            .as_ref()
            .map(|old| Arc::clone(&old.input))
            .unwrap_or_default(),
        seed: rand::random(),
        kept: Kept {
            run: old.map_or_else(|| run.clone(), |old| old.run),
            steps,
        },
    }
}

/// Stores all events of a run that ends before it began.
async fn end(
    runtime: &Runtime,
    stored: &StoredRun,
    state: &State,
    events: Vec<Event>,
) -> Result<(), JournalError> {
    let append = Append {
        run: state.run.clone(),
        first: 0,
        events,
        durability: stored.durability,
        mark: state.mark(),
        at: runtime.now(),
    };
    runtime.inner.journal.append(append).await?;
    runtime.inner.open_runs.remove(&state.run);
    runtime.inner.ends.note(state);
    Ok(())
}

/// The steps that the new run reuses, or why it cannot begin.
async fn repeat(
    old: &State,
    from: Option<&str>,
    plan: &BoundPlan,
    published: &Published,
) -> Result<Vec<KeptStep>, BeginError> {
    let reused = reused(old, from, &plan.plan)?;
    let parameters = published.workflows().find_map(|tool| match &tool.target {
        Target::Workflow(own) if own.workflow.name == plan.plan.workflow.name => {
            Some(&own.parameters)
        }
        Target::Workflow(_) | Target::Backend { .. } => None,
    });
    if let Some(parameters) = parameters {
        let accepted = calls::accepted(parameters, serde_json::Value::clone(&old.input));
        accepted
            .await
            .map_err(|faults| BeginError::Input(calls::list(&faults)))?;
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

/// The run that this one repeats, or why it cannot be repeated.
async fn load(runtime: &Runtime, new: &StoredRun) -> Result<Result<State, String>, JournalError> {
    let Some(old) = &new.summary.retry_of else {
        return Ok(Err("the run does not say which one it repeats".to_owned()));
    };
    let Some(stored) = runtime.inner.journal.load(old).await? else {
        let gone = format!("run `{old}`, which it repeats, is not in the store any more");
        return Ok(Err(gone));
    };
    let prepared = prepare(&stored).map(|retry| retry.state);
    Ok(prepared.map_err(|error| format!("run `{old}` cannot be repeated: {}", chain(&error))))
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
