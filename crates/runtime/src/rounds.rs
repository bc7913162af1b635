//! One question through its rounds: it is put again when an answer does not fit, and whoever has a link to it is led
//! to where it stands now, or told how it was closed.

use crate::questions::LookError;
use crate::runs::{Asked, standing_of};
use crate::runtime::Runtime;
use crate::sensitive::masked;
use onecall_engine::event::{AnswerAction, Event, What};
use onecall_engine::identity::RunId;

/// Where a question stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Whereabouts {
    /// As it was put last.
    pub question: Asked,
    /// How it was closed, where it is.
    pub closed: Option<Closed>,
}

/// How a question came to be open no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    Answered(AnswerAction),
    /// Too many answers did not fit, which counts as cancelled.
    Unfit,
    TimedOut,
    /// The run ended before anybody answered.
    RunEnded,
    /// The step went on without the answer.
    Withdrawn,
}

impl Runtime {
    /// Follows the question that a step put in some round; `None` where it put none.
    pub async fn whereabouts(
        &self,
        run: &RunId,
        step: &str,
        round: u32,
    ) -> Result<Option<Whereabouts>, LookError> {
        let (stored, state) = self.stored(run).await?;
        let index = state.plan.workflow.step_index(step);
        let Some(index) = index.and_then(|index| u32::try_from(index).ok()) else {
            return Ok(None);
        };
        let round = last_round(&stored.events, index, round);
        let open = standing_of(&state).questions.into_iter();
        let mut open = open.filter(|asked| asked.step == step && asked.round == round);
        if let Some(question) = open.next() {
            let closed = None;
            return Ok(Some(Whereabouts { question, closed }));
        }
        let ended = match state.end {
            Some(_) => Closed::RunEnded,
            None => Closed::Withdrawn,
        };
        let how = how_closed(&stored.events, index, round).unwrap_or(ended);
        let put = put_in(masked(stored)?.events, index, round);
        Ok(put.map(|put| Whereabouts {
            question: Asked {
                step: step.to_owned(),
                ..put
            },
            closed: Some(how),
        }))
    }
}

/// A question as it was put, for whoever answers it once more.
fn put_in(events: Vec<Event>, step: u32, round: u32) -> Option<Asked> {
    events.into_iter().find_map(|event| match event.what {
        What::QuestionAsked {
            step: own,
            round: at,
            message,
            schema,
            deadline,
            url,
            ..
        } if (own, at) == (step, round) => Some(Asked {
            step: String::new(),
            round,
            message,
            schema,
            url,
            deadline,
            fault: None,
        }),
        _ => None,
    })
}

/// A later round is the same question while answers are refused; another one of the step follows an answer.
fn last_round(events: &[Event], step: u32, mut round: u32) -> u32 {
    let mut was_refused = false;
    for event in events {
        match &event.what {
            What::AnswerRefused {
                step: own,
                round: at,
                ..
            } if (*own, *at) == (step, round) => was_refused = true,
            What::QuestionAsked {
                step: own,
                round: at,
                ..
            } if *own == step && was_refused => {
                round = *at;
                was_refused = false;
            }
            What::QuestionAnswered {
                step: own,
                round: at,
                ..
            } if (*own, *at) == (step, round) => break,
            _ => {}
        }
    }
    round
}

fn how_closed(events: &[Event], step: u32, round: u32) -> Option<Closed> {
    let mut was_refused = false;
    events.iter().find_map(|event| match &event.what {
        What::AnswerRefused {
            step: own,
            round: at,
            ..
        } if (*own, *at) == (step, round) => {
            was_refused = true;
            None
        }
        What::QuestionAnswered {
            step: own,
            round: at,
            answer,
            ..
        } if (*own, *at) == (step, round) => Some(match answer.action {
            AnswerAction::Timeout => Closed::TimedOut,
            _ if answer.defaulted => Closed::TimedOut,
            AnswerAction::Cancel if was_refused => Closed::Unfit,
            action => Closed::Answered(action),
        }),
        _ => None,
    })
}
