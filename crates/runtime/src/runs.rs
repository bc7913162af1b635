//! Live runs of this process: how to feed them, how to watch them, how they end.

use crate::counts::Counts;
use crate::limits::{INPUTS_MAX, RUNS_COUNTED_MAX, WATCH_LAG_MAX};
use crate::log;
use crate::result;
use crate::runtime::Runtime;
use crate::sensitive::Masker;
use crate::world::chain;
use onecall_engine::decide::Input;
use onecall_engine::driver::Observer;
use onecall_engine::event::Event;
use onecall_engine::failure::Code;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{Filter, Order, Phase};
use onecall_engine::state::State;
use onecall_workflow::workflow::Output;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, watch};

/// What a run has come to.
#[derive(Clone, Debug)]
pub struct Standing {
    pub run: RunId,
    pub phase: Phase,
    /// The tool result, once the run has ended.
    pub result: Option<Arc<Value>>,
    /// Questions that wait for an answer.
    pub questions: Vec<Asked>,
    /// Calls whose outcome a person must decide.
    pub held: Vec<HeldCall>,
    /// The names of its steps, by index.
    pub steps: Arc<[String]>,
    /// The tool of its workflow has an output schema.
    pub declares_output: bool,
}

impl Standing {
    /// The run has ended, or only a person can move it on.
    pub fn rests(&self) -> bool {
        self.result.is_some() || matches!(self.phase, Phase::Waiting | Phase::Held)
    }

    /// Whether this question waits for an answer.
    pub(crate) fn asks(&self, step: &str, round: u32) -> bool {
        let mut questions = self.questions.iter();
        questions.any(|asked| asked.step == step && asked.round == round)
    }

    /// The run has ended, and how is not known: `why` continues a sentence about the run.
    pub(crate) fn end_unknown(&mut self, why: &str) {
        let code = Code::UnknownOutcomeUnanswered;
        let text = format!("run `{}` {why}", self.run);
        let result = result::unfinished(&self.run, code, text, self.declares_output);
        self.phase = Phase::Failed;
        self.result = Some(Arc::new(result));
        self.questions.clear();
        self.held.clear();
    }

    /// Leaves out the questions and held calls that these commands decide, which wait in the store until a server takes
    /// them. Returns how many were left out; a run that waits for nothing else continues once they are taken.
    pub fn leave_out_answered(&mut self, told: &[Order]) -> usize {
        let before = self.questions.len() + self.held.len();
        let steps = Arc::clone(&self.steps);
        self.questions
            .retain(|asked| !told.iter().any(|order| answers(order, asked)));
        self.held
            .retain(|held| !told.iter().any(|order| decides(order, held, &steps)));
        let left = self.questions.len() + self.held.len();
        if left == 0 && before > 0 {
            self.phase = Phase::Running;
        } else if self.held.is_empty() && self.phase == Phase::Held {
            self.phase = Phase::Waiting;
        }
        before - left
    }
}

fn answers(order: &Order, asked: &Asked) -> bool {
    match order {
        Order::Answer { step, round, .. } => {
            *step == asked.step && round.is_none_or(|round| round == asked.round)
        }
        Order::Cancel { .. } | Order::Resolve { .. } => false,
    }
}

fn decides(order: &Order, held: &HeldCall, steps: &[String]) -> bool {
    match order {
        Order::Resolve { slot, .. } => {
            let step = usize::try_from(slot.step).ok();
            let step = step.and_then(|step| steps.get(step));
            step.is_some_and(|step| slot.named(step) == held.name)
        }
        Order::Answer { .. } | Order::Cancel { .. } => false,
    }
}

/// A call that was sent and not answered, and that is not made again without a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldCall {
    /// Its step, or `step[3]` for an item of a loop.
    pub name: String,
    pub reason: String,
}

/// A question as a person sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub step: String,
    pub round: u32,
    pub message: String,
    pub schema: Option<Arc<Value>>,
    /// A page to visit in place of a form.
    pub url: Option<String>,
    /// Until when it can be answered.
    pub deadline: Option<Timestamp>,
    /// Why the last answer did not fit.
    pub fault: Option<String>,
}

impl Asked {
    /// The message, with why it is put again.
    pub fn put(&self) -> String {
        match &self.fault {
            Some(fault) => format!("{} (the last answer did not fit: {fault})", self.message),
            None => self.message.clone(),
        }
    }

    /// The message, and the page it sends to.
    pub fn text(&self) -> String {
        match &self.url {
            Some(url) => format!("{} {url}", self.put()),
            None => self.put(),
        }
    }
}

/// How many runs there are.
#[derive(Clone, Debug, Default)]
pub struct RunCounts {
    /// Those that have not ended, here and in the store, by phase; more than ten thousand are not counted.
    pub open: Vec<(Phase, usize)>,
    /// Those that ended in this process, by phase.
    pub ended: Vec<(Phase, u64)>,
}

impl Runtime {
    /// How many runs this process has resumed so far, once each rests or this time is over: until then a call that was
    /// in flight is not yet known to be held.
    pub async fn resumed(&self, patience: Duration) -> usize {
        let runs = self.inner.runs.standings();
        let rest = runs.into_iter().map(|(_, mut standing)| async move {
            let _ = standing.wait_for(Standing::rests).await;
        });
        let _ = tokio::time::timeout(patience, futures::future::join_all(rest)).await;
        self.inner.resumed.load(Ordering::Relaxed)
    }

    /// Looks through the store, so it is nothing for every call.
    pub async fn run_counts(&self) -> RunCounts {
        let open = Phase::ALL.into_iter().filter(|phase| !phase.is_ended());
        let filter = Filter {
            phases: open.clone().collect(),
            limit: RUNS_COUNTED_MAX,
            ..Filter::default()
        };
        let listed = self.inner.journal.list(filter).await;
        let listed = listed.unwrap_or_else(|error| {
            tracing::warn!(error = chain(&error), "cannot count the runs");
            Vec::new()
        });
        let of = |phase| listed.iter().filter(|run| run.phase == phase).count();
        RunCounts {
            open: open.map(|phase| (phase, of(phase))).collect(),
            ended: self.inner.ends.counts(),
        }
    }
}

/// Events of a run with the names of its steps.
#[derive(Clone, Debug)]
pub struct Seen {
    pub run: RunId,
    pub events: Vec<Event>,
    pub steps: Arc<[String]>,
    /// How far the run was before these events.
    pub before: Counts,
}

#[derive(Clone, Debug)]
pub(crate) struct LiveRun {
    /// Who started the run; to others it does not exist.
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) inputs: mpsc::Sender<Input>,
    pub(crate) standing: watch::Receiver<Standing>,
    pub(crate) seen: broadcast::Sender<Arc<Seen>>,
    /// Somebody was told to come back for its end.
    pub(crate) is_awaited: Arc<AtomicBool>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LiveRuns(Arc<Mutex<BTreeMap<RunId, LiveRun>>>);

impl LiveRuns {
    pub(crate) fn get(&self, run: &RunId) -> Option<LiveRun> {
        self.lock().get(run).cloned()
    }

    /// Lists a run as live until the entry is dropped.
    pub(crate) fn enter(&self, run: RunId, live: LiveRun, telling: Arc<Telling>) -> LiveEntry {
        let standing = live.standing.clone();
        self.lock().insert(run.clone(), live);
        LiveEntry {
            runs: self.clone(),
            run,
            standing,
            _telling: telling,
        }
    }

    fn remove(&self, run: &RunId) {
        self.lock().remove(run);
    }

    pub(crate) fn ids(&self) -> Vec<RunId> {
        self.lock().keys().cloned().collect()
    }

    fn standings(&self) -> Vec<(RunId, watch::Receiver<Standing>)> {
        let runs = self.lock();
        let standing = |(run, live): (&RunId, &LiveRun)| (run.clone(), live.standing.clone());
        runs.iter().map(standing).collect()
    }

    /// Those that have not ended.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = RunId> {
        let runs = self.standings().into_iter();
        runs.filter(|(_, standing)| standing.borrow().result.is_none())
            .map(|(run, _)| run)
    }

    /// Forgets every run as soon as it rests: nobody can feed it any more, and its driver leaves it to the store.
    pub(crate) async fn leave_resting(&self) {
        let left = self
            .standings()
            .into_iter()
            .map(|(run, mut standing)| async move {
                let _ = standing.wait_for(Standing::rests).await;
                self.remove(&run);
            });
        futures::future::join_all(left).await;
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, LiveRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run among the live ones, held by the task that drives it.
///
/// Invariant: the channel of a listed run is open. The entry owns a sender of that channel and removes the run before
/// the sender is dropped, however the task ends. So a follower whose channel is closed never finds the same run in the
/// list again.
#[derive(Debug)]
pub(crate) struct LiveEntry {
    runs: LiveRuns,
    run: RunId,
    standing: watch::Receiver<Standing>,
    _telling: Arc<Telling>,
}

impl Drop for LiveEntry {
    fn drop(&mut self) {
        let mut runs = self.runs.lock();
        let listed = runs.get(&self.run);
        if listed.is_some_and(|listed| listed.standing.same_channel(&self.standing)) {
            runs.remove(&self.run);
        }
    }
}

/// Tells watchers what was stored.
#[derive(Debug)]
pub(crate) struct Telling {
    standing: watch::Sender<Standing>,
    seen: broadcast::Sender<Arc<Seen>>,
    steps: Arc<[String]>,
    covering: Mutex<Covering>,
}

/// What covers the events of a run.
#[derive(Debug)]
struct Covering {
    /// There is one where the run has values that must not be shown. A tool may ask for the first of them.
    masker: Option<Masker>,
    /// Events went by that nobody watched, and that the masker learned nothing from.
    is_behind: bool,
}

/// A run's sending and receiving ends.
pub(crate) struct Channels {
    pub(crate) live: LiveRun,
    pub(crate) telling: Arc<Telling>,
    pub(crate) inputs: mpsc::Receiver<Input>,
}

pub(crate) fn channels(state: &State, principal: Option<&str>) -> Channels {
    let (input_sender, inputs) = mpsc::channel(INPUTS_MAX);
    let steps = names_of(state);
    let (standing_sender, standing) = watch::channel(standing_with(state, Arc::clone(&steps)));
    let (seen, _) = broadcast::channel(WATCH_LAG_MAX);
    let telling = Telling {
        standing: standing_sender,
        seen: seen.clone(),
        steps,
        covering: Mutex::new(Covering {
            masker: Masker::of_state(state),
            is_behind: false,
        }),
    };
    Channels {
        live: LiveRun {
            principal: principal.map(Arc::from),
            inputs: input_sender,
            standing,
            seen,
            is_awaited: Arc::default(),
        },
        telling: Arc::new(telling),
        inputs,
    }
}

impl Observer for Telling {
    fn saw(&self, state: &State, events: &[Event]) {
        log::steps(state, events);
        self.tell_events(state, events);
        // Whoever waits for a run to rest is not woken by every step of it.
        self.standing.send_if_modified(|standing| {
            let is_new = state.end.is_some()
                || !(state.questions.is_empty() && state.held.is_empty())
                || !(standing.questions.is_empty() && standing.held.is_empty())
                || standing.phase != state.phase();
            if is_new {
                *standing = standing_with(state, Arc::clone(&self.steps));
            }
            is_new
        });
    }
}

impl Telling {
    /// The run is about to take these commands: what they decide is not asked again.
    pub(crate) fn answered(&self, orders: &[Order]) {
        self.standing
            .send_if_modified(|standing| standing.leave_out_answered(orders) > 0);
    }

    fn tell_events(&self, state: &State, events: &[Event]) {
        let mut covering = self.covering.lock().unwrap_or_else(PoisonError::into_inner);
        if self.seen.receiver_count() == 0 {
            covering.is_behind = true;
            return;
        }
        let mut events = events.to_vec();
        let is_first_secret =
            covering.masker.is_none() && events.iter().any(Event::asks_for_a_secret);
        if is_first_secret || covering.is_behind {
            covering.masker = Masker::of_state(state);
            covering.is_behind = false;
        }
        if let Some(masker) = covering.masker.as_mut() {
            for event in &mut events {
                masker.cover_event(event);
            }
        }
        let seen = Seen {
            before: Counts::before(state, &events),
            run: state.run.clone(),
            events,
            steps: Arc::clone(&self.steps),
        };
        // Nobody listening any more is no fault.
        let _ = self.seen.send(Arc::new(seen));
    }
}

/// Where a run stands, by its state.
pub fn standing_of(state: &State) -> Standing {
    standing_with(state, names_of(state))
}

fn standing_with(state: &State, steps: Arc<[String]>) -> Standing {
    let is_shown = !(state.questions.is_empty() && state.held.is_empty());
    let masker = is_shown.then(|| Masker::of_state(state)).flatten();
    let text = |text: &str| match &masker {
        Some(masker) => masker.cover_text(text),
        None => text.to_owned(),
    };
    let questions = state.questions.iter().map(|(step, question)| Asked {
        step: state.step_name(*step).to_owned(),
        round: question.round,
        message: text(&question.message),
        schema: question.schema.clone(),
        url: question.url.clone(),
        deadline: question.deadline,
        fault: question.fault.as_deref().map(text),
    });
    let held = state.held.iter().map(|(slot, held)| HeldCall {
        name: slot.named(state.step_name(slot.step)),
        reason: text(&held.reason),
    });
    Standing {
        run: state.run.clone(),
        phase: state.phase(),
        result: state
            .end
            .as_ref()
            .map(|end| Arc::new(crate::result::of_run(state, end))),
        questions: questions.collect(),
        held: held.collect(),
        steps,
        declares_output: matches!(state.plan.workflow.output, Output::Properties(_)),
    }
}

/// The names of a run's steps, by index.
pub fn names_of(state: &State) -> Arc<[String]> {
    state
        .plan
        .workflow
        .step_names()
        .map(|name| name.as_str().to_owned())
        .collect()
}
