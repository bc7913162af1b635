//! `onecall runs`: what the store knows, and messages to runs through their inbox.

mod answer;
mod cancel;
mod carry;
mod definition;
pub(crate) mod diff;
pub(crate) mod list;
pub(crate) mod rebind;
pub(crate) mod retry;
mod show;
mod watch;

use crate::args::{RunsCommand, RunsStoreArgs};
use crate::exit::{Exit, Nothing, usage};
use crate::limits::MATCHES_SHOWN_MAX;
use crate::wire;
use anyhow::Context;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Filter, Journal, StoredRun, Summary};
use onecall_runtime::sensitive::masked;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) async fn run(command: RunsCommand) -> anyhow::Result<Exit> {
    match command {
        RunsCommand::List(args) => list::run(args).await,
        RunsCommand::Show(args) => show::run(args).await,
        RunsCommand::Answer(args) => answer::run(args).await,
        RunsCommand::Cancel(args) => cancel::run(args).await,
        RunsCommand::Watch(args) => watch::run(args).await,
        RunsCommand::Export(args) => carry::export(args).await,
        RunsCommand::Import(args) => carry::import(args).await,
        RunsCommand::Retry(args) => retry::run(args).await,
        RunsCommand::Rebind(args) => rebind::run(args).await,
        RunsCommand::Diff(args) => diff::run(args).await,
    }
}

/// A store that is there, and what tells it from others.
struct Store {
    journal: Arc<dyn Journal>,
    place: PathBuf,
    /// What `onecall runs` must be told to find it.
    flag: String,
}

impl Deref for Store {
    type Target = dyn Journal;

    fn deref(&self) -> &Self::Target {
        &*self.journal
    }
}

fn open(args: &RunsStoreArgs) -> anyhow::Result<Store> {
    let named = args.store.as_deref();
    Ok(Store {
        journal: wire::open_existing_store(named)?,
        place: wire::existing_path(named)?,
        flag: wire::flag_of_runs(named).unwrap_or_default(),
    })
}

/// The run meant by a whole id, the beginning of one, or `last`.
async fn find(journal: &Store, word: &str) -> anyhow::Result<RunId> {
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
    let fits = |run: &Summary| word == "last" || run.id.as_str().starts_with(word);
    let mut fitting: Vec<Summary> = runs.into_iter().filter(fits).collect();
    match fitting.len() {
        0 => Err(anyhow::Error::new(Nothing(format!(
            "no run `{word}` is in the store `{}`; `onecall runs list{}` shows what is, --store FILE names another store",
            journal.place.display(),
            journal.flag
        )))),
        1 => Ok(fitting.remove(0).id),
        // What was asked for is there: it is the command line that does not say enough.
        _ => Err(usage(ambiguous(word, &fitting))),
    }
}

fn ambiguous(word: &str, fitting: &[Summary]) -> String {
    let count = fitting.len();
    let mut lines = vec![format!(
        "{count} runs begin with `{word}`; give more of the id"
    )];
    let shown = fitting.iter().take(MATCHES_SHOWN_MAX);
    lines.extend(shown.map(|run| {
        let phase = run.phase.as_str();
        format!("  {}  {phase:<10} {}", run.id, run.workflow)
    }));
    if count > MATCHES_SHOWN_MAX {
        lines.push(format!("  … {} more", count - MATCHES_SHOWN_MAX));
    }
    lines.join("\n")
}

/// The run that a word means, as it may be shown.
async fn look(journal: &Store, word: &str) -> anyhow::Result<StoredRun> {
    Ok(masked(load(journal, word).await?)?)
}

/// The run that a word means, as it is stored.
async fn load(journal: &Store, word: &str) -> anyhow::Result<StoredRun> {
    let run = find(journal, word).await?;
    let stored = journal.load(&run).await?;
    stored.with_context(|| format!("run `{run}` is gone"))
}
