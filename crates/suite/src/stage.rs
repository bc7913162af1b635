//! The surroundings of the rows of one suite: bound workflows, live servers, tapes. Each row drives the engine itself, so that a
//! server that is down, or replaced by a tape, fails nothing but its own nodes.

use crate::case::Composition;
use crate::eval::Judgements;
use crate::limits::{CANCEL_GRACE, DEADLINE_MARGIN, HELD_CALLS_MAX, ROW_TIME_MAX};
use crate::tape::Call;
use crate::tapes::{RowTapes, Source, Tapes};
use futures::future::BoxFuture;
use onecall_dialects::mcptest::Freeze;
use onecall_engine::decide::Input;
use onecall_engine::driver::{Observer, Stopped, Surroundings, begin, drive};
use onecall_engine::evaluate::{Evaluator, PlanEvaluator};
use onecall_engine::event::{Event, Lost, Outcome, Resolution, What};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::state::State;
use onecall_engine::world::{ToolCall, World};
use onecall_runtime::nodes::{self, Trace};
use onecall_workflow::catalog::Catalog;
use onecall_workflow::parameters::Parameters;
use onecall_workflow::plan::{Plan, bind};
use onecall_workflow::policy::Durability;
use onecall_workflow::workflow::Workflow;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Everything that the rows of one suite share.
pub struct Stage {
    /// The servers; `None` if no selected row needs any.
    live: Option<Arc<dyn World>>,
    plans: Vec<Bound>,
    tapes: Arc<Tapes>,
    judgements: Judgements,
    evaluator: Arc<dyn Evaluator>,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Stage").finish_non_exhaustive()
    }
}

struct Bound {
    plan: Arc<Plan>,
    parameters: Parameters,
}

/// A finished run.
pub(crate) struct Played {
    pub(crate) trace: Trace,
    /// Why it was ended early.
    pub(crate) reason: Option<String>,
}

impl Stage {
    /// Binds the workflows to the tools of the catalog. A tool that no server has is assumed: its calls fail.
    pub fn new<'w>(
        workflows: impl IntoIterator<Item = &'w Workflow>,
        mut catalog: Catalog,
        live: Option<Arc<dyn World>>,
        tapes: Tapes,
    ) -> Self {
        let mut plans = Vec::new();
        for workflow in workflows {
            for call in workflow.steps.iter().filter_map(|step| step.call()) {
                catalog.assume(call.tool.as_str());
            }
            if let Ok(plan) = bind(workflow, &catalog) {
                let parameters = Parameters::new(plan.workflow.inputs.clone());
                let plan = Arc::new(plan);
                plans.push(Bound { plan, parameters });
            }
        }
        Self {
            live,
            plans,
            tapes: Arc::new(tapes),
            judgements: Judgements::default(),
            evaluator: Arc::new(PlanEvaluator::default()),
        }
    }

    /// With recorded judgements and the keys of model providers.
    #[must_use]
    pub fn with_judgements(self, judgements: Judgements) -> Self {
        Self { judgements, ..self }
    }

    pub fn judgements(&self) -> &Judgements {
        &self.judgements
    }

    pub fn tapes(&self) -> &Tapes {
        &self.tapes
    }

    /// The plan of a composition. Two of one name are distinguished by their location.
    fn bound(&self, composition: &Composition) -> Option<&Bound> {
        let named = |bound: &&Bound| bound.plan.workflow.name.as_str() == composition.name;
        let mut all = self.plans.iter().filter(named);
        let first = all.clone().next();
        all.find(|bound| bound.plan.workflow.place == composition.place)
            .or(first)
    }

    /// The tool that each node calls.
    pub(crate) fn tools(&self, composition: &Composition) -> BTreeMap<String, String> {
        let steps = self.bound(composition).into_iter();
        let steps = steps.flat_map(|bound| &bound.plan.workflow.steps);
        let called = steps.filter_map(|step| {
            let call = step.written_call()?;
            Some((step.name.to_string(), call.tool.to_string()))
        });
        called.collect()
    }

    /// What each node needs.
    pub(crate) fn needs(&self, composition: &Composition) -> BTreeMap<String, Vec<String>> {
        let steps = self.bound(composition).into_iter();
        let steps = steps.flat_map(|bound| &bound.plan.workflow.steps);
        let needs = steps.map(|step| {
            let needs = step.needs.iter().map(|need| need.step.to_string());
            (step.name.to_string(), needs.collect())
        });
        needs.collect()
    }

    /// Runs a composition once.
    pub(crate) async fn play(
        &self,
        composition: &Composition,
        variables: Value,
    ) -> Result<Played, String> {
        let bound = self.bound(composition);
        let bound = bound.ok_or("the composition could not be bound to its tools")?;
        let input = bound.parameters.accept(variables).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            format!("the variables do not fit: {}", faults.join("; "))
        })?;
        let (inputs, taken) = mpsc::channel(HELD_CALLS_MAX);
        let watcher = Arc::new(Watcher {
            events: bound.plan.is_sensitive().then(Mutex::default),
            inputs: inputs.clone(),
        });
        let world = RowWorld {
            live: self.live.clone(),
            tapes: Arc::new(RowTapes::new(Arc::clone(&self.tapes))),
            freeze: Arc::new(composition.freeze.clone()),
        };
        let mut state = State::new(RunId::from_bits(rand::random()), Arc::clone(&bound.plan));
        let start = Input::Start {
            input: Arc::new(input),
            seed: rand::random(),
        };
        let at = world.now();
        let events = begin(&mut state, at, start, &self.evaluator).await;
        watcher.saw(&state, &events);
        let surroundings = Surroundings {
            world: Arc::new(world),
            evaluator: Arc::clone(&self.evaluator),
            journal: None,
            durability: Durability::None,
            observer: Arc::<Watcher>::clone(&watcher),
            parks: false,
        };
        let driving = drive(state, Vec::new(), taken, surroundings);
        let (state, reason) = within_time(driving, &inputs).await?;
        let events = watcher.taken();
        let trace = nodes::of_driven(&state, events);
        Ok(Played { trace, reason })
    }
}

/// Waits for the end of a run; one that takes too long is cancelled.
async fn within_time<E: std::fmt::Display>(
    driving: impl Future<Output = Result<Stopped, E>>,
    inputs: &mpsc::Sender<Input>,
) -> Result<(State, Option<String>), String> {
    let mut driving = Box::pin(driving);
    let mut reason = None;
    let in_time = tokio::time::timeout(ROW_TIME_MAX, &mut driving).await;
    let stopped = if let Ok(stopped) = in_time {
        stopped
    } else {
        let minutes = ROW_TIME_MAX.as_secs() / 60;
        let text = format!("the row took more than {minutes} minutes");
        let cancel = Input::Cancel {
            reason: text.clone(),
        };
        let _ = inputs.try_send(cancel);
        let ended = tokio::time::timeout(CANCEL_GRACE, driving).await;
        let ended = ended.map_err(|_| text.clone())?;
        reason = Some(text);
        ended
    };
    match stopped {
        Ok(Stopped::Ended(state)) => Ok((*state, reason)),
        Ok(Stopped::Parked { .. } | Stopped::Abandoned) => {
            Err("the run stopped before its end".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Sees the events of a run: stores them if values must be covered, and ends what would wait for a person.
struct Watcher {
    events: Option<Mutex<Vec<Event>>>,
    inputs: mpsc::Sender<Input>,
}

impl Watcher {
    fn taken(&self) -> Vec<Event> {
        self.events.as_ref().map_or_else(Vec::new, |events| {
            let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *events)
        })
    }
}

impl Observer for Watcher {
    fn saw(&self, _: &State, events: &[Event]) {
        if let Some(kept) = &self.events {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(events);
        }
        for event in events {
            if let What::Held { slot, .. } = &event.what {
                let resolve = Input::Resolve {
                    slot: *slot,
                    resolution: Resolution::Fail,
                };
                // The channel is as long as a run has calls in flight.
                let _ = self.inputs.try_send(resolve);
            }
        }
    }
}

/// The world of one row: tapes first, then the servers. A row always ends, so nothing is left undecided.
#[derive(Clone)]
struct RowWorld {
    live: Option<Arc<dyn World>>,
    tapes: Arc<RowTapes>,
    freeze: Arc<BTreeMap<String, Freeze>>,
}

impl World for RowWorld {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome> {
        let world = self.clone();
        Box::pin(async move { decided(world.answer(call).await) })
    }

    fn now(&self) -> Timestamp {
        onecall_runtime::now()
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(at.since(onecall_runtime::now())))
    }
}

impl RowWorld {
    async fn answer(&self, call: ToolCall) -> Outcome {
        let server = call.tool.backend.as_str().to_owned();
        let tool = call.tool.original.clone();
        let arguments = Arc::clone(&call.arguments);
        let asked = Call {
            tool: &tool,
            arguments: &arguments,
        };
        let freeze = self.freeze.get(&call.step).copied();
        match self.tapes.source(freeze, &server) {
            Source::Live => self.live(call).await,
            Source::Tape => self.tapes.replay(&server, &asked),
            Source::Record => {
                if let Some(outcome) = self.tapes.find(&server, &asked) {
                    return outcome;
                }
                let outcome = self.live(call).await;
                self.tapes.record(&server, &asked, &outcome);
                outcome
            }
        }
    }

    /// A live call. Its deadline is enforced here, so that the node fails instead of waiting for a person to decide.
    async fn live(&self, call: ToolCall) -> Outcome {
        let Some(live) = &self.live else {
            let server = call.tool.backend.as_str();
            return failed(
                Code::TransportUnavailable,
                if server.is_empty() {
                    format!("no server has the tool `{}`", call.tool.original)
                } else {
                    format!("server `{server}` is not connected")
                },
            );
        };
        let Some(deadline) = call.deadline else {
            return live.call(call).await;
        };
        let left = deadline.since(onecall_runtime::now());
        let calling = live.call(call);
        let in_time = left.saturating_sub(DEADLINE_MARGIN);
        let outcome = tokio::time::timeout(in_time, calling).await;
        outcome.unwrap_or_else(|_| {
            let text = format!("no answer within {:.1} s", left.as_secs_f64());
            failed(Code::TimeoutStep, text)
        })
    }
}

/// A call that would wait for a person has failed.
fn decided(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Asks(_) => failed(
            Code::TransportProtocol,
            "the tool asks a person, and a test has none".to_owned(),
        ),
        Outcome::Unknown(Lost::Connection { reason }) => {
            let text = format!("the call was sent and not answered: {reason}");
            failed(Code::UnknownOutcomeUnanswered, text)
        }
        decided @ (Outcome::Returned(_) | Outcome::Failed { .. } | Outcome::Unknown(_)) => decided,
    }
}

fn failed(code: Code, text: String) -> Outcome {
    Outcome::Failed {
        failure: Failure::new(code, text),
        result: None,
    }
}
