//! `runs watch`: follows a run in the store, whichever process drives it.

use super::answer::backends;
use super::{find, open};
use crate::args::OneRunArgs;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::{needs, print, signals};
use anyhow::bail;
use onecall_engine::journal::Phase;
use onecall_runtime::counts::Counts;
use onecall_runtime::now;
use onecall_runtime::runs::{Seen, names_of, standing_of};
use onecall_runtime::sensitive::masked;
use onecall_runtime::tend::fold;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often the store is looked at; the run may be driven by a process we cannot hear from.
const LOOK: Duration = Duration::from_millis(250);

/// After so many looks at a run that does not end it is asked whether anybody drives it.
const LOOKS_ALONE: u32 = 8;

pub(super) async fn run(args: OneRunArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let run = find(&journal, &args.run).await?;
    let stop = signals::stop_on_signals();
    let mut progress = None;
    let mut shown = 0;
    let mut looks = 0;
    loop {
        let Some(stored) = journal.load(&run).await? else {
            bail!("run `{run}` is gone");
        };
        let stored = masked(stored)?;
        if stored.events.len() > shown {
            let steps = names_of(&fold(&run, &stored)?);
            let events = stored.events[shown..].to_vec();
            shown = stored.events.len();
            let progress = progress.get_or_insert_with(|| Progress::new(&run, &steps));
            progress.show(Arc::new(Seen {
                run: run.clone(),
                events,
                steps,
                before: Counts::default(),
            }));
        }
        match stored.summary.phase {
            Phase::Running if looks == LOOKS_ALONE => {
                if journal.claimable(now()).await?.contains(&run) {
                    let with = backends(&stored).unwrap_or_default();
                    print::err(format!(
                        "no server drives run {run}; it goes on once one is started (`onecall serve`) with its backends, {with}"
                    ));
                }
            }
            Phase::Running => {}
            Phase::Waiting | Phase::Held => {
                let mut standing = standing_of(&fold(&run, &stored)?);
                let answered = needs::leave_out_answered(&*journal, &mut standing).await?;
                if answered > 0 && !standing.rests() {
                    if looks == LOOKS_ALONE {
                        print::err(needs::answered(&run, backends(&stored)));
                    }
                    looks += 1;
                    if !pause(&stop, progress.as_ref()).await {
                        return Ok(Exit::Interrupted);
                    }
                    continue;
                }
                for line in needs::lines(&standing, Some(&journal.flag)) {
                    print::err(line);
                }
                return Ok(Exit::Waiting);
            }
            Phase::Completed => return Ok(Exit::Ok),
            Phase::Failed | Phase::TimedOut | Phase::Cancelled => {
                let code = stored.summary.failure.unwrap_or_default();
                print::err(format!(
                    "run {run} ended: {} {code}",
                    stored.summary.phase.as_str()
                ));
                return Ok(Exit::Failed);
            }
        }
        looks += 1;
        if !pause(&stop, progress.as_ref()).await {
            return Ok(Exit::Interrupted);
        }
    }
}

/// Waits until the next look. `false`: a signal interrupted.
async fn pause(stop: &CancellationToken, progress: Option<&Progress>) -> bool {
    tokio::select! {
        () = stop.cancelled() => {
            if let Some(progress) = progress {
                progress.break_off();
            }
            false
        }
        () = tokio::time::sleep(LOOK) => true,
    }
}
