//! Tending the store: heartbeats, commands from other processes, runs of dead owners, runs due to wake.

use crate::calls;
use crate::kept::Stored;
use crate::limits::{MAINTENANCE_BATCHES_MAX, PROBE_BYTES, RESUME_BATCHES_MAX, UNDELIVERED_MAX};
use crate::open_runs;
use crate::release::release_unclaimed;
use crate::retry::current;
use crate::runs::{channels, names_of};
use crate::runtime::Runtime;
use crate::stranded::{Stranded, stranded_among};
use crate::trace::Trace;
use crate::world::{LiveWorld, chain};
use onecall_engine::decide::Input;
use onecall_engine::event::{Answer, Event, What};
use onecall_engine::evolve::evolve;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Append, Command, JournalError, Mark, Order, Phase, StoredRun};
use onecall_engine::state::State;
use onecall_workflow::plan::Plan;
use onecall_workflow::policy::Durability;
use onecall_workflow::stored::{ReadPlanError, read_plan};
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How often the inbox and the owners are looked at.
const ROUND: Duration = Duration::from_millis(500);

/// Logged when the store cannot be used.
const UNTENDED: &str = "the store cannot be used: no run is resumed, and answers and cancels from other processes wait";

/// After so many rounds a store that could not be written is tried again.
const PROBE_ROUNDS: u32 = 4;

/// After so many rounds it is looked again at runs of other servers.
const FOREIGN_ROUNDS: u32 = 20;

/// How often finished runs beyond what is kept are removed.
const MAINTENANCE: Duration = Duration::from_mins(1);

/// Resumes what is claimable now, then tends the store in the background.
pub(crate) async fn start(runtime: &Runtime) -> Result<(), JournalError> {
    open_runs::count(runtime).await?;
    let mut undelivered = Vec::new();
    runtime.inner.journal.heartbeat(runtime.now()).await?;
    for _ in 0..RESUME_BATCHES_MAX {
        if round(runtime, &mut undelivered).await? == 0 {
            break;
        }
    }
    look_for_stranded(runtime).await;
    follow_backends(runtime);
    remark_later(runtime);
    let tended = runtime.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = tended.inner.leaving.cancelled() => {}
            // A long round must not cost the lease.
            () = async { tokio::join!(beat(&tended), tend(&tended, undelivered)); } => {}
        }
    });
    Ok(())
}

/// Shows the store that this process is alive.
async fn beat(runtime: &Runtime) {
    loop {
        tokio::time::sleep(ROUND).await;
        if let Err(error) = runtime.inner.journal.heartbeat(runtime.now()).await {
            runtime.inner.repeated.warn(UNTENDED, &error);
        }
    }
}

async fn tend(runtime: &Runtime, mut undelivered: Vec<Command>) {
    let mut maintained = tokio::time::Instant::now();
    let mut rounds = 0_u32;
    loop {
        tokio::time::sleep(ROUND).await;
        rounds = rounds.wrapping_add(1);
        if rounds.is_multiple_of(FOREIGN_ROUNDS) {
            // A run may have been bound to other backends since.
            runtime.inner.foreign.clear();
        }
        let is_faulty = runtime.inner.store_health.reason().is_some();
        if is_faulty && rounds.is_multiple_of(PROBE_ROUNDS) {
            probe(runtime).await;
        }
        if maintained.elapsed() >= MAINTENANCE {
            maintained = tokio::time::Instant::now();
            maintain(runtime).await;
            probe(runtime).await;
            runtime.inner.unserved.clear();
            look_for_stranded(runtime).await;
            if let Err(error) = open_runs::count(runtime).await {
                runtime
                    .inner
                    .repeated
                    .warn("cannot count the open runs", &error);
            }
        }
        if let Err(error) = round(runtime, &mut undelivered).await {
            runtime.inner.repeated.warn(UNTENDED, &error);
        }
    }
}

/// Finds out whether the store can be written: no calls may come while the server says that it is not ready.
async fn probe(runtime: &Runtime) {
    let journal = &runtime.inner.journal;
    let filled = Value::from("x".repeat(PROBE_BYTES));
    for value in [&filled, &Value::Null] {
        // The journal remembers a failure.
        if journal.keep("probe", value).await.is_err() {
            return;
        }
    }
    runtime.inner.store_health.clear();
}

/// Looks for runs that cannot resume because the backends have changed, and logs those that are new.
pub(crate) async fn look_for_stranded(runtime: &Runtime) {
    if !runtime.inner.resumes {
        return;
    }
    let content = runtime.content();
    // Another server whose files are in the same directory reports its own.
    let is_looked_at = |run: &RunId, plan: &Plan| {
        runtime.inner.runs.get(run).is_none() && content.has_workflow(plan.workflow.name.as_str())
    };
    let found = stranded_among(
        &*runtime.inner.journal,
        &[&content.identities],
        runtime.now(),
        is_looked_at,
    )
    .await;
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            let what = "cannot look for runs of other backends";
            return runtime.inner.repeated.warn(what, &error);
        }
    };
    let known = runtime.inner.stranded.lock();
    let mut known = known.unwrap_or_else(PoisonError::into_inner);
    for own in found.iter().filter(|own| !known.contains(own)) {
        let Stranded {
            run,
            workflow,
            reason,
        } = own;
        tracing::warn!(
            %run,
            workflow,
            reason,
            "a run cannot resume; `onecall runs rebind {run}` shows what differs and binds it to these backends"
        );
    }
    *known = found;
}

/// Removes what is beyond retention, a few batches at a time.
async fn maintain(runtime: &Runtime) {
    for _ in 0..MAINTENANCE_BATCHES_MAX {
        match runtime.inner.journal.maintain(runtime.now()).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                let what = "cannot remove finished runs from the store";
                return runtime.inner.repeated.warn(what, &error);
            }
        }
    }
}

/// Publishes anew whenever a backend's tools become known or change, and keeps them for the next start.
fn follow_backends(runtime: &Runtime) {
    let mut lists = runtime.content().backends.tool_lists();
    let runtime = runtime.clone();
    tokio::spawn(async move {
        let mut stored = Stored::default();
        loop {
            tokio::select! {
                () = runtime.inner.leaving.cancelled() => return,
                changed = lists.changed() => if changed.is_err() { return },
            }
            runtime.republish();
            let live = Arc::clone(&lists.borrow_and_update());
            let content = runtime.content();
            stored
                .update(&*runtime.inner.journal, &content, &live)
                .await;
        }
    });
}

/// Tells what is odd about the tools once the backends have had the moment that lists wait.
fn remark_later(runtime: &Runtime) {
    let runtime = runtime.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = runtime.inner.leaving.cancelled() => {}
            () = tokio::time::sleep(runtime.inner.first_list_wait) => runtime.remark(),
        }
    });
}

/// Delivers commands and resumes runs; returns how many runs it resumed. `undelivered`: commands that were taken from
/// the store and could not be delivered. The store gives them to no other process while this one lives.
async fn round(runtime: &Runtime, undelivered: &mut Vec<Command>) -> Result<usize, JournalError> {
    let journal = &runtime.inner.journal;
    let before = runtime.inner.resumed.load(Ordering::Relaxed);
    let at = runtime.now();
    if undelivered.len() < UNDELIVERED_MAX {
        undelivered.extend(journal.commands(at).await?);
    }
    for command in std::mem::take(undelivered) {
        let run = command.run.clone();
        let Err(error) = deliver(runtime, command.clone()).await else {
            continue;
        };
        if may_pass(&error) {
            let what = "cannot deliver an answer or a cancel to its run; tried again";
            runtime.inner.repeated.warn(what, &error);
            undelivered.push(command);
        } else {
            tracing::warn!(%run, error = chain(&error), "an answer or a cancel was dropped");
        }
    }
    if runtime.inner.resumes {
        for run in journal.claimable(at).await? {
            resume(runtime, &run).await?;
        }
    }
    Ok(runtime.inner.resumed.load(Ordering::Relaxed) - before)
}

/// Resumes a claimable run that is bound to backends of this process. What is wrong with one run holds up no other.
async fn resume(runtime: &Runtime, run: &RunId) -> Result<(), JournalError> {
    if runtime.inner.runs.get(run).is_some() || !is_ours(runtime, run).await? {
        return Ok(());
    }
    match take_over(runtime, run, Vec::new()).await {
        Err(error) if !may_pass(&error) => {
            let error = chain(&error);
            tracing::error!(%run, error, "the run cannot be resumed");
            Ok(())
        }
        resumed => resumed.map(|_| ()),
    }
}

/// Whether the store may be usable again in a moment.
fn may_pass(error: &JournalError) -> bool {
    matches!(
        error,
        JournalError::Full(_) | JournalError::ReadOnly(_) | JournalError::Store { .. }
    )
}

/// Hands a command to its run, waking the run if it is parked.
async fn deliver(runtime: &Runtime, command: Command) -> Result<(), JournalError> {
    let live = runtime.inner.runs.get(&command.run);
    match live {
        Some(live) => {
            let steps = {
                let standing = live.standing.borrow();
                standing.steps.clone()
            };
            let Some(input) = input_of(&command.what, &steps) else {
                return Ok(());
            };
            match live.inputs.try_send(input) {
                Ok(()) => Ok(()),
                // The run is being parked, or has just ended, or has many inputs to take: the store hands the command
                // out again. A round waits for no run.
                Err(_) => runtime.inner.journal.give_back(&command.run).await,
            }
        }
        None if runtime.inner.resumes && is_ours(runtime, &command.run).await? => {
            command_over(runtime, command).await
        }
        // What ends a run calls nothing, so it takes no backend of the run's own.
        None if runtime.inner.resumes && matches!(command.what, Order::Cancel { .. }) => {
            command_over(runtime, command).await
        }
        // It is another's; told anew, it would be there twice for the next who looks.
        None => runtime.inner.journal.give_back(&command.run).await,
    }
}

/// Takes a run over to hand it a command.
async fn command_over(runtime: &Runtime, command: Command) -> Result<(), JournalError> {
    if take_over(runtime, &command.run, vec![command.what]).await? {
        return Ok(());
    }
    // Another process was first, or the run is about to begin or to be released here: the store hands the command out
    // again in a later round.
    runtime.inner.journal.give_back(&command.run).await
}

/// Whether a run was bound to the backends that this process has: the same names, started the same way.
/// A store may be shared by servers of different files, and a call must not reach another's backend.
async fn is_ours(runtime: &Runtime, run: &RunId) -> Result<bool, JournalError> {
    if runtime.inner.foreign.contains(run) || runtime.inner.unserved.contains(run) {
        return Ok(false);
    }
    let Some(stored) = runtime.inner.journal.plan(run).await? else {
        return Ok(false);
    };
    let content = runtime.content();
    let is_ours = match runtime.inner.plans.of(&stored.hash, &stored.text) {
        Ok(plan) => {
            let fits = content.identities.fits(&plan);
            let workflow = plan.workflow.name.as_str();
            let is_served = content.has_workflow(workflow);
            if fits && is_served {
                return Ok(true);
            }
            let may_be_wanted = fits || content.identities.is_of_same_directory(&plan);
            if may_be_wanted && current::is_wanted_of(runtime, run).await? {
                if !is_served {
                    current::note_unserved(runtime, run, workflow);
                }
                return Ok(is_served);
            }
            fits
        }
        // A plan that cannot be read is claimed and held by the first that finds it.
        Err(_) => true,
    };
    if !is_ours {
        runtime.inner.foreign.insert(run.clone());
    }
    Ok(is_ours)
}

/// Claims a run. One that was claimed and then cannot be loaded is given back, or nothing would resume it.
async fn claim(runtime: &Runtime, run: &RunId) -> Result<Option<StoredRun>, JournalError> {
    if runtime.inner.releasing.contains(run) {
        return Ok(None);
    }
    let claimed = runtime.inner.journal.claim(run, runtime.now()).await;
    if claimed.as_ref().is_err_and(may_pass) {
        release_unclaimed(runtime, run);
    }
    claimed
}

/// Loads a run without an owner, folds it, and drives it on. `false`: it could not be claimed, and the orders are still to be
/// carried out.
async fn take_over(
    runtime: &Runtime,
    run: &RunId,
    orders: Vec<Order>,
) -> Result<bool, JournalError> {
    let Some(stored) = claim(runtime, run).await? else {
        return Ok(false);
    };
    if current::is_wanted(&stored) {
        current::begin(runtime, stored, orders);
        return Ok(true);
    }
    let durability = stored.durability;
    let state = match runtime.inner.plans.of(&stored.plan_hash, &stored.plan) {
        Ok(plan) => folded(run, plan, &stored),
        Err(error) => {
            let reason = chain(&error);
            tracing::error!(%run, error = reason, "the run cannot be read and is held");
            let held = hold(runtime, &stored, reason).await;
            if held.is_err() {
                release_unclaimed(runtime, run);
            }
            return held.map(|()| true);
        }
    };
    let steps = names_of(&state);
    let mut first = vec![Input::Resume];
    first.extend(orders.iter().filter_map(|order| input_of(order, &steps)));
    tracing::info!(%run, events = stored.events.len(), "resuming a run");
    let resumed = Resumed {
        state,
        first,
        durability,
        principal: stored.summary.principal.as_deref(),
    };
    go_on(runtime, resumed, &orders);
    Ok(true)
}

/// A run that another process began.
pub(crate) struct Resumed<'a> {
    pub(crate) state: State,
    pub(crate) first: Vec<Input>,
    pub(crate) durability: Durability,
    pub(crate) principal: Option<&'a str>,
}

/// Drives a run that another process began. `orders`: the commands that are among its first inputs.
pub(crate) fn go_on(runtime: &Runtime, resumed: Resumed<'_>, orders: &[Order]) {
    let Resumed {
        state,
        first,
        durability,
        principal,
    } = resumed;
    let channels = channels(&state, principal);
    channels.telling.answered(orders);
    let token = runtime.inner.lent.of(&state.run);
    let driving = calls::Driving {
        state,
        first,
        durability,
        world: LiveWorld {
            backends: runtime.content().backends.clone(),
            // The trace of the call that began it was of another process.
            trace: Trace::default(),
            calls: Arc::clone(&runtime.inner.backend_calls),
            caller: None,
            token,
            takes_questions: true,
        },
    };
    runtime.inner.resumed.fetch_add(1, Ordering::Relaxed);
    calls::spawn(runtime, driving, channels);
}

/// A run that this build cannot read is kept, and says why it does not go on.
pub(crate) async fn hold(
    runtime: &Runtime,
    stored: &StoredRun,
    reason: String,
) -> Result<(), JournalError> {
    let at = runtime.now();
    let text = format!("held: {reason}");
    let append = Append {
        run: stored.summary.id.clone(),
        first: stored.events.len() as u64,
        events: vec![Event {
            at,
            what: What::Note { text },
        }],
        durability: stored.durability,
        mark: Mark {
            phase: Phase::Held,
            due: None,
            failure: None,
        },
        at,
    };
    runtime.inner.journal.append(append).await
}

/// Folds the stored events over the stored plan. Nothing is evaluated again.
pub fn fold(run: &RunId, stored: &StoredRun) -> Result<State, ReadPlanError> {
    let plan = read_plan(&stored.plan)?;
    Ok(folded(run, Arc::new(plan), stored))
}

pub(crate) fn folded(run: &RunId, plan: Arc<Plan>, stored: &StoredRun) -> State {
    let mut state = State::new(run.clone(), plan);
    for event in &stored.events {
        evolve(&mut state, event);
    }
    state
}

pub(crate) fn input_of(order: &Order, steps: &[String]) -> Option<Input> {
    match order {
        Order::Answer {
            step,
            round,
            action,
            content,
        } => {
            let index = steps.iter().position(|name| name == step)?;
            let answer = Answer {
                action: *action,
                content: content.clone(),
                defaulted: false,
            };
            Some(Input::Answer {
                step: u32::try_from(index).ok()?,
                round: *round,
                answer,
            })
        }
        Order::Cancel { reason } => Some(Input::Cancel {
            reason: reason.clone(),
        }),
        Order::Resolve { slot, resolution } => Some(Input::Resolve {
            slot: *slot,
            resolution: resolution.clone(),
        }),
    }
}
