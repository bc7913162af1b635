//! One run in the hands of processes that crash, stand still and come back. Each process appends before it
//! performs, to a model journal that refuses the appends of whoever lost the run.

mod people;

use super::Break;
use super::backend::Backend;
use super::dice::Dice;
use super::report::Point;
use super::scenario::Scenario;
use onecall_engine::decide::{Input, decide};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{Event, Resolution};
use onecall_engine::evolve::evolve;
use onecall_engine::identity::{CallId, RunId, Slot, Timestamp};
use onecall_engine::outstanding::next_due;
use onecall_engine::state::{OpenQuestion, State};
use onecall_workflow::plan::Plan;
use onecall_workflow::policy::Then;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What goes wrong around a run. The default is nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Disturbance {
    pub(super) crash: Option<Crash>,
    /// Lost, repeated and late answers, by this seed.
    pub(super) noise: Option<u64>,
    /// The first process stands still at this input, past its lease.
    pub(super) pause: Option<u64>,
}

/// The process dies at the n-th append: just before it is stored, or just after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crash {
    pub(super) append: u64,
    pub(super) is_stored: bool,
}

/// What became of a run.
#[derive(Debug)]
pub(super) struct Performance {
    pub(super) events: Vec<Event>,
    /// The state of the last owner.
    pub(super) state: State,
    pub(super) appends: u64,
    pub(super) inputs: u64,
    pub(super) backend: Backend,
    pub(super) hits: Vec<(Point, &'static str)>,
    pub(super) came_to_rest: bool,
    pub(super) jumped: bool,
}

/// Limit: inputs of one run; none comes near it unless it goes round in circles.
const INPUTS_MAX: u64 = 4_000;
const LEASE: Duration = Duration::from_secs(15);
const START: Timestamp = Timestamp::from_millis(1_785_231_000_000);

pub(super) fn perform(
    scenario: &Scenario,
    disturbance: &Disturbance,
    broken: Option<Break>,
) -> Performance {
    let mut harness = Harness {
        scenario,
        disturbance,
        broken,
        plan: plan_for(scenario, broken),
        journal: Journal::default(),
        owners: Vec::new(),
        coming: BTreeMap::new(),
        sequence: 0,
        now: START,
        crash: disturbance.crash,
        pause: disturbance.pause,
        appends: 0,
        inputs: 0,
        backend: Backend::default(),
        hits: Vec::new(),
        jumps: Dice::of(&[disturbance.noise.unwrap_or(0), scenario.seed]),
        jumped: false,
    };
    harness.bring(START, Coming::Owner);
    if let Some(after) = scenario.cancel_after {
        let reason = "no longer wanted".to_owned();
        let at = START.plus(after);
        harness.bring(at, Coming::ToCurrent(Input::Cancel { reason }));
    }
    let came_to_rest = harness.run();
    let state = harness.owners.pop().map(|owner| owner.state);
    Performance {
        state: state.unwrap_or_else(|| State::new(run_id(), Arc::clone(&harness.plan))),
        events: harness.journal.events,
        appends: harness.appends,
        inputs: harness.inputs,
        backend: harness.backend,
        hits: harness.hits,
        came_to_rest,
        jumped: harness.jumped,
    }
}

fn run_id() -> RunId {
    RunId::new("run")
}

/// The plan the engine is given: without the defaults of failed steps, where that guard is off.
fn plan_for(scenario: &Scenario, broken: Option<Break>) -> Arc<Plan> {
    if broken != Some(Break::DefaultOnFailure) {
        return Arc::clone(&scenario.plan);
    }
    let mut plan = Plan::clone(&scenario.plan);
    for step in &mut plan.workflow.steps {
        if step.on_error.then == Then::Continue {
            step.default = None;
        }
    }
    Arc::new(plan)
}

/// What a store promises: events in order, and one owner.
#[derive(Debug, Default)]
struct Journal {
    events: Vec<Event>,
    epoch: u64,
}

impl Journal {
    fn append(&mut self, epoch: u64, first: u64, events: &[Event], fences: bool) -> bool {
        if fences && (epoch != self.epoch || first != self.events.len() as u64) {
            return false;
        }
        self.events.extend_from_slice(events);
        true
    }
}

/// A process that has, or believes to have, the run.
struct Owner {
    epoch: u64,
    state: State,
    sent: BTreeSet<CallId>,
    /// Calls whose tools ask before they act, with their keys.
    inquiring: BTreeMap<CallId, String>,
    asked: BTreeSet<(u32, u32)>,
    looked_at: BTreeSet<(Slot, Timestamp)>,
    /// Questions as they stood, for the guard of single answers.
    remembered: BTreeMap<u32, OpenQuestion>,
    stands_until: Option<Timestamp>,
    is_dead: bool,
}

enum Coming {
    /// A process takes the run.
    Owner,
    /// For one process, over its own connection.
    To(usize, Input),
    /// A command for whoever has the run.
    ToCurrent(Input),
    /// A person looks at a held call.
    Look(Slot),
}

struct Harness<'a> {
    scenario: &'a Scenario,
    disturbance: &'a Disturbance,
    broken: Option<Break>,
    plan: Arc<Plan>,
    journal: Journal,
    owners: Vec<Owner>,
    coming: BTreeMap<(Timestamp, u64), Coming>,
    sequence: u64,
    now: Timestamp,
    crash: Option<Crash>,
    pause: Option<u64>,
    appends: u64,
    inputs: u64,
    backend: Backend,
    hits: Vec<(Point, &'static str)>,
    jumps: Dice,
    jumped: bool,
}

impl Harness<'_> {
    /// Runs until nothing more will happen. False: it went on and on.
    fn run(&mut self) -> bool {
        while self.inputs < INPUTS_MAX {
            let next = self.coming.keys().next().map(|(at, _)| *at);
            let due = self.next_timer();
            match (due, next) {
                (None, None) => return true,
                (Some((due, owner)), next) if next.is_none_or(|next| due <= next) => {
                    self.now = self.now.max(due);
                    self.deliver(owner, Input::Time, false);
                }
                (_, _) => {
                    let Some(((at, _), coming)) = self.coming.pop_first() else {
                        return true;
                    };
                    self.now = self.now.max(at);
                    self.happen(coming);
                }
            }
            self.jump();
        }
        false
    }

    /// Now and then the clock of an untimely world makes a leap.
    fn jump(&mut self) {
        if self.disturbance.noise.is_some() && !self.scenario.is_timely && self.jumps.chance(1) {
            self.now = self
                .now
                .plus(Duration::from_secs(1 + self.jumps.below(3_600)));
            self.jumped = true;
        }
    }

    fn next_timer(&self) -> Option<(Timestamp, usize)> {
        let live = self.owners.iter().enumerate();
        live.filter(|(_, owner)| !owner.is_dead)
            .filter_map(|(index, owner)| {
                let due = next_due(&owner.state)?;
                // A process that stood still first does what it was about to do.
                let awake = owner
                    .stands_until
                    .map(|until| until.plus(Duration::from_micros(1)));
                Some((due.max(awake.unwrap_or(due)), index))
            })
            .min()
    }

    fn happen(&mut self, coming: Coming) {
        match coming {
            Coming::Owner => self.take_over(),
            Coming::To(owner, input) => self.deliver(owner, input, false),
            Coming::ToCurrent(input) => {
                if let Some(owner) = self.current() {
                    self.deliver(owner, input, true);
                } else {
                    let later = self.now.plus(LEASE);
                    self.bring(later, Coming::ToCurrent(input));
                }
            }
            Coming::Look(slot) => {
                let resolution = match self.backend.look(slot) {
                    Some(result) => Resolution::Result(result),
                    None if self.scenario.is_timely || self.jumps.chance(60) => Resolution::Retry,
                    None => Resolution::Fail,
                };
                let input = Input::Resolve { slot, resolution };
                self.happen(Coming::ToCurrent(input));
            }
        }
    }

    fn current(&self) -> Option<usize> {
        self.owners.iter().rposition(|owner| !owner.is_dead)
    }

    fn bring(&mut self, at: Timestamp, coming: Coming) {
        self.sequence += 1;
        self.coming.insert((at, self.sequence), coming);
    }

    /// A process claims the run, folds what was stored and goes on.
    fn take_over(&mut self) {
        self.journal.epoch += 1;
        let mut state = State::new(run_id(), Arc::clone(&self.plan));
        for event in &self.journal.events {
            evolve(&mut state, event);
        }
        let input = if self.journal.events.is_empty() {
            let input = Arc::clone(&self.scenario.input);
            let seed = self.scenario.seed;
            Input::Start { input, seed }
        } else {
            Input::Resume
        };
        self.owners.push(Owner {
            epoch: self.journal.epoch,
            state,
            sent: BTreeSet::new(),
            inquiring: BTreeMap::new(),
            asked: BTreeSet::new(),
            looked_at: BTreeSet::new(),
            remembered: BTreeMap::new(),
            stands_until: None,
            is_dead: false,
        });
        self.deliver(self.owners.len() - 1, input, false);
    }

    fn deliver(&mut self, index: usize, input: Input, is_command: bool) {
        if self.owners[index].is_dead {
            return;
        }
        if let Some(until) = self.owners[index].stands_until
            && until > self.now
        {
            return self.bring(until, Coming::To(index, input));
        }
        self.inputs += 1;
        // A run that was never stored cannot be taken over by anybody.
        let is_stored = !self.journal.events.is_empty();
        let is_cancel = matches!(input, Input::Cancel { .. });
        if is_stored
            && self
                .pause
                .is_some_and(|pause| is_cancel || self.inputs >= pause)
        {
            return self.stand_still(index, input, is_command);
        }
        self.tamper(index);
        let owner = &mut self.owners[index];
        let first = owner.state.events;
        if self.broken == Some(Break::SingleAnswer)
            && let Input::Answer { step, .. } = &input
            && let Some(question) = owner.remembered.get(step)
            && owner.state.end.is_none()
        {
            owner.state.questions.insert(*step, question.clone());
        }
        let events = decide(&mut owner.state, self.now, input, &PlanEvaluator::default());
        self.tamper(index);
        if self.broken == Some(Break::AppendBeforePerform) {
            self.perform(index);
        }
        if !self.store(index, first, &events) {
            self.owners[index].is_dead = true;
            return;
        }
        self.perform(index);
    }

    /// Longer than the lease: another takes the run meanwhile. What this one was about to do, it does later.
    fn stand_still(&mut self, index: usize, input: Input, is_command: bool) {
        self.pause = None;
        let taken = self.now.plus(LEASE);
        let until = taken.plus(Duration::from_millis(self.jumps.below(20_000)));
        self.owners[index].stands_until = Some(until);
        self.bring(taken, Coming::Owner);
        if is_command {
            // A command is given out again when its taker died before it appended the effect.
            self.bring(taken, Coming::ToCurrent(input.clone()));
        }
        self.bring(until, Coming::To(index, input));
    }

    /// Appends, unless the process dies right here or has lost the run.
    fn store(&mut self, index: usize, first: u64, events: &[Event]) -> bool {
        if events.is_empty() {
            return true;
        }
        self.appends += 1;
        let crash = self.crash.filter(|crash| crash.append == self.appends);
        if let Some(Crash {
            is_stored: false, ..
        }) = crash
        {
            self.crashed(Point::BeforeAppend, events);
            return false;
        }
        let fences = self.broken != Some(Break::Fence);
        let epoch = self.owners[index].epoch;
        if !self.journal.append(epoch, first, events, fences) {
            self.hit(Point::Refused, events);
            return false;
        }
        if crash.is_some() {
            self.crashed(Point::AfterAppend, events);
            return false;
        }
        true
    }

    fn crashed(&mut self, point: Point, events: &[Event]) {
        self.crash = None;
        self.hit(point, events);
        let down = Duration::from_millis(self.jumps.below(30_000));
        self.bring(self.now.plus(down), Coming::Owner);
        // Whoever asked for something and got no answer asks again.
        for event in events {
            if let onecall_engine::event::What::CancelAsked { reason } = &event.what {
                let reason = reason.clone();
                let at = self.now.plus(down);
                self.bring(at, Coming::ToCurrent(Input::Cancel { reason }));
            }
        }
    }

    fn hit(&mut self, point: Point, events: &[Event]) {
        let kinds: BTreeSet<&'static str> = events.iter().map(|event| event.what.kind()).collect();
        self.hits
            .extend(kinds.into_iter().map(|kind| (point, kind)));
    }

    /// Switches a guard off by making the state forget what the guard stands on.
    fn tamper(&mut self, index: usize) {
        let owner = &mut self.owners[index];
        if self.broken == Some(Break::SingleAnswer) {
            owner.remembered.extend(
                owner
                    .state
                    .questions
                    .iter()
                    .map(|(step, question)| (*step, question.clone())),
            );
        }
        if self.broken == Some(Break::Deadline) {
            let state = &mut owner.state;
            state.deadline = None;
            state
                .calls
                .values_mut()
                .for_each(|call| call.deadline = None);
            state
                .questions
                .values_mut()
                .for_each(|question| question.deadline = None);
            for step in &mut state.steps {
                step.deadline = None;
            }
        }
    }

    /// Does what is outstanding and was not done yet.
    fn perform(&mut self, index: usize) {
        let owner = &mut self.owners[index];
        let mut calls = Vec::new();
        for (id, open) in &owner.state.calls {
            if owner.sent.insert(*id) {
                calls.push((*id, open.key.clone()));
            }
        }
        let mut questions = Vec::new();
        for (step, question) in &owner.state.questions {
            if owner.asked.insert((*step, question.round)) {
                questions.push((*step, question.round));
            }
        }
        let mut held = Vec::new();
        for (slot, what) in &owner.state.held {
            if owner.looked_at.insert((*slot, what.since)) {
                held.push(*slot);
            }
        }
        for (id, key) in calls {
            self.send(index, id, key);
        }
        self.go_on(index);
        for (step, round) in questions {
            self.ask(step, round);
        }
        for slot in held {
            let at = self.now.plus(Duration::from_secs(30));
            self.bring(at, Coming::Look(slot));
        }
    }
}
