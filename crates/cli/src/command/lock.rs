//! `onecall lock`: writes down the tools that workflows and clients call, next to the files, so that a change of one is
//! noticed.

use crate::exit::Exit;
use crate::files::{self, FileArgs};
use crate::{print, wire};
use anyhow::Context;
use clap::Args;
use onecall_config::settings::{Server, Settings};
use onecall_runtime::saved::SavedTools;
use onecall_runtime::sources;
use onecall_workflow::lock::{Difference, Lock};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long backends may take to connect and tell their tools.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall lock onecall.yaml\n  onecall lock onecall.yaml --check\n  onecall lock onecall.yaml --update"
)]
pub(crate) struct LockArgs {
    /// Files or directories with backends and workflows; `onecall.lock` stands beside the first [default: `onecall.yaml` here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Accept tools that have changed
    #[arg(long, conflicts_with = "check")]
    update: bool,
    /// Write nothing; fail if the lock file would change
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    files: FileArgs,
}

pub(crate) async fn run(mut args: LockArgs) -> anyhow::Result<Exit> {
    args.paths = args.files.paths_or_here(args.paths, "onecall lock PATH")?;
    let Some(mut settings) = args.files.load(&args.paths)?.sound() else {
        return Ok(Exit::Failed);
    };
    let mut now = Lock::default();
    let mut then = None;
    for mut server in std::mem::take(&mut settings.servers) {
        then = server.lock.take().or(then);
        if let Some(exit) = add(server, &settings, &mut now).await? {
            return Ok(exit);
        }
    }
    if now.is_empty() {
        print::err("error: the paths hold no tool to lock");
        return Ok(Exit::NothingSelected);
    }
    finish(&args, then, &now)
}

/// Adds the tools of one server. Where not all of them could be seen: how the command ends.
async fn add(server: Server, settings: &Settings, now: &mut Lock) -> anyhow::Result<Option<Exit>> {
    let runtime = wire::start_to_look(server, settings).await?;
    let saved = SavedTools::of(&runtime, PATIENCE).await;
    let (own, missing) = runtime.locked();
    let unreached = saved.missing(&runtime);
    runtime.shutdown(Duration::ZERO).await;
    now.extend(own);
    for reason in &unreached {
        print::err(format!("error: {reason}"));
    }
    if !unreached.is_empty() {
        return Ok(Some(Exit::Unreachable));
    }
    for tool in &missing {
        print::err(format!("error: no backend has the tool `{tool}`"));
    }
    Ok((!missing.is_empty()).then_some(Exit::Failed))
}

fn finish(args: &LockArgs, then: Option<Lock>, now: &Lock) -> anyhow::Result<Exit> {
    let path = sources::lock_path(&args.paths);
    let is_first = then.is_none();
    let differences = then.unwrap_or_default().differences(now);
    let is_changed = |one: &Difference| matches!(one, Difference::Changed { .. });
    if !is_first {
        differences.iter().for_each(show);
    }
    if args.check {
        if differences.is_empty() {
            print::err(format!("`{}` is up to date", path.display()));
            return Ok(Exit::Ok);
        }
        let text = format!("error: `{}` is not up to date", path.display());
        print::err(text);
        return Ok(Exit::Failed);
    }
    if !args.update && !is_first && differences.iter().any(is_changed) {
        let paths = files::shown(&args.paths);
        print::err(format!(
            "error: tools have changed; accept that with `onecall lock {paths} --update`"
        ));
        return Ok(Exit::Failed);
    }
    write(&path, now)?;
    Ok(Exit::Ok)
}

fn write(path: &Path, now: &Lock) -> anyhow::Result<()> {
    std::fs::write(path, now.to_text())
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    let tools = print::counted(now.len(), "tool");
    print::err(format!("locked {tools} in `{}`", path.display()));
    Ok(())
}

fn show(difference: &Difference) {
    match difference {
        Difference::Added { tool } => print::out(format!("+ {tool}")),
        Difference::Removed { tool } => print::out(format!("- {tool}")),
        Difference::Changed { tool, lines } => {
            print::out(format!("~ {tool}"));
            for line in lines {
                print::out(format!("    {line}"));
            }
        }
    }
}
