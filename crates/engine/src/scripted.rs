//! A world with scripted tools, scripted people and a virtual clock: runs a plan in no time, the same way
//! every time. It performs what `outstanding` asks, as the driver does, without tasks or threads.
//!
//! What a script looks like in a file is for its readers (test runner, document cases) to decide.

mod script;

pub use script::{Incident, Reply, ReplyKind, Response, Script};

use crate::decide::{Input, decide};
use crate::evaluate::Evaluator;
use crate::event::{Answer, Event, Outcome};
use crate::evolve::evolve;
use crate::failure::{Code, Failure};
use crate::identity::{CallId, Slot, Timestamp};
use crate::inquiry::{Carried, Way};
use crate::outstanding::next_due;
use crate::state::State;
use onecall_workflow::plan::Plan;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A run as it was played.
#[derive(Debug)]
pub struct Played {
    pub state: State,
    /// Every event, in order.
    pub events: Vec<Event>,
    /// How many events each append held.
    pub appends: Vec<usize>,
    /// Every call that reached a tool, in order.
    pub calls: Vec<MadeCall>,
}

/// A call as its tool saw it.
#[derive(Clone, Debug)]
pub struct MadeCall {
    pub at: Timestamp,
    pub id: CallId,
    pub step: String,
    pub arguments: Arc<Value>,
    pub key: String,
    /// Answers to what the tool asked before.
    pub carried: Option<Arc<Carried>>,
}

impl Played {
    /// How long the run took; how long so far, where it has not ended.
    pub fn took(&self) -> Duration {
        let last = self.events.last().map(|event| event.at);
        let ended = self.state.ended.or(last);
        ended
            .unwrap_or(self.state.started)
            .since(self.state.started)
    }
}

/// Plays a run to its end, or until nothing more will happen.
pub fn play(plan: &Arc<Plan>, input: Value, script: &Script, evaluator: &dyn Evaluator) -> Played {
    let mut stage = Stage {
        script,
        evaluator,
        now: script.start,
        played: Played {
            state: State::new(script.run.clone(), Arc::clone(plan)),
            events: Vec::new(),
            appends: Vec::new(),
            calls: Vec::new(),
        },
        coming: BTreeMap::new(),
        sequence: 0,
        in_flight: BTreeSet::new(),
        mid_call: BTreeSet::new(),
        replies_used: BTreeMap::new(),
        asked: BTreeSet::new(),
        responses_used: BTreeMap::new(),
    };
    for (after, incident) in &script.incidents {
        let at = script.start.plus(*after);
        stage.bring(at, Coming::Incident(incident.clone()));
    }
    let seed = script.seed;
    let input = Arc::new(input);
    stage.take(Input::Start { input, seed });
    stage.run();
    stage.played
}

/// Something that will happen.
#[derive(Debug)]
enum Coming {
    Reply {
        call: CallId,
        outcome: Outcome,
        is_stubborn: bool,
    },
    Asks {
        call: CallId,
        request: Value,
    },
    Answer {
        step: u32,
        round: u32,
        answer: Answer,
    },
    Incident(Incident),
}

struct Stage<'a> {
    script: &'a Script,
    evaluator: &'a dyn Evaluator,
    now: Timestamp,
    played: Played,
    /// In order of time, and of its making within one moment.
    coming: BTreeMap<(Timestamp, u64), Coming>,
    sequence: u64,
    in_flight: BTreeSet<CallId>,
    /// Calls whose tool has asked in their middle.
    mid_call: BTreeSet<CallId>,
    replies_used: BTreeMap<String, usize>,
    asked: BTreeSet<(u32, u32)>,
    responses_used: BTreeMap<u32, usize>,
}

impl Stage<'_> {
    fn run(&mut self) {
        loop {
            self.perform();
            let due = next_due(&self.played.state);
            let next = self.coming.keys().next().map(|(at, _)| *at);
            match (due, next) {
                (None, None) => return,
                (Some(due), next) if next.is_none_or(|next| due <= next) => {
                    self.now = self.now.max(due);
                    self.take(Input::Time);
                    if next_due(&self.played.state) == Some(due) {
                        // Time alone no longer moves the run on.
                        return;
                    }
                }
                (_, _) => {
                    let Some(((at, _), coming)) = self.coming.pop_first() else {
                        return;
                    };
                    self.now = self.now.max(at);
                    self.happen(coming);
                }
            }
        }
    }

    fn happen(&mut self, coming: Coming) {
        match coming {
            Coming::Reply {
                call,
                outcome,
                is_stubborn,
            } => {
                let is_wanted = self.played.state.calls.contains_key(&call);
                if is_wanted || is_stubborn {
                    self.take(Input::Ended { call, outcome });
                }
            }
            Coming::Asks { call, request } => {
                let key = format!("{}", self.sequence);
                self.take(Input::CallAsks { call, key, request });
            }
            Coming::Answer {
                step,
                round,
                answer,
            } => {
                let round = Some(round);
                self.take(Input::Answer {
                    step,
                    round,
                    answer,
                });
            }
            Coming::Incident(incident) => self.incident(incident),
        }
    }

    fn incident(&mut self, incident: Incident) {
        let step_index = |name: &str| {
            let index = self.played.state.plan.workflow.step_index(name);
            index.and_then(|index| u32::try_from(index).ok())
        };
        match incident {
            Incident::Cancel { reason } => self.take(Input::Cancel { reason }),
            Incident::Answer { step, answer } => {
                if let Some(step) = step_index(&step) {
                    let round = None;
                    self.take(Input::Answer {
                        step,
                        round,
                        answer,
                    });
                }
            }
            Incident::Resolve {
                step,
                item,
                resolution,
            } => {
                if let Some(step) = step_index(&step) {
                    let slot = Slot { step, item };
                    self.take(Input::Resolve { slot, resolution });
                }
            }
            Incident::Crash { down } => self.crash(down),
        }
    }

    /// The process dies: what was in flight and what it remembers is gone, the events are not.
    fn crash(&mut self, down: Duration) {
        let mut state = State::new(
            self.played.state.run.clone(),
            Arc::clone(&self.played.state.plan),
        );
        for event in &self.played.events {
            evolve(&mut state, event);
        }
        self.played.state = state;
        // Nothing reaches a process that is not there; its people ask and answer again later.
        let back = self.now.plus(down);
        self.coming
            .retain(|_, coming| !matches!(coming, Coming::Reply { .. } | Coming::Asks { .. }));
        let early: Vec<(Timestamp, u64)> = self
            .coming
            .range(..(back, 0))
            .map(|(key, _)| *key)
            .collect();
        self.now = back;
        self.take(Input::Resume);
        for key in early {
            if let Some(coming) = self.coming.remove(&key) {
                self.bring(back, coming);
            }
        }
    }

    /// Decides, and stores what was decided.
    fn take(&mut self, input: Input) {
        let events = decide(&mut self.played.state, self.now, input, self.evaluator);
        if !events.is_empty() {
            self.played.appends.push(events.len());
            self.played.events.extend(events);
        }
    }

    fn bring(&mut self, at: Timestamp, coming: Coming) {
        self.sequence += 1;
        self.coming.insert((at, self.sequence), coming);
    }

    /// Makes the calls and puts the questions that are outstanding and were not yet.
    fn perform(&mut self) {
        let fresh: Vec<(CallId, MadeCall)> = self
            .played
            .state
            .calls
            .iter()
            .filter(|(id, _)| !self.in_flight.contains(id))
            .map(|(id, open)| {
                let step = self.played.state.step_name(id.step).to_owned();
                let call = MadeCall {
                    at: self.now,
                    id: *id,
                    step,
                    arguments: Arc::clone(&open.arguments),
                    key: open.key.clone(),
                    carried: open.carried.clone(),
                };
                (*id, call)
            })
            .collect();
        let live = self.played.state.asking.values();
        let answered: Vec<CallId> = live
            .filter(|asking| asking.inquiry.way == Way::Live && !asking.is_open())
            .map(|asking| asking.call)
            .filter(|call| self.mid_call.remove(call))
            .collect();
        for call in answered {
            self.reply_to(call);
        }
        for (id, call) in fresh {
            self.in_flight.insert(id);
            self.reply_to(call.id);
            self.played.calls.push(call);
        }
        let asked: Vec<(u32, u32)> = self
            .played
            .state
            .questions
            .iter()
            .map(|(step, question)| (*step, question.round))
            .filter(|key| !self.asked.contains(key))
            .collect();
        for (step, round) in asked {
            self.asked.insert((step, round));
            self.respond(step, round);
        }
    }

    fn reply_to(&mut self, call: CallId) {
        let step = self.played.state.step_name(call.step).to_owned();
        let tool = self.played.state.plan.step(call.step as usize).call();
        let tool = tool.map_or("", |call| call.tool.as_str());
        let Some((key, replies)) = self.script.replies(&step, call.item, tool) else {
            let message = format!("nothing is scripted for tool `{tool}`");
            let outcome = Outcome::Failed {
                failure: Failure::new(Code::ToolUnknown, message),
                result: None,
            };
            return self.bring(
                self.now,
                Coming::Reply {
                    call,
                    outcome,
                    is_stubborn: false,
                },
            );
        };
        let used = self.replies_used.entry(key).or_default();
        // The last reply stands for all that follow.
        let Some(reply) = replies.get(*used).or(replies.last()) else {
            return;
        };
        *used += 1;
        if let ReplyKind::AsksMeanwhile(request) = &reply.kind {
            self.mid_call.insert(call);
            let request = request.clone();
            let at = self.now.plus(reply.after);
            return self.bring(at, Coming::Asks { call, request });
        }
        let Some(outcome) = reply.kind.outcome() else {
            return;
        };
        let mut at = self.now.plus(reply.after);
        let is_stubborn = reply.is_stubborn || !reply.again.is_empty();
        self.bring(
            at,
            Coming::Reply {
                call,
                outcome: outcome.clone(),
                is_stubborn,
            },
        );
        for later in &reply.again {
            at = at.plus(*later);
            self.bring(
                at,
                Coming::Reply {
                    call,
                    outcome: outcome.clone(),
                    is_stubborn,
                },
            );
        }
    }

    fn respond(&mut self, step: u32, round: u32) {
        let name = self.played.state.step_name(step);
        let Some(responses) = self.script.people.get(name) else {
            return;
        };
        let used = self.responses_used.entry(step).or_default();
        let Some(response) = responses.get(*used) else {
            return;
        };
        *used += 1;
        let at = self.now.plus(response.after);
        self.bring(
            at,
            Coming::Answer {
                step,
                round,
                answer: response.answer.clone(),
            },
        );
    }
}
