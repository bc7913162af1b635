//! The state of a run: what folding its events gives. Values are shared, never copied.
//! Only `evolve` changes it; everything else reads.

use crate::event::{End, Output, Status};
use crate::failure::Failure;
use crate::identity::{CallId, RunId, Slot, Timestamp};
use crate::inquiry::{AskedBy, Asking, Carried, Way};
use crate::journal::{Mark, Phase};
use crate::usage::Spent;
use onecall_workflow::plan::Plan;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct State {
    pub run: RunId,
    pub plan: Arc<Plan>,
    pub input: Arc<Value>,
    pub seed: u64,
    pub started: Timestamp,
    /// RFC 3339, for templates.
    pub started_text: String,
    pub deadline: Option<Timestamp>,
    /// Since when the run waits for people only, where that stops its clock.
    pub clock_stopped: Option<Timestamp>,
    pub steps: Vec<StepState>,
    /// Steps whose needs have all ended, in declared order.
    pub ready: BTreeSet<u32>,
    /// Steps that have started and not ended.
    pub active: BTreeSet<u32>,
    /// Calls that were started and not ended: what is in flight, or must be after a resume.
    pub calls: BTreeMap<CallId, OpenCall>,
    /// Slots that wait for their next attempt.
    pub waits: BTreeMap<Slot, Wait>,
    /// Questions that wait for an answer, by step.
    pub questions: BTreeMap<u32, OpenQuestion>,
    /// Slots whose tool asks something.
    pub asking: BTreeMap<Slot, Asking>,
    /// Slots whose call has an unknown outcome that a person must resolve.
    pub held: BTreeMap<Slot, Held>,
    /// Answers to questions whose schema marks a value as sensitive.
    pub marked_answers: Vec<MarkedAnswer>,
    pub skipping_after: Option<u32>,
    pub ended_steps: u32,
    /// Calls that were made. One that died with its process and is made again counts once.
    pub calls_made: u64,
    pub spent: Spent,
    /// Bytes of all values the run holds.
    pub data_bytes: u64,
    /// Bytes of the largest of them.
    pub largest_bytes: u64,
    pub events: u64,
    pub end: Option<End>,
    pub ended: Option<Timestamp>,
    pub(crate) needs: Arc<Needs>,
}

/// The graph by index, computed once a run.
#[derive(Debug)]
pub(crate) struct Needs {
    pub(crate) of: Vec<Vec<u32>>,
    pub(crate) dependents: Vec<Vec<u32>>,
    /// All steps, in the order of their names.
    by_name: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub struct StepState {
    pub status: StepStatus,
    /// Needs that have not ended yet.
    pub unmet: u32,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    pub deadline: Option<Timestamp>,
    pub work: Work,
    pub output: StepOutput,
    pub failure: Option<Failure>,
    pub failure_json: Option<Value>,
    pub defaulted: bool,
    pub skip_reason: Option<String>,
    pub each: Option<Loop>,
    /// Since when its deadline stands still, because people are waited for.
    pub still_since: Option<Timestamp>,
    /// How often a question was put.
    pub questions_put: u32,
    /// How often the step's question was answered wrongly.
    pub answers_refused: u32,
    /// Why the last answer did not fit, until the question is put again.
    pub answer_fault: Option<String>,
}

/// A status that starts as pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepStatus(pub Status);

impl Default for StepStatus {
    fn default() -> Self {
        Self(Status::Pending)
    }
}

/// The attempts of one slot.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub arguments: Option<Arc<Value>>,
    /// Attempts started so far.
    pub attempts: u32,
    /// Failures after which the call certainly has no effect; the idempotency key counts these.
    pub definite_failures: u32,
    /// A call under the present key may have acted, and the tool has not answered since.
    pub is_unsettled: bool,
    /// Answers lost on the way.
    pub lost: u32,
    /// Repetitions of an unsettled call that could not be sent.
    pub unsent: u32,
    /// Attempts that died with their process. They count neither as retries nor as lost on the way.
    pub crashed: u32,
    /// Attempts that ended with a question of the tool.
    pub asked: u32,
    /// What the attempts carry since the tool was answered.
    pub carried: Option<Arc<Carried>>,
    /// The last result, as the backend sent it.
    pub result: Option<Arc<Value>>,
}

impl Work {
    /// Attempts that count against the step's retries.
    pub fn attempts_counted(&self) -> u32 {
        self.attempts.saturating_sub(self.crashed + self.asked)
    }
}

/// The output of a step or item, with the result it may point into.
#[derive(Clone, Debug, Default)]
pub enum StepOutput {
    #[default]
    Nothing,
    /// The `structuredContent` of this result.
    StructuredOf(Arc<Value>),
    Value(Arc<Value>),
}

impl StepOutput {
    pub fn get(&self) -> Option<&Value> {
        match self {
            Self::Nothing => None,
            Self::StructuredOf(result) => result.get("structuredContent"),
            Self::Value(value) => Some(value),
        }
    }

    /// The output to be kept elsewhere too; copied only where it is a part of something else.
    pub fn share(&self) -> Option<Arc<Value>> {
        match self {
            Self::Value(value) => Some(Arc::clone(value)),
            Self::Nothing | Self::StructuredOf(_) => self.get().cloned().map(Arc::new),
        }
    }

    pub(crate) fn from_event(output: &Output, work: &Work) -> Self {
        match (output, &work.result) {
            (Output::Structured, Some(result)) => Self::StructuredOf(Arc::clone(result)),
            (Output::Structured, None) | (Output::Nothing, _) => Self::Nothing,
            (Output::Value(value), _) => Self::Value(Arc::clone(value)),
        }
    }
}

/// A loop in progress.
#[derive(Clone, Debug)]
pub struct Loop {
    pub items: Arc<Vec<Value>>,
    pub states: Vec<ItemState>,
    /// The next item to start.
    pub next: u32,
    /// Items that have started and not ended.
    pub open: u32,
    pub ended: u32,
}

#[derive(Clone, Debug, Default)]
pub struct ItemState {
    pub status: StepStatus,
    pub deadline: Option<Timestamp>,
    pub work: Work,
    pub output: StepOutput,
    pub failure: Option<Failure>,
}

#[derive(Clone, Debug)]
pub struct OpenCall {
    pub arguments: Arc<Value>,
    pub key: String,
    pub deadline: Option<Timestamp>,
    pub started: Timestamp,
    pub carried: Option<Arc<Carried>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub due: Timestamp,
}

/// A call with an unknown outcome. Its deadlines stand still until a person has decided.
#[derive(Clone, Debug)]
pub struct Held {
    pub reason: String,
    pub since: Timestamp,
}

#[derive(Clone, Debug)]
pub struct OpenQuestion {
    pub round: u32,
    pub message: String,
    pub schema: Option<Arc<Value>>,
    pub deadline: Option<Timestamp>,
    pub asked: Timestamp,
    /// The backend that asks, where it is not the workflow.
    pub by: Option<AskedBy>,
    /// A page to visit in place of a form.
    pub url: Option<String>,
    /// Why the answer to the last round did not fit.
    pub fault: Option<String>,
}

#[derive(Clone, Debug)]
pub struct MarkedAnswer {
    pub schema: Arc<Value>,
    pub content: Value,
}

impl State {
    /// The state of a run before its first event.
    pub fn new(run: RunId, plan: Arc<Plan>) -> Self {
        let needs = Arc::new(Needs::of_plan(&plan));
        let steps: Vec<StepState> = needs
            .of
            .iter()
            .map(|own| StepState {
                unmet: u32::try_from(own.len()).unwrap_or(u32::MAX),
                ..StepState::default()
            })
            .collect();
        Self {
            run,
            plan,
            input: Arc::new(Value::Null),
            seed: 0,
            started: Timestamp::default(),
            started_text: String::new(),
            deadline: None,
            clock_stopped: None,
            steps,
            ready: BTreeSet::new(),
            active: BTreeSet::new(),
            calls: BTreeMap::new(),
            waits: BTreeMap::new(),
            questions: BTreeMap::new(),
            asking: BTreeMap::new(),
            held: BTreeMap::new(),
            marked_answers: Vec::new(),
            skipping_after: None,
            ended_steps: 0,
            calls_made: 0,
            spent: Spent::default(),
            data_bytes: 0,
            largest_bytes: 0,
            events: 0,
            end: None,
            ended: None,
            needs,
        }
    }

    /// All that folding gave, as text to compare: the same events give the same image, byte for byte.
    /// The plan is left out; it does not change.
    pub fn image(&self) -> String {
        let Self {
            run,
            plan: _,
            input,
            seed,
            started,
            started_text,
            deadline,
            clock_stopped,
            steps,
            ready,
            active,
            calls,
            waits,
            questions,
            asking,
            held,
            marked_answers,
            skipping_after,
            ended_steps,
            calls_made,
            spent,
            data_bytes,
            largest_bytes,
            events,
            end,
            ended,
            needs: _,
        } = self;
        let begun = (run, input, seed, started, started_text, deadline);
        let open = (ready, active, calls, waits, questions, asking, held);
        let counted = (skipping_after, ended_steps, calls_made, events);
        let used = (spent, data_bytes, largest_bytes, marked_answers);
        format!(
            "{begun:?}\n{clock_stopped:?}\n{steps:?}\n{open:?}\n{counted:?}\n{used:?}\n{end:?}\n{ended:?}"
        )
    }

    pub fn step(&self, step: u32) -> &StepState {
        &self.steps[step as usize]
    }

    /// The step of this name.
    pub fn step_index(&self, name: &str) -> Option<u32> {
        find(&self.needs.by_name, &self.plan, name)
    }

    /// The name of a step; `?` for one that is not there, since answers may name any.
    /// The status of each step, by name.
    pub fn statuses(&self) -> Map<String, Value> {
        let names = self.plan.workflow.step_names();
        let statuses = names.zip(&self.steps).map(|(name, step)| {
            let status = Value::from(step.status.0.as_str());
            (name.as_str().to_owned(), status)
        });
        statuses.collect()
    }

    pub fn step_name(&self, step: u32) -> &str {
        let step = self.plan.workflow.steps.get(step as usize);
        step.map_or("?", |step| step.name.as_str())
    }

    pub(crate) fn work(&self, slot: Slot) -> Option<&Work> {
        let step = self.steps.get(slot.step as usize)?;
        match slot.item {
            None => Some(&step.work),
            Some(item) => Some(&step.each.as_ref()?.states.get(item as usize)?.work),
        }
    }

    /// Whether a call of the step waits for a person: for a decision, or for an answer to its tool.
    pub fn stands_still(&self, step: u32) -> bool {
        self.held.keys().any(|slot| slot.step == step)
            || self
                .asking
                .keys()
                .any(|slot| slot.step == step && self.is_asking(*slot))
    }

    /// Whether the tool of a slot waits for an answer.
    pub fn is_asking(&self, slot: Slot) -> bool {
        self.asking.get(&slot).is_some_and(Asking::is_open)
    }

    /// What the next attempt of a slot carries back to the tool.
    pub(crate) fn carried(&self, slot: Slot) -> Option<Arc<Carried>> {
        let Some(asking) = self.asking.get(&slot) else {
            return self.work(slot)?.carried.clone();
        };
        (asking.inquiry.way == Way::Repeated).then(|| {
            Arc::new(Carried {
                answers: asking.answers.clone(),
                state: asking.inquiry.state.clone(),
            })
        })
    }

    /// The first moment at which the run has taken longer than its budget of time.
    pub fn budget_ends(&self) -> Option<Timestamp> {
        let time = self.plan.workflow.policy.budget.as_ref()?.time?;
        Some(self.started.plus(time).plus(Duration::from_micros(1)))
    }

    /// Nothing moves the run on but people and time.
    pub fn waits_for_people_only(&self) -> bool {
        self.end.is_none()
            && self.calls.keys().all(|call| self.is_asking(call.slot()))
            && self.waits.is_empty()
            && !(self.questions.is_empty() && self.held.is_empty())
    }

    /// What lists and wake-ups need to know.
    pub fn mark(&self) -> Mark {
        let failure = match &self.end {
            None => None,
            Some(End::Completed { failure, .. }) => failure.as_ref(),
            Some(
                End::Failed { failure, .. }
                | End::TimedOut { failure, .. }
                | End::Cancelled { failure, .. },
            ) => Some(failure),
        };
        let failure = failure.map(|failure| failure.code.as_str().to_owned());
        Mark {
            phase: self.phase(),
            due: crate::outstanding::next_due(self),
            failure,
        }
    }

    /// Where the run stands, in one word.
    pub fn phase(&self) -> Phase {
        match &self.end {
            None if !self.waits_for_people_only() => Phase::Running,
            None if self.held.is_empty() => Phase::Waiting,
            None => Phase::Held,
            Some(End::Completed { .. }) => Phase::Completed,
            Some(End::Failed { .. }) => Phase::Failed,
            Some(End::TimedOut { .. }) => Phase::TimedOut,
            Some(End::Cancelled { .. }) => Phase::Cancelled,
        }
    }
}

impl Needs {
    fn of_plan(plan: &Plan) -> Self {
        let steps = &plan.workflow.steps;
        let mut by_name: Vec<u32> = (0..).take(steps.len()).collect();
        by_name.sort_unstable_by_key(|index| steps[*index as usize].name.as_str());
        let mut dependents = vec![Vec::new(); steps.len()];
        let mut of = Vec::with_capacity(steps.len());
        for (own, step) in (0_u32..).zip(steps) {
            let needed: BTreeSet<u32> = step
                .needs
                .iter()
                .filter_map(|need| find(&by_name, plan, need.step.as_str()))
                .collect();
            for need in &needed {
                dependents[*need as usize].push(own);
            }
            of.push(needed.into_iter().collect());
        }
        Self {
            of,
            dependents,
            by_name,
        }
    }
}

/// Finds a step among those ordered by name.
fn find(by_name: &[u32], plan: &Plan, name: &str) -> Option<u32> {
    let order = |index: &u32| plan.step(*index as usize).name.as_str().cmp(name);
    let at = by_name.binary_search_by(order).ok()?;
    Some(by_name[at])
}
