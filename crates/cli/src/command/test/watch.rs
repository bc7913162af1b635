//! `--watch`: runs again whenever a file of the suites changes, until Ctrl-C.

use super::{TestArgs, once};
use crate::exit::Exit;
use crate::limits::CHANGED_NAMED_MAX;
use crate::print;
use onecall_runtime::sources::Stamp;
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often the files are looked at. Two looks that agree make a change: editors write in several steps.
const LOOK: Duration = Duration::from_millis(250);

/// The files that the paths hold, and a cheap sign that they must be listed again.
struct Seen {
    alarm: Stamp,
    files: Stamp,
}

pub(super) async fn rounds(
    args: &TestArgs,
    paths: &[PathBuf],
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    // A command line that makes no sense ends here.
    let mut seen = look(args, paths)?;
    loop {
        match once(args, paths, stop).await {
            Ok(Exit::Interrupted) => return Ok(Exit::Interrupted),
            Ok(_) => {}
            Err(error) => print::err(format!("error: {error:#}")),
        }
        print::err("watching the files; Ctrl-C ends");
        let changing = change(args, paths, seen);
        let Some((changed, fresh)) = stop.run_until_cancelled(changing).await else {
            return Ok(Exit::Interrupted);
        };
        print::err(format!("changed: {}", named(&changed)));
        seen = fresh;
    }
}

fn look(args: &TestArgs, paths: &[PathBuf]) -> anyhow::Result<Seen> {
    let mut alarm = args.files.collect(paths)?.stamp;
    let mut files = Stamp::default();
    for file in args.read(paths)? {
        files.add(&file);
        alarm.add(&file);
    }
    Ok(Seen { alarm, files })
}

/// Waits until files are not as they were, and no longer change.
async fn change(args: &TestArgs, paths: &[PathBuf], seen: Seen) -> (Vec<PathBuf>, Seen) {
    let Seen { mut alarm, files } = seen;
    let mut last = alarm.clone();
    loop {
        let now = alarm.again();
        let is_settled = now == last;
        last = now;
        if is_settled && last != alarm {
            alarm = last.clone();
            // A file that cannot be read now is being written, or is gone; the next change shows which.
            if let Ok(fresh) = look(args, paths) {
                let changed = files.differing(&fresh.files);
                if !changed.is_empty() {
                    return (changed, fresh);
                }
                alarm = fresh.alarm;
                last = alarm.clone();
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn named(changed: &[PathBuf]) -> String {
    let shown = changed.iter().take(CHANGED_NAMED_MAX);
    let shown: Vec<String> = shown.map(|path| path.display().to_string()).collect();
    let more = changed.len().saturating_sub(CHANGED_NAMED_MAX);
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
