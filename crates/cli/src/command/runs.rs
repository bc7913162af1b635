//! `onecall runs`: what the store knows, and messages to runs through their inbox.

mod carry;
pub(crate) mod diff;
pub(crate) mod list;
pub(crate) mod retry;
mod show;
mod watch;

use crate::args::{RunsAnswerArgs, RunsCancelArgs, RunsCommand, RunsStoreArgs};
use crate::exit::{Exit, Nothing};
use crate::{print, values, wire};
use anyhow::{Context, bail};
use onecall_engine::event::{AnswerAction, Resolution};
use onecall_engine::identity::{RunId, Slot};
use onecall_engine::journal::{Command, Filter, Journal, Order, StoredRun};
use onecall_runtime::sensitive::masked;
use serde_json::Value;
use std::sync::Arc;

pub(crate) async fn run(command: RunsCommand) -> anyhow::Result<Exit> {
    match command {
        RunsCommand::List(args) => list::run(args).await,
        RunsCommand::Show(args) => show::run(args).await,
        RunsCommand::Answer(args) => answer(args).await,
        RunsCommand::Cancel(args) => cancel(args).await,
        RunsCommand::Watch(args) => watch::run(args).await,
        RunsCommand::Export(args) => carry::export(args).await,
        RunsCommand::Import(args) => carry::import(args).await,
        RunsCommand::Retry(args) => retry::run(args).await,
        RunsCommand::Diff(args) => diff::run(args).await,
    }
}

fn open(args: &RunsStoreArgs) -> anyhow::Result<Arc<dyn Journal>> {
    wire::open_existing_store(args.store.as_deref())
}

/// The run meant by a whole id, the beginning of one, or `last`.
async fn find(journal: &dyn Journal, word: &str) -> anyhow::Result<RunId> {
    let whole = RunId::new(word);
    if journal.load(&whole).await?.is_some() {
        return Ok(whole);
    }
    let limit = if word == "last" { 1 } else { 10_000 };
    let runs = journal
        .list(Filter {
            limit,
            ..Filter::default()
        })
        .await?;
    let mut fitting = runs
        .into_iter()
        .map(|run| run.id)
        .filter(|id| word == "last" || (word.len() >= 4 && id.as_str().starts_with(word)));
    match (fitting.next(), fitting.next()) {
        (Some(run), None) => Ok(run),
        (Some(_), Some(_)) => bail!("several runs begin with `{word}`; give more of the id"),
        (None, _) => Err(anyhow::Error::new(Nothing(format!(
            "no run `{word}` is in the store; `onecall runs list` shows what is"
        )))),
    }
}

/// The run that a word means, as it may be shown.
async fn look(journal: &dyn Journal, word: &str) -> anyhow::Result<StoredRun> {
    Ok(masked(load(journal, word).await?)?)
}

/// The run that a word means, as it is stored.
async fn load(journal: &dyn Journal, word: &str) -> anyhow::Result<StoredRun> {
    let run = find(journal, word).await?;
    let stored = journal.load(&run).await?;
    stored.with_context(|| format!("run `{run}` is gone"))
}

async fn answer(args: RunsAnswerArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let stored = load(&*journal, &args.run).await?;
    let run = stored.summary.id.clone();
    let state = onecall_runtime::tend::fold(&run, &stored)?;
    let (name, item) = split_item(&args.step)?;
    let index = state.plan.workflow.step_index(name);
    let Some(step) = index.and_then(|index| u32::try_from(index).ok()) else {
        bail!("run `{run}` has no step `{name}`");
    };
    let slot = Slot { step, item };
    let is_held = state.held.contains_key(&slot);
    let is_decision = args.retry || args.fail || args.result.is_some();
    if is_decision != is_held {
        if is_held {
            bail!("step `{name}` is held; answer with --retry, --result JSON or --fail");
        }
        bail!("step `{name}` is not held; there is nothing to decide");
    }
    if !is_held && !state.questions.contains_key(&step) {
        bail!("step `{name}` asks nothing");
    }
    let what = if is_held {
        Order::Resolve {
            slot,
            resolution: resolution(&args)?,
        }
    } else {
        reply(&args, name)?
    };
    journal
        .tell(Command {
            run: run.clone(),
            what,
        })
        .await?;
    print::out(format!("told run {run}"));
    Ok(Exit::Ok)
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

fn reply(args: &RunsAnswerArgs, step: &str) -> anyhow::Result<Order> {
    let action = match (args.decline, args.cancel) {
        (true, _) => AnswerAction::Decline,
        (_, true) => AnswerAction::Cancel,
        (false, false) => AnswerAction::Accept,
    };
    let content = match action {
        AnswerAction::Accept => Some(Value::Object(values::object(&args.fields)?)),
        AnswerAction::Decline | AnswerAction::Cancel | AnswerAction::Timeout => None,
    };
    Ok(Order::Answer {
        step: step.to_owned(),
        round: None,
        action,
        content,
    })
}

async fn cancel(args: RunsCancelArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let run = find(&*journal, &args.run).await?;
    let what = Order::Cancel {
        reason: args.reason,
    };
    journal
        .tell(Command {
            run: run.clone(),
            what,
        })
        .await?;
    print::out(format!("told run {run}"));
    Ok(Exit::Ok)
}
