//! What lies in the inbox of a run already: an answer is taken once, so another one is refused before anybody is there
//! to take the first.

use super::super::Store;
use anyhow::bail;
use onecall_engine::event::{AnswerAction, Resolution};
use onecall_engine::identity::RunId;
use onecall_engine::journal::Order;

/// Whether the same was told before and waits to be taken. Refuses what contradicts it; `word`: the step or item.
pub(super) async fn is_told(
    journal: &Store,
    run: &RunId,
    new: &Order,
    word: &str,
) -> anyhow::Result<bool> {
    let told = journal.told(run).await?;
    let flag = &journal.flag;
    let first = told.iter().find(|old| concern_the_same(old, new));
    match first {
        None => Ok(false),
        Some(old) if say_the_same(old, new) => Ok(true),
        Some(old) => bail!(
            "step `{word}` has been answered otherwise{}: the first answer counts and is kept for run `{run}` \
             until a server takes it; this one is refused\n  = help: onecall runs cancel {run}{flag}  # ends the run instead",
            how(old)
        ),
    }
}

/// Whether both answer one asking, or decide about one call.
fn concern_the_same(old: &Order, new: &Order) -> bool {
    match (old, new) {
        (
            Order::Answer { step, round, .. },
            Order::Answer {
                step: own,
                round: now,
                ..
            },
        ) => step == own && (round == now || round.is_none() || now.is_none()),
        (Order::Resolve { slot, .. }, Order::Resolve { slot: own, .. }) => slot == own,
        (Order::Answer { .. } | Order::Cancel { .. } | Order::Resolve { .. }, _) => false,
    }
}

fn say_the_same(old: &Order, new: &Order) -> bool {
    match (old, new) {
        (
            Order::Answer {
                action, content, ..
            },
            Order::Answer {
                action: own,
                content: now,
                ..
            },
        ) => action == own && (*action != AnswerAction::Accept || content == now),
        _ => old == new,
    }
}

/// How it was answered, without what was given: that may be nothing to show.
fn how(old: &Order) -> &'static str {
    match old {
        Order::Answer { action, .. } => match action {
            AnswerAction::Accept => " (accepted with other fields)",
            AnswerAction::Decline => " (declined)",
            AnswerAction::Cancel | AnswerAction::Timeout | AnswerAction::Invalid => " (cancelled)",
        },
        Order::Resolve { resolution, .. } => match resolution {
            Resolution::Retry => " (--retry)",
            Resolution::Result(_) => " (--result)",
            Resolution::Fail => " (--fail)",
        },
        Order::Cancel { .. } => "",
    }
}
