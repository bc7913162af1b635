//! `runs export` and `runs import`: a run as one JSON text, from one store to another.

use super::{load, open};
use crate::args::{RunsExportArgs, RunsImportArgs};
use crate::exit::Exit;
use crate::input::read_text;
use crate::limits::EXPORT_BYTES_MAX;
use crate::{print, wire};
use onecall_runtime::sensitive::masked;

pub(super) async fn export(args: RunsExportArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.one.store)?;
    let stored = load(&journal, &args.one.run).await?;
    let text = if args.reveal {
        onecall_journal::export(stored, false)?
    } else {
        let shown = masked(stored.clone())?;
        let lacks_some = shown.events != stored.events;
        onecall_journal::export(shown, lacks_some)?
    };
    print::data(text.trim_end());
    Ok(Exit::Ok)
}

pub(super) async fn import(args: RunsImportArgs) -> anyhow::Result<Exit> {
    let text = read_text(&args.file, EXPORT_BYTES_MAX)?;
    let journal = wire::open_named_store(&args.store)?;
    let run = onecall_journal::import(&*journal, &text).await?;
    print::out(format!("imported run {run}"));
    Ok(Exit::Ok)
}
