//! The driver: performs what is outstanding, feeds what comes back to `decide`, stores before it performs.
//! One task a run; nothing is polled, and no lock is held across an await.

mod deciding;

pub use deciding::begin;

use crate::decide::{Input, end_with, end_with_fault};
use crate::evaluate::Evaluator;
use crate::event::{Event, Lost, Outcome};
use crate::evolve::evolve;
use crate::failure::{Code, Failure};
use crate::identity::{CallId, RunId, Timestamp};
use crate::journal::{Append, Journal, JournalError};
use crate::limits::{
    INPUTS_PER_APPEND_MAX, LIVE_QUESTIONS_MAX, PARK_AFTER_SECONDS, PARK_AT_ONCE_BYTES,
};
use crate::outstanding::next_due;
use crate::state::State;
use crate::world::{Asker, LiveQuestion, ToolCall, World};
use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use onecall_workflow::plan::Plan;
use onecall_workflow::policy::Durability;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Sees every event after it was stored.
pub trait Observer: Send + Sync {
    fn saw(&self, state: &State, events: &[Event]);
}

/// What a run needs besides its state.
#[derive(Clone)]
pub struct Surroundings {
    pub world: Arc<dyn World>,
    pub evaluator: Arc<dyn Evaluator>,
    /// Absent for runs whose durability is `none`.
    pub journal: Option<Arc<dyn Journal>>,
    pub durability: Durability,
    pub observer: Arc<dyn Observer>,
    /// Whether a run that only waits is given back to the store.
    pub parks: bool,
}

impl Debug for Surroundings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Surroundings")
            .finish_non_exhaustive()
    }
}

/// Why driving stopped.
#[derive(Debug)]
pub enum Stopped {
    Ended(Box<State>),
    /// Nothing but time and people can move it on; the store keeps it.
    Parked {
        due: Option<Timestamp>,
    },
    /// The handle that feeds inputs is gone: the process is leaving.
    Abandoned,
}

/// Drives a run until it ends, is parked or is abandoned. `stored` events of it are in the journal already.
pub async fn drive(
    state: State,
    first: Vec<Input>,
    inputs: mpsc::Receiver<Input>,
    surroundings: Surroundings,
) -> Result<Stopped, JournalError> {
    let (ask, asked) = mpsc::channel(LIVE_QUESTIONS_MAX);
    let mut drive = Drive {
        state,
        surroundings,
        inputs,
        in_flight: FuturesUnordered::new(),
        handles: BTreeMap::new(),
        ask,
        asked,
        replies: BTreeMap::new(),
        questions_taken: 0,
        timer: None,
        is_parking: false,
    };
    drive.take(first).await?;
    drive.run().await
}

struct Drive {
    state: State,
    surroundings: Surroundings,
    inputs: mpsc::Receiver<Input>,
    in_flight: FuturesUnordered<BoxFuture<'static, (CallId, Result<Outcome, Aborted>)>>,
    handles: BTreeMap<CallId, AbortHandle>,
    /// Given to each call, for what its tool asks meanwhile.
    ask: mpsc::Sender<LiveQuestion>,
    asked: mpsc::Receiver<LiveQuestion>,
    /// Who waits for the answer, by call and key of the question.
    replies: BTreeMap<(CallId, String), oneshot::Sender<Value>>,
    questions_taken: u64,
    timer: Option<Timer>,
    /// The run is about to be given back to the store; nothing new is taken in.
    is_parking: bool,
}

/// Wakes the run, perhaps too early: what is due moves on with every step, and waking once for nothing is cheaper
/// than a timer a step.
struct Timer {
    at: Timestamp,
    sleep: BoxFuture<'static, ()>,
}

impl Drive {
    async fn run(mut self) -> Result<Stopped, JournalError> {
        loop {
            if self.state.end.is_some() {
                return Ok(Stopped::Ended(Box::new(self.state)));
            }
            self.perform();
            let Some(inputs) = self.next_inputs().await else {
                return Ok(self.stopped());
            };
            self.take(inputs).await?;
        }
    }

    fn stopped(&self) -> Stopped {
        if self.inputs.is_closed() && !self.is_parking {
            return Stopped::Abandoned;
        }
        Stopped::Parked {
            due: next_due(&self.state),
        }
    }

    /// Decides on inputs, stores what was decided, and only then lets it be seen.
    async fn take(&mut self, inputs: Vec<Input>) -> Result<(), JournalError> {
        let at = self.surroundings.world.now();
        let mut first = self.state.events;
        let evaluator = &self.surroundings.evaluator;
        let decided = deciding::decided(&mut self.state, at, inputs, evaluator).await;
        let mut events = if let Some(events) = decided {
            events
        } else {
            first = self.fall_back().await?;
            end_with_fault(&mut self.state, at)
        };
        if events.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.store(first, &events, at).await {
            let code = match error {
                JournalError::Full(_) => Code::InternalStore,
                JournalError::OpenRunsFull { .. } => Code::LimitOpenRuns,
                _ => return Err(error),
            };
            // The decided events do not fit into the store; an end without their values may.
            first = self.fall_back().await?;
            let failure = Failure::new(code, error.to_string());
            events = end_with(&mut self.state, at, failure);
            self.store(first, &events, at).await?;
        }
        self.surroundings.observer.saw(&self.state, &events);
        Ok(())
    }

    async fn store(
        &mut self,
        first: u64,
        events: &[Event],
        at: Timestamp,
    ) -> Result<(), JournalError> {
        let Some(journal) = &self.surroundings.journal else {
            return Ok(());
        };
        let append = Append {
            run: self.state.run.clone(),
            first,
            events: events.to_vec(),
            durability: self.surroundings.durability,
            mark: self.state.mark(),
            at,
        };
        journal.append(append).await
    }

    /// Goes back to the run as it is stored. Returns the number of its next event.
    async fn fall_back(&mut self) -> Result<u64, JournalError> {
        let journal = self.surroundings.journal.clone();
        let (run, plan) = (self.state.run.clone(), Arc::clone(&self.state.plan));
        self.state = stored_state(journal, run, plan).await?;
        Ok(self.state.events)
    }

    /// Starts calls that are outstanding and not in flight, drops those no longer wanted.
    fn perform(&mut self) {
        self.deliver_answers();
        self.handles.retain(|call, handle| {
            let is_wanted = self.state.calls.contains_key(call);
            if !is_wanted {
                handle.abort();
            }
            is_wanted
        });
        for (id, open) in &self.state.calls {
            if self.handles.contains_key(id) {
                continue;
            }
            let Some(tool) = self.state.plan.tool(id.step as usize) else {
                continue;
            };
            let call = ToolCall {
                run: self.state.run.clone(),
                id: *id,
                step: self.state.step_name(id.step).to_owned(),
                tool: Arc::clone(tool),
                arguments: Arc::clone(&open.arguments),
                key: open.key.clone(),
                deadline: open.deadline,
                carried: open.carried.clone(),
                asker: Asker::new(*id, self.ask.clone()),
            };
            let (handle, registration) = AbortHandle::new_pair();
            let world = Arc::clone(&self.surroundings.world);
            let calling = AssertUnwindSafe(async move { world.call(call).await }).catch_unwind();
            // A call that broke on our side may have been sent.
            let calling = calling.map(|outcome| {
                outcome.unwrap_or_else(|_| {
                    let reason = "a fault of ours while the call was in flight".to_owned();
                    Outcome::Unknown(Lost::Connection { reason })
                })
            });
            let work = Abortable::new(calling, registration);
            let id = *id;
            self.in_flight
                .push(Box::pin(async move { (id, work.await) }));
            self.handles.insert(id, handle);
        }
    }

    /// Gives what was answered to the calls that asked; a question that was not taken is dropped.
    fn deliver_answers(&mut self) {
        for ((call, key), reply) in std::mem::take(&mut self.replies) {
            let asking = self.state.asking.get(&call.slot());
            let Some(asking) = asking.filter(|asking| asking.call == call) else {
                continue;
            };
            if let Some(answer) = asking.answers.get(&key) {
                let _ = reply.send(answer.clone());
            } else if asking.inquiry.requests.contains_key(&key) {
                self.replies.insert((call, key), reply);
            }
        }
    }

    fn take_question(&mut self, question: LiveQuestion) -> Input {
        let LiveQuestion {
            call,
            request,
            reply,
        } = question;
        self.questions_taken += 1;
        let key = self.questions_taken.to_string();
        self.replies.insert((call, key.clone()), reply);
        Input::CallAsks { call, key, request }
    }

    /// Waits for something to happen. `None`: nothing will, for now.
    async fn next_inputs(&mut self) -> Option<Vec<Input>> {
        self.set_timer();
        let world = &self.surroundings.world;
        let only_waits = self.state.calls.is_empty() && self.in_flight.is_empty();
        if self.is_parking && only_waits {
            return None;
        }
        let parks = self.surroundings.parks && only_waits;
        let park = async {
            if parks {
                let now = world.now();
                let later = now.plus(Duration::from_secs(PARK_AFTER_SECONDS));
                let is_soon = |due: Timestamp| due <= later;
                // What time moves on soon would be read back from the store at once.
                let at_once =
                    is_large_and_waits(&self.state) && !next_due(&self.state).is_some_and(is_soon);
                world.sleep_until(if at_once { now } else { later }).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        let first = tokio::select! {
            biased;
            input = self.inputs.recv(), if !self.is_parking => input?,
            Some(ended) = self.in_flight.next(), if !self.in_flight.is_empty() => {
                Self::ended(&mut self.handles, ended)
            }
            Some(question) = self.asked.recv() => self.take_question(question),
            () = expired(self.timer.as_mut()) => {
                self.timer = None;
                Input::Time
            }
            () = park => {
                // Whoever sends from now on is told so; what came in at this very moment is still taken.
                self.inputs.close();
                self.is_parking = true;
                self.inputs.try_recv().ok()?
            }
        };
        let mut inputs = vec![first];
        self.drain(&mut inputs);
        Some(inputs)
    }

    fn set_timer(&mut self) {
        let due = next_due(&self.state);
        let is_in_time = |timer: &mut Timer| due.is_some_and(|due| timer.at <= due);
        self.timer = self.timer.take_if(is_in_time).or_else(|| {
            let at = due?;
            let sleep = self.surroundings.world.sleep_until(at);
            Some(Timer { at, sleep })
        });
    }

    /// Takes along what else is there already, so that one append serves for all.
    fn drain(&mut self, inputs: &mut Vec<Input>) {
        while inputs.len() < INPUTS_PER_APPEND_MAX {
            let next = self.in_flight.next().now_or_never();
            let Some(Some(ended)) = next else { break };
            inputs.push(Self::ended(&mut self.handles, ended));
        }
        while inputs.len() < INPUTS_PER_APPEND_MAX
            && let Ok(input) = self.inputs.try_recv()
        {
            inputs.push(input);
        }
    }

    fn ended(
        handles: &mut BTreeMap<CallId, AbortHandle>,
        (call, outcome): (CallId, Result<Outcome, Aborted>),
    ) -> Input {
        handles.remove(&call);
        match outcome {
            Ok(outcome) => Input::Ended { call, outcome },
            // An aborted call was ended by a decision already; there is nothing to tell.
            Err(Aborted) => Input::Time,
        }
    }
}

/// The run waits for people and holds more than should stay in memory meanwhile.
fn is_large_and_waits(state: &State) -> bool {
    let waits = !(state.questions.is_empty() && state.held.is_empty());
    waits && state.data_bytes > PARK_AT_ONCE_BYTES
}

async fn expired(timer: Option<&mut Timer>) {
    match timer {
        Some(timer) => timer.sleep.as_mut().await,
        None => std::future::pending().await,
    }
}

/// A run as the store has it; one that is not stored has nothing to fall back to.
async fn stored_state(
    journal: Option<Arc<dyn Journal>>,
    run: RunId,
    plan: Arc<Plan>,
) -> Result<State, JournalError> {
    let mut state = State::new(run.clone(), plan);
    if let Some(journal) = journal
        && let Some(stored) = journal.load(&run).await?
    {
        for event in &stored.events {
            evolve(&mut state, event);
        }
    }
    Ok(state)
}
