//! What a run goes on to do once a question of it is answered: who called it with what, and the steps still to come,
//! with every value that is known by now. For people who decide: nothing is decided here, and sensitive values are
//! covered.

mod words;

use crate::limits::STEPS_AHEAD_MAX;
use crate::questions::LookError;
use crate::runtime::Runtime;
use crate::sensitive::{Masker, masked};
use crate::world::now;
use onecall_engine::event::{Status, What};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::state::State;
use onecall_engine::view::{RUNNING, View};
use onecall_workflow::catalog::{Catalog, CatalogTool};
use onecall_workflow::limits::Bounds;
use onecall_workflow::plan::Repeatable;
use onecall_workflow::policy::{Refusal, Then};
use onecall_workflow::step::{Action, Call, Step};
use serde_json::Value;
use std::sync::Arc;
use words::Looking;

#[derive(Debug)]
pub struct Ahead {
    pub workflow: String,
    pub principal: Option<String>,
    /// When the run was started.
    pub since: Timestamp,
    pub input: Arc<Value>,
    pub refusals: Refusals,
    pub steps: Vec<Coming>,
    /// Steps that are too many to be shown.
    pub more: usize,
    /// One of those may delete or overwrite something.
    pub more_is_destructive: bool,
}

/// The consequences if the person does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    pub decline: Follows,
    pub cancel: Follows,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follows {
    RunFails,
    /// The step fails, and the run continues.
    StepFails,
    Continues,
    /// The run ends, without the steps that have not started.
    SkipsRemaining,
    /// A tool asked, and gets the answer.
    ToolDecides {
        tool: String,
    },
}

/// The effect that a step may have, by the annotations of its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    ReadOnly,
    Adds,
    /// It may delete or overwrite something; also if the tool's server says nothing.
    Destructive,
}

/// A step that has not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coming {
    pub step: String,
    pub title: Option<String>,
    pub does: Does,
    pub effect: Effect,
    pub when: When,
    /// What the tool is called with, one line a value.
    pub arguments: Vec<(String, Line)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    Calls {
        tool: String,
    },
    /// Calls the tool once for each item.
    Repeats {
        tool: String,
        over: Line,
    },
    Asks {
        message: Line,
    },
    /// Its result is written in the workflow.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Whatever is answered.
    Always,
    /// Its condition does not hold.
    Never,
    /// If this is so.
    If(Line),
}

/// A text of which some may not be known yet.
pub type Line = Vec<Part>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Known(String),
    /// Where it will come from.
    Later(String),
}

impl Coming {
    /// It may delete or overwrite something, unless it certainly does not run.
    pub fn is_destructive(&self) -> bool {
        self.effect == Effect::Destructive && self.when != When::Never
    }
}

impl Runtime {
    /// What comes after a step that asks.
    pub async fn ahead(&self, run: &RunId, asking: &str) -> Result<Ahead, LookError> {
        let (stored, state) = self.stored(run).await?;
        let steps = (0_u32..).zip(&state.plan.workflow.steps).zip(&state.steps);
        let to_come: Vec<(u32, &Step)> = steps
            .filter(|((_, step), own)| {
                own.status.0 == Status::Pending && step.name.as_str() != asking
            })
            .map(|(step, _)| step)
            .collect();
        let more = to_come.len().saturating_sub(STEPS_AHEAD_MAX);
        let mut telling = Telling {
            state: &state,
            asking,
            bounds: self.evaluator().limits.expression,
            masker: Masker::of_state(&state),
            catalog: self.catalog(),
        };
        let mut to_come = to_come
            .into_iter()
            .map(|(index, step)| telling.coming(index, step));
        let steps = to_come.by_ref().take(STEPS_AHEAD_MAX).collect();
        let more_is_destructive = to_come.any(|step| step.is_destructive());
        let stored = masked(stored)?;
        let input = stored.events.iter().find_map(|event| match &event.what {
            What::RunStarted { input, .. } => Some(Arc::clone(input)),
            _ => None,
        });
        Ok(Ahead {
            workflow: stored.summary.workflow,
            principal: stored.summary.principal,
            since: stored.summary.created,
            input: input.unwrap_or_default(),
            refusals: refusals(&state, asking),
            steps,
            more,
            more_is_destructive,
        })
    }
}

fn refusals(state: &State, asking: &str) -> Refusals {
    let all = |follows: Follows| Refusals {
        decline: follows.clone(),
        cancel: follows,
    };
    let Some(index) = state.step_index(asking) else {
        return all(Follows::RunFails);
    };
    let step = state.plan.step(index as usize);
    let asked = state.questions.get(&index);
    if asked.is_some_and(|question| question.by.is_some()) {
        let tool = step
            .call()
            .map_or_else(String::new, |call| call.tool.as_str().to_owned());
        return all(Follows::ToolDecides { tool });
    }
    let follows = |refusal: Refusal| match (refusal, step.on_error.then) {
        (Refusal::Continues, _) => Follows::Continues,
        (Refusal::SkipsRemaining, _) => Follows::SkipsRemaining,
        (Refusal::Fails, Then::Continue) => Follows::StepFails,
        (Refusal::Fails, Then::Abort) => Follows::RunFails,
    };
    match &step.action {
        Action::Ask(ask) => Refusals {
            decline: follows(ask.on_decline),
            cancel: follows(ask.on_cancel),
        },
        Action::Call(_) | Action::Each(_) => all(Follows::RunFails),
    }
}

struct Telling<'a> {
    state: &'a State,
    asking: &'a str,
    bounds: Bounds,
    masker: Option<Masker>,
    catalog: Catalog,
}

impl Telling<'_> {
    fn effect(&self, index: u32, step: &Step) -> Effect {
        if step.mock.is_some() {
            return Effect::None;
        }
        let Some(bound) = self.state.plan.tool(index as usize) else {
            return Effect::None;
        };
        let mut tools = self.catalog.tools.iter();
        let tool =
            tools.find(|tool| tool.backend == bound.backend && tool.original == bound.original);
        let hints = tool.map(CatalogTool::hints);
        match hints {
            Some(hints) if hints.read_only => Effect::ReadOnly,
            Some(hints) if !hints.destructive => Effect::Adds,
            None if bound.repeatable == Repeatable::ReadOnly => Effect::ReadOnly,
            Some(_) | None => Effect::Destructive,
        }
    }

    fn coming(&mut self, index: u32, step: &Step) -> Coming {
        let view = View {
            state: self.state,
            now: now(),
            item: None,
            run_status: RUNNING,
            bounds: self.bounds,
            reader: Some(index),
        };
        let mut looking = Looking::new(view, self.asking);
        let when = match &step.when {
            None => When::Always,
            Some(condition) => match looking.condition(condition) {
                Ok(true) => When::Always,
                Ok(false) => When::Never,
                Err(text) => When::If(self.line(&looking, text)),
            },
        };
        let (does, arguments) = match &step.action {
            _ if step.mock.is_some() => (Does::Nothing, Vec::new()),
            Action::Call(call) => {
                let tool = call.tool.as_str().to_owned();
                (
                    Does::Calls { tool },
                    self.arguments(&mut looking, index, call),
                )
            }
            Action::Ask(ask) => {
                let message = looking.text(&ask.message);
                let message = self.line(&looking, message);
                (Does::Asks { message }, Vec::new())
            }
            Action::Each(each) => match each.body.written_call() {
                None => (Does::Nothing, Vec::new()),
                Some(call) => {
                    let over = looking.text(&each.items);
                    let over = self.line(&looking, over);
                    let tool = call.tool.as_str().to_owned();
                    let arguments = self.arguments(&mut looking, index, call);
                    (Does::Repeats { tool, over }, arguments)
                }
            },
        };
        Coming {
            step: step.name.as_str().to_owned(),
            title: step.title.clone(),
            effect: self.effect(index, step),
            does,
            when,
            arguments,
        }
    }

    fn arguments(
        &mut self,
        looking: &mut Looking<'_>,
        index: u32,
        call: &Call,
    ) -> Vec<(String, Line)> {
        let mut arguments = looking.filled(&call.arguments);
        if let Some(masker) = &mut self.masker {
            masker.cover_call(index, &mut arguments);
        }
        let mut rows = Vec::new();
        words::rows(&arguments, "", &mut rows);
        let line = |(name, text): (String, String)| (name, looking.parts(&text));
        rows.into_iter().map(line).collect()
    }

    fn line(&self, looking: &Looking<'_>, text: String) -> Line {
        let text = match &self.masker {
            Some(masker) => masker.cover_text(&text),
            None => text,
        };
        looking.parts(&text)
    }
}
