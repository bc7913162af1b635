//! `runs export` and `runs import`: a run as one JSON text, from one store to another.

use super::{find, open};
use crate::args::{RunsExportArgs, RunsImportArgs};
use crate::exit::Exit;
use crate::{print, wire};
use anyhow::{Context, bail};
use std::fs::File;
use std::io::Read;

/// Limit: bytes of an exported run.
const EXPORT_BYTES_MAX: u64 = 512 * 1024 * 1024;

pub(super) async fn export(args: RunsExportArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let run = find(&*journal, &args.run).await?;
    let Some(text) = onecall_journal::export(&*journal, &run).await? else {
        bail!("run `{run}` is gone");
    };
    print::out(text.trim_end());
    Ok(Exit::Ok)
}

pub(super) async fn import(args: RunsImportArgs) -> anyhow::Result<Exit> {
    let mut text = String::new();
    if args.file.as_os_str() == "-" {
        let input = std::io::stdin().lock().take(EXPORT_BYTES_MAX);
        read(input, &mut text).context("cannot read stdin")?;
    } else {
        let shown = args.file.display();
        let file = File::open(&args.file).with_context(|| format!("cannot open `{shown}`"))?;
        read(file.take(EXPORT_BYTES_MAX), &mut text)
            .with_context(|| format!("cannot read `{shown}`"))?;
    }
    let journal = wire::open_named_store(&args.store)?;
    let run = onecall_journal::import(&*journal, &text).await?;
    print::out(format!("imported run {run}"));
    Ok(Exit::Ok)
}

/// Reads what was limited by the caller with `take(`.
fn read(mut input: std::io::Take<impl Read>, text: &mut String) -> std::io::Result<usize> {
    input.read_to_string(text)
}
