//! `onecall runs cancel`: asks whichever process drives a run to end it. No backend is needed for that, so any server
//! on the store does.

use super::{load, open};
use crate::args::RunsCancelArgs;
use crate::exit::Exit;
use crate::limits::{ANSWER_EFFECT, ANSWER_LOOK};
use crate::print;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Command, Journal, Order};
use tokio::time::Instant;

pub(super) async fn run(args: RunsCancelArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let stored = load(&journal, &args.run).await?;
    let run = stored.summary.id.clone();
    let command = Command {
        run: run.clone(),
        what: Order::Cancel {
            reason: args.reason,
        },
    };
    journal.tell(command).await?;
    print::out(format!("told run {run}"));
    if !acts(&*journal, &run, stored.events.len()).await? {
        print::err("nobody has acted on it yet; it waits for a server on this store");
    }
    Ok(Exit::Ok)
}

/// Whether the run gets any further while we look.
async fn acts(journal: &dyn Journal, run: &RunId, events: usize) -> anyhow::Result<bool> {
    let end = Instant::now() + ANSWER_EFFECT;
    while Instant::now() < end {
        tokio::time::sleep(ANSWER_LOOK).await;
        let stored = journal.load(run).await?;
        if stored.is_none_or(|stored| stored.events.len() > events) {
            return Ok(true);
        }
    }
    Ok(false)
}
