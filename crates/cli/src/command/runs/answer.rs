//! `onecall runs answer`: answers a question, or decides about a call whose outcome is unknown, through the inbox of
//! the run; and says what came of it where a server takes it up at once. What lies in the inbox already is in
//! `kept`, why there is nothing to answer in `absent`.

mod absent;
mod kept;

use super::{Store, definition, load, open};
use crate::args::RunsAnswerArgs;
use crate::exit::{Exit, usage};
use crate::limits::{ANSWER_EFFECT, ANSWER_LOOK, HELD_SHOWN_MAX};
use crate::{print, values};
use anyhow::{Context, anyhow, bail};
use onecall_engine::evaluate::{Evaluator as _, PlanEvaluator};
use onecall_engine::event::{Answer, AnswerAction, Resolution, What};
use onecall_engine::identity::{RunId, Slot};
use onecall_engine::journal::{Command, Order, StoredRun};
use onecall_engine::state::State;
use onecall_runtime::sample::sample;
use onecall_runtime::sensitive::masked;
use onecall_workflow::stored::read_plan;
use serde_json::Value;
use tokio::time::Instant;

pub(super) async fn run(args: RunsAnswerArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let stored = load(&journal, &args.run).await?;
    let run = stored.summary.id.clone();
    let state = onecall_runtime::tend::fold(&run, &stored)?;
    let (name, item) = split_item(&args.step)?;
    let index = state.plan.workflow.step_index(name);
    let Some(step) = index.and_then(|index| u32::try_from(index).ok()) else {
        bail!(absent::step(&state, name, &stored.summary));
    };
    let slot = Slot { step, item };
    let is_held = state.held.contains_key(&slot);
    let is_decision = args.retry || args.fail || args.result.is_some();
    if !is_held && let Some(held) = held_beside(&state, slot) {
        return Err(usage(format!(
            "`{}` is not held; of step `{name}` these are: {held}",
            args.step
        )));
    }
    if is_decision != is_held {
        if is_held {
            bail!("step `{name}` is held; answer with --retry, --result JSON or --fail");
        }
        if state.questions.contains_key(&step) {
            bail!(
                "step `{name}` is not held, it asks; answer with its fields, --decline or --cancel"
            );
        }
    }
    let question = state.questions.get(&step);
    if !is_held && question.is_none() {
        bail!(absent::question(&stored, &state, slot));
    }
    let what = if is_held {
        Order::Resolve {
            slot,
            resolution: resolution(&args)?,
        }
    } else {
        let round = question.map(|question| question.round);
        let reply = reply(&args, name, round)?;
        let schema = question.and_then(|question| question.schema.as_deref());
        fitting(&reply, schema, |fields| {
            format!("onecall runs answer {run} {name}{fields}{}", journal.flag)
        })?;
        reply
    };
    if !kept::is_told(&journal, &run, &what, &args.step).await? {
        let order = Command {
            run: run.clone(),
            what: what.clone(),
        };
        journal.tell(order).await?;
    }
    let told = Told {
        word: args.step.clone(),
        step: name.to_owned(),
        slot,
        what,
        seen: stored.events.len(),
    };
    effect(&journal, &run, &told).await
}

/// Refuses an answer that the run would refuse: nobody may be there to tell, and the run counts those it is given.
fn fitting(
    reply: &Order,
    schema: Option<&Value>,
    command: impl Fn(&str) -> String,
) -> anyhow::Result<()> {
    let (Order::Answer { content, .. }, Some(schema)) = (reply, schema) else {
        return Ok(());
    };
    let Some(content) = content else {
        return Ok(());
    };
    if let Err(reason) = PlanEvaluator::default().answer(Some(schema), Some(content.clone())) {
        let help = command(&sample(Some(schema)));
        bail!("the answer does not fit: {reason}\n  = help: {help}");
    }
    Ok(())
}

/// What a run was told, and how many events it had before.
struct Told {
    /// The step or the item, as the person wrote it.
    word: String,
    step: String,
    slot: Slot,
    what: Order,
    seen: usize,
}

/// Waits a moment for what becomes of it: a server that runs on the store takes it up at once.
async fn effect(journal: &Store, run: &RunId, told: &Told) -> anyhow::Result<Exit> {
    let until = Instant::now() + ANSWER_EFFECT;
    loop {
        let stored = journal.load(run).await?;
        let stored = stored.with_context(|| format!("run `{run}` is gone"))?;
        // Answers are compared as they are, and nothing is shown of one that must not be.
        let shown = masked(stored.clone())?;
        let news = stored.events.iter().zip(&shown.events).skip(told.seen);
        let mut verdicts =
            news.filter_map(|(event, shown)| verdict(&event.what, &shown.what, told));
        if let Some(verdict) = verdicts.next() {
            verdict?;
            print::out(format!("answered; run {run} goes on"));
            return Ok(Exit::Ok);
        }
        if stored.summary.phase.is_ended() {
            bail!("run `{run}` has ended, and nothing came of the answer");
        }
        if Instant::now() >= until {
            // Somebody else may have been faster by a moment: what was told first counts.
            kept::is_told(journal, run, &told.what, &told.word).await?;
            if let Some(reason) = definition::bound_elsewhere(&stored) {
                print::out(format!("kept for run {run}: no server has taken it"));
                for line in definition::stranded_lines(run, &reason, &journal.flag) {
                    print::out(line);
                }
                return Ok(Exit::Ok);
            }
            let with = backends(&stored);
            let with = with.map(|backends| format!(" with its backends, {backends}"));
            print::out(format!(
                "kept for run {run}: no server on this store has taken it; \
                 it is taken once one is started (`onecall serve`){}",
                with.unwrap_or_default()
            ));
            return Ok(Exit::Ok);
        }
        tokio::time::sleep(ANSWER_LOOK).await;
    }
}

/// What an event says about the answer; `None` where it says nothing. `shown`: the same without sensitive values.
fn verdict(what: &What, shown: &What, told: &Told) -> Option<anyhow::Result<()>> {
    let Told { step, slot, .. } = told;
    match (what, shown) {
        (What::AnswerRefused { step: own, .. }, What::AnswerRefused { reason, .. })
            if *own == slot.step =>
        {
            Some(Err(anyhow!("the answer does not fit: {reason}")))
        }
        (
            What::QuestionAnswered {
                step: own, answer, ..
            },
            _,
        ) if *own == slot.step => Some(counts(answer, told).map_err(|how| {
            anyhow!("step `{step}` was answered otherwise{how}; this answer does not count")
        })),
        (
            What::HeldResolved {
                slot: own,
                resolution,
            },
            _,
        ) if own == slot => Some(match &told.what {
            Order::Resolve {
                resolution: told, ..
            } if told == resolution => Ok(()),
            _ => Err(anyhow!(
                "step `{step}` was decided otherwise; this decision does not count"
            )),
        }),
        _ => None,
    }
}

/// Whether the answer that was taken is the one that was told; else what is known of it.
fn counts(taken: &Answer, told: &Told) -> Result<(), String> {
    let Order::Answer {
        action, content, ..
    } = &told.what
    else {
        return Err(String::new());
    };
    match taken.action {
        // Nobody answered in time.
        _ if taken.defaulted => Err(", with its default".to_owned()),
        own if own != *action => Err(format!(": {}", own.as_str())),
        AnswerAction::Accept if taken.content != *content => Err(", by somebody else".to_owned()),
        AnswerAction::Accept
        | AnswerAction::Decline
        | AnswerAction::Cancel
        | AnswerAction::Timeout
        | AnswerAction::Invalid => Ok(()),
    }
}

/// The slots of the same step that are held, where a step of that name asks nothing.
fn held_beside(state: &State, slot: Slot) -> Option<String> {
    if state.questions.contains_key(&slot.step) {
        return None;
    }
    let name = state.step_name(slot.step);
    let held = state.held.keys().filter(|held| held.step == slot.step);
    let mut names: Vec<String> = held.map(|held| format!("`{}`", held.named(name))).collect();
    if names.len() > HELD_SHOWN_MAX {
        let more = names.len() - HELD_SHOWN_MAX;
        names.truncate(HELD_SHOWN_MAX);
        names.push(format!("{more} more"));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// `step[3]` names one item of a loop.
fn split_item(step: &str) -> anyhow::Result<(&str, Option<u32>)> {
    let Some((name, rest)) = step.split_once('[') else {
        return Ok((step, None));
    };
    let item = rest.strip_suffix(']').and_then(|item| item.parse().ok());
    Ok((
        name,
        Some(item.with_context(|| format!("`{step}` is no item; write `{name}[3]`"))?),
    ))
}

fn resolution(args: &RunsAnswerArgs) -> anyhow::Result<Resolution> {
    if args.retry {
        return Ok(Resolution::Retry);
    }
    match &args.result {
        Some(text) => {
            let value = serde_json::from_str(text).context("--result is not JSON")?;
            Ok(Resolution::Result(value))
        }
        None => Ok(Resolution::Fail),
    }
}

fn reply(args: &RunsAnswerArgs, step: &str, round: Option<u32>) -> anyhow::Result<Order> {
    let action = match (args.decline, args.cancel) {
        (true, _) => AnswerAction::Decline,
        (_, true) => AnswerAction::Cancel,
        (false, false) => AnswerAction::Accept,
    };
    let content = match action {
        AnswerAction::Accept => Some(Value::Object(values::object(&args.fields)?)),
        AnswerAction::Decline
        | AnswerAction::Cancel
        | AnswerAction::Timeout
        | AnswerAction::Invalid => None,
    };
    Ok(Order::Answer {
        step: step.to_owned(),
        round,
        action,
        content,
    })
}

/// The backends that the run was bound to, and how each is reached: `demo: http http://127.0.0.1:5690 #1f0c…`.
pub(super) fn backends(stored: &StoredRun) -> Option<String> {
    let plan = read_plan(&stored.plan).ok()?;
    let named = plan.backends.iter();
    // The hashes after `#` are for programs; `runs show` and `runs rebind` name the difference.
    let named = named.map(|(name, how)| {
        let how = how.split_once(" #").map_or(how.as_str(), |(how, _)| how);
        format!("{name}: {how}")
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_engine::event::{Event, What};
    use onecall_engine::evolve::evolve;
    use onecall_engine::identity::Timestamp;
    use onecall_workflow::plan::Plan;
    use onecall_workflow::step::{Action, Call, Step};
    use onecall_workflow::workflow::Workflow;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn whoever_names_a_loop_is_told_which_items_are_held() {
        let steps = vec![Step::plain("l", Action::Call(Call::plain("b.t")))];
        let plan = Plan::plain(Workflow::plain("w", steps), vec![None]);
        let mut state = State::new(RunId::new("r"), Arc::new(plan));
        assert_eq!(held_beside(&state, Slot::of_step(0)), None);
        for item in 0..12 {
            let slot = Slot {
                step: 0,
                item: Some(item),
            };
            let reason = "lost".to_owned();
            let what = What::Held { slot, reason };
            let at = Timestamp::default();
            evolve(&mut state, &Event { at, what });
        }
        let held = held_beside(&state, Slot::of_step(0)).unwrap();
        assert!(held.starts_with("`l[0]`, `l[1]`, "), "{held}");
        assert!(held.ends_with("`l[9]`, 2 more"), "{held}");
    }
    #[test]
    fn only_the_very_answer_that_was_taken_counts() {
        let told = Told {
            word: "ask".to_owned(),
            step: "ask".to_owned(),
            slot: Slot::of_step(0),
            what: Order::Answer {
                step: "ask".to_owned(),
                round: None,
                action: AnswerAction::Accept,
                content: Some(json!({ "ok": true })),
            },
            seen: 0,
        };
        let answered = |action, content: Value, defaulted| {
            let content = (!content.is_null()).then_some(content);
            let answer = Answer {
                action,
                content,
                defaulted,
            };
            let what = What::QuestionAnswered {
                step: 0,
                round: 0,
                answer,
                sent: None,
            };
            let verdict = verdict(&what, &what, &told).unwrap();
            verdict.map_err(|error| error.to_string())
        };
        let accept = AnswerAction::Accept;
        assert_eq!(answered(accept, json!({ "ok": true }), false), Ok(()));
        for (action, content, defaulted, how) in [
            (accept, json!({ "ok": false }), false, ", by somebody else;"),
            (accept, json!({ "ok": true }), true, ", with its default;"),
            (AnswerAction::Decline, Value::Null, false, ": decline;"),
        ] {
            let other = answered(action, content, defaulted).unwrap_err();
            assert!(other.contains(how), "{other}");
        }
    }
}
