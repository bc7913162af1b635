//! Following a run by its id, wherever it lives, and answering what it asks. A run may be live here, parked in
//! the store, or driven by another process on the same store; callers see no difference but speed.

use crate::calls::{Moved, RunHandle};
use crate::publish::PublishedWorkflow;
use crate::runs::{Standing, standing_of};
use crate::runtime::Runtime;
use crate::tend::folded;
use crate::world::chain;
use onecall_engine::decide::Input;
use onecall_engine::event::{Answer, AnswerAction, What};
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Command, JournalError, Order, StoredRun, Summary};
use onecall_engine::state::State;
use onecall_workflow::policy::Durability;
use onecall_workflow::stored::ReadPlanError;
use serde_json::Value;
use std::time::Duration;

/// How soon a run that is not live here is looked at again, at first and at last: one that waits for a person may wait
/// for days.
const LOOK_FIRST: Duration = Duration::from_millis(100);
const LOOK_LAST: Duration = Duration::from_secs(1);

/// How long an answer may take to show its effect.
const EFFECT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("no run is named `{0}`")]
    UnknownRun(RunId),
    #[error("cannot read the store")]
    Store(#[from] JournalError),
    #[error("the stored run cannot be read")]
    Unreadable(#[from] ReadPlanError),
}

/// An answer by a person.
#[derive(Clone, Debug)]
pub struct Given {
    pub step: String,
    /// Which asking is answered; `None` answers whatever is open.
    pub round: Option<u32>,
    pub action: AnswerAction,
    pub content: Option<Value>,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The run goes on with it, also when it was given before.
    Taken,
    /// It does not fit, and the question was put again.
    AskedAgain { reason: String },
    /// The time to answer was over, and the run has gone on without.
    TooLate,
}

#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Look(#[from] LookError),
    #[error("step `{step}` of run `{run}` does not ask anything now")]
    NotAsked { run: RunId, step: String },
    #[error("step `{step}` was answered otherwise")]
    Otherwise { step: String },
    #[error("the answer is stored; its run has not taken it up yet")]
    Slow,
}

/// A run that is followed by its id.
#[derive(Debug)]
pub struct Follower {
    runtime: Runtime,
    pub run: RunId,
    /// Absent while the run is not driven here.
    live: Option<RunHandle>,
    /// Where the run was when it was last looked at.
    last: Standing,
}

impl Follower {
    pub fn new(runtime: Runtime, handle: RunHandle) -> Self {
        Self {
            runtime,
            run: handle.id.clone(),
            last: handle.standing(),
            live: Some(handle),
        }
    }

    /// What happens next: events while the run is live here, and where it comes to rest.
    /// A run that is neither driven nor stored any more has ended.
    pub async fn moved(&mut self) -> Moved {
        let mut pause = LOOK_FIRST;
        // Every turn ends with a pause. Without it, two views of a run that differ would loop in one poll.
        loop {
            if self.live.is_none() {
                self.live = self.runtime.live(&self.run);
            }
            if let Some(live) = &mut self.live {
                if let Some(moved) = live.moved().await {
                    return moved;
                }
                self.last = live.standing();
                self.live = None;
            }
            if let Some(standing) = self.look().await {
                return Moved::Rests(standing);
            }
            tokio::time::sleep(pause).await;
            pause = later(pause);
        }
    }

    /// The status of an idle run that is not driven here. `None`: it is not idle, or the store cannot be read now.
    async fn look(&mut self) -> Option<Standing> {
        match self.runtime.kept_standing(&self.run).await {
            Ok(standing) => {
                self.last = standing.clone();
                standing.rests().then_some(standing)
            }
            Err(LookError::Store(error)) => {
                let what = "cannot look at a run that is followed";
                self.runtime.inner.repeated.warn(what, &error);
                None
            }
            // An open run is never removed from the store, so it has ended.
            Err(LookError::UnknownRun(_)) => Some(self.ended(
                "is no longer stored: it has ended, and its result was removed or never stored; its steps may have acted",
            )),
            Err(LookError::Unreadable(error)) => {
                tracing::warn!(run = %self.run, error = chain(&error), "cannot read a run that is followed");
                Some(self.ended(
                    "cannot be read by this server any more, so nothing is known of its end; its steps may have acted",
                ))
            }
        }
    }

    /// The end of a run that cannot be read any more. Its last status has passed: it asks nothing now.
    fn ended(&mut self, why: &str) -> Standing {
        if self.last.result.is_none() {
            self.last.end_unknown(why);
        }
        self.last.clone()
    }

    /// Leaves the run to itself; whoever followed it comes back for its end, by its id. `Some` where it has ended in
    /// this very moment.
    pub fn come_back(&self) -> Option<Standing> {
        self.live.as_ref().and_then(RunHandle::await_end)
    }

    pub async fn cancel(&self, reason: &str) {
        if let Some(live) = &self.live
            && live.cancel(reason).await
        {
            return;
        }
        let what = Order::Cancel {
            reason: reason.to_owned(),
        };
        let run = self.run.clone();
        if let Err(error) = self.runtime.inner.journal.tell(Command { run, what }).await {
            tracing::warn!(run = %self.run, %error, "cannot cancel the run");
        }
    }
}

/// The pause after this one.
fn later(pause: Duration) -> Duration {
    pause.saturating_mul(2).min(LOOK_LAST)
}

impl Runtime {
    /// Follows a run that was started earlier, here or elsewhere.
    pub async fn attach(&self, run: &RunId) -> Result<Follower, LookError> {
        let live = self.live(run);
        let last = match &live {
            Some(live) => live.standing(),
            None => self.kept_standing(run).await?,
        };
        Ok(Follower {
            runtime: self.clone(),
            run: run.clone(),
            live,
            last,
        })
    }

    /// The status of a run now. A question whose answer waits in the store to be taken is not asked again.
    pub async fn standing(&self, run: &RunId) -> Result<Standing, LookError> {
        match self.live(run) {
            Some(live) => Ok(live.standing()),
            None => self.kept_standing(run).await,
        }
    }

    /// The same of a run that is not driven here.
    async fn kept_standing(&self, run: &RunId) -> Result<Standing, LookError> {
        let standing = self.ended_or_stored(run).await?;
        self.without_answered(standing).await
    }

    /// Leaves out what has been answered, where the answer waits in the store for a server to take it.
    async fn without_answered(&self, mut standing: Standing) -> Result<Standing, LookError> {
        if standing.result.is_none() && standing.rests() {
            let told = self.inner.journal.told(&standing.run).await?;
            standing.leave_out_answered(&told);
        }
        Ok(standing)
    }

    async fn ended_or_stored(&self, run: &RunId) -> Result<Standing, LookError> {
        match self.inner.unstored.find(run) {
            Some((_, standing)) => Ok(standing),
            None => Ok(standing_of(&self.stored(run).await?.1)),
        }
    }

    /// What the store says of a run, and where it stands.
    pub async fn recorded(&self, run: &RunId) -> Result<(Summary, Standing), LookError> {
        let (stored, state) = self.stored(run).await?;
        let standing = self.without_answered(standing_of(&state)).await?;
        Ok((stored.summary, standing))
    }

    /// Whether a run of this workflow can be found again once nobody follows it.
    pub fn keeps(&self, workflow: &PublishedWorkflow) -> bool {
        let stated = workflow.workflow.policy.durability;
        stated.unwrap_or(self.inner.durability) != Durability::None
    }

    /// Returns once the question is open no longer, whoever answered it.
    pub async fn settles(&self, run: &RunId, step: &str, round: u32) {
        let mut pause = LOOK_FIRST;
        loop {
            let standing = match self.live(run) {
                Some(mut live) => {
                    live.until(|standing| !standing.asks(step, round)).await;
                    Ok(live.standing())
                }
                None => self.ended_or_stored(run).await,
            };
            match standing {
                Ok(standing) if !standing.asks(step, round) => return,
                Ok(_) | Err(LookError::Store(_)) => {}
                Err(LookError::UnknownRun(_) | LookError::Unreadable(_)) => return,
            }
            tokio::time::sleep(pause).await;
            pause = later(pause);
        }
    }

    /// Answers a question and waits for the effect. The same answer again is taken again; another is refused.
    pub async fn answer(&self, run: &RunId, given: Given) -> Result<Answered, AnswerError> {
        let (stored, state) = self.stored(run).await?;
        let index = state.plan.workflow.step_index(&given.step);
        let not_asked = || AnswerError::NotAsked {
            run: run.clone(),
            step: given.step.clone(),
        };
        let step = index
            .and_then(|index| u32::try_from(index).ok())
            .ok_or_else(not_asked)?;
        let open = state.questions.get(&step).map(|question| question.round);
        let round = match (open, given.round) {
            (Some(open), None) => open,
            (Some(open), Some(round)) if open == round => round,
            (_, Some(round)) => {
                return verdict(&stored, step, round, &given).unwrap_or_else(|| Err(not_asked()));
            }
            (None, None) => return Err(not_asked()),
        };
        let delivered = async {
            if !self.feed_answer(run, step, round, &given).await {
                self.store_answer(run, round, &given).await?;
            }
            self.settles(run, &given.step, round).await;
            Ok::<(), LookError>(())
        };
        match tokio::time::timeout(EFFECT, delivered).await {
            Ok(delivered) => delivered?,
            Err(_) => return Err(AnswerError::Slow),
        }
        let (stored, _) = self.stored(run).await?;
        verdict(&stored, step, round, &given).unwrap_or_else(|| Err(not_asked()))
    }

    /// Gives an answer to a run that is driven here, and waits until the run has taken it. `false`: it has not, since it
    /// is not driven here any more.
    async fn feed_answer(&self, run: &RunId, step: u32, round: u32, given: &Given) -> bool {
        let Some(mut live) = self.live(run) else {
            return false;
        };
        let answer = Answer {
            action: given.action,
            content: given.content.clone(),
            defaulted: false,
        };
        let input = Input::Answer {
            step,
            round: Some(round),
            answer,
        };
        if !live.feed(input).await {
            return false;
        }
        // A run that stops since the store fails drops what it was fed.
        let is_open = |standing: &Standing| standing.asks(&given.step, round);
        live.until(|standing| !is_open(standing)).await;
        !is_open(&live.standing())
    }

    /// Puts an answer into the inbox of the run, for the process that drives it.
    async fn store_answer(
        &self,
        run: &RunId,
        round: u32,
        given: &Given,
    ) -> Result<(), JournalError> {
        let what = Order::Answer {
            step: given.step.clone(),
            round: Some(round),
            action: given.action,
            content: given.content.clone(),
        };
        let run = run.clone();
        self.inner.journal.tell(Command { run, what }).await
    }

    /// Refuses everybody but the one who started the run: to others it does not exist.
    pub async fn owned(&self, run: &RunId, principal: Option<&str>) -> Result<(), LookError> {
        let owner = match self.inner.runs.get(run) {
            Some(live) => live.principal.as_deref().map(str::to_owned),
            None => match self.inner.unstored.find(run) {
                Some((principal, _)) => principal.as_deref().map(str::to_owned),
                None => self.stored(run).await?.0.summary.principal,
            },
        };
        if owner.as_deref() == principal {
            return Ok(());
        }
        Err(LookError::UnknownRun(run.clone()))
    }

    pub(crate) fn live(&self, run: &RunId) -> Option<RunHandle> {
        let live = self.inner.runs.get(run)?;
        Some(RunHandle::of(run.clone(), live))
    }

    pub(crate) async fn stored(&self, run: &RunId) -> Result<(StoredRun, State), LookError> {
        let stored = self.inner.journal.load(run).await?;
        let stored = stored.ok_or_else(|| LookError::UnknownRun(run.clone()))?;
        let plan = self.inner.plans.of(&stored.plan_hash, &stored.plan)?;
        let state = folded(run, plan, &stored);
        Ok((stored, state))
    }
}

/// What the events say about an answer to this asking; `None` where it was neither taken nor refused.
fn verdict(
    stored: &StoredRun,
    step: u32,
    round: u32,
    given: &Given,
) -> Option<Result<Answered, AnswerError>> {
    stored.events.iter().find_map(|event| match &event.what {
        What::QuestionAnswered {
            step: answered,
            round: at,
            answer,
            ..
        } if (*answered, *at) == (step, round) => {
            let same = answer.action == given.action
                && (given.action != AnswerAction::Accept || answer.content == given.content);
            let nobody = answer.action == AnswerAction::Timeout || answer.defaulted;
            let step = given.step.clone();
            Some(match (same, nobody) {
                (true, _) => Ok(Answered::Taken),
                (false, true) => Ok(Answered::TooLate),
                (false, false) => Err(AnswerError::Otherwise { step }),
            })
        }
        What::AnswerRefused {
            step: refused,
            round: at,
            reason,
        } if (*refused, *at) == (step, round) => {
            let reason = reason.clone();
            Some(Ok(Answered::AskedAgain { reason }))
        }
        _ => None,
    })
}
