//! `runs rebind`: binds a run to the backends that the files describe now. Shows first what differs, and acts once
//! that is confirmed.

use super::{load, open};
use crate::args::RunsStoreArgs;
use crate::exit::Exit;
use crate::files::FileArgs;
use crate::print;
use anyhow::{Context as _, bail};
use clap::Args;
use onecall_runtime::now;
use onecall_runtime::stranded::Bindings;
use onecall_workflow::stored::read_plan;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs rebind last\n  onecall runs rebind r241e --yes\n  onecall runs rebind r241e onecall.yaml --yes"
)]
pub(crate) struct RebindArgs {
    /// A run id, an unambiguous beginning of one, or `last`
    run: String,
    /// The files whose backends the run is bound to [default: `onecall.yaml` here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Bind the run; without this a terminal is asked, and elsewhere only what differs is shown
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    store: RunsStoreArgs,
}

pub(super) async fn run(args: RebindArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let stored = load(&journal, &args.run).await?;
    let run = stored.summary.id.clone();
    if stored.summary.phase.is_ended() {
        bail!(
            "run `{run}` has ended; `onecall runs retry {run} --with-current{}` makes a new one",
            journal.flag
        );
    }
    let paths = args
        .files
        .paths_or_here(args.paths, "onecall runs rebind RUN PATH")?;
    let Some(settings) = args.files.load(&paths)?.sound() else {
        return Ok(Exit::Failed);
    };
    let plan = read_plan(&stored.plan).context("the stored run cannot be read")?;
    let servers: Vec<Bindings> = settings.servers.iter().map(Bindings::new).collect();
    if servers.iter().any(|own| own.fits(&plan)) {
        print::out(format!("run {run} is bound to these backends already"));
        return Ok(Exit::Ok);
    }
    let rebound = servers
        .iter()
        .find_map(|own| Some((own, own.rebound(&plan)?)));
    let Some((server, rebound)) = rebound else {
        let lacking: Vec<String> = servers
            .first()
            .map_or_else(Vec::new, |own| own.differences(&plan));
        bail!(
            "these files cannot take run `{run}`: {}; name files that have all of its backends",
            lacking.join(", ")
        );
    };
    print::out(format!("run {run} ({})", stored.summary.workflow));
    for difference in server.differences(&plan) {
        print::out(format!("  {difference}"));
    }
    print::out(
        "  its steps, their arguments and the tools that they were checked against stay as they are",
    );
    if !(args.yes || is_confirmed()?) {
        print::err("nothing was done; add --yes to bind the run to these backends");
        return Ok(Exit::Ok);
    }
    if !journal.rebind(&run, rebound, now()).await? {
        bail!("run `{run}` is driven by a server right now, or has just ended; look at it again");
    }
    print::out(format!("bound run {run} to these backends"));
    print::err("a server with these files resumes it within ten seconds");
    Ok(Exit::Ok)
}

/// Asks on a terminal; elsewhere the answer is no.
fn is_confirmed() -> anyhow::Result<bool> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(false);
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "bind it to these backends? [y/N] ")?;
    stderr.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
