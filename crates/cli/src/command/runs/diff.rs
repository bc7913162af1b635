//! `runs diff`: what differs between two runs, as lines or as JSON.

use super::{look, open};
use crate::args::RunsStoreArgs;
use crate::exit::Exit;
use crate::print;
use clap::Args;
use onecall_runtime::compare::{Change, compare};
use onecall_runtime::history;
use serde_json::json;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs diff r241e last\n  onecall runs diff r241e r9c07 --json"
)]
pub(crate) struct DiffArgs {
    /// A run id, an unambiguous beginning of one, or `last`
    a: String,
    /// The run to compare it with
    b: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: RunsStoreArgs,
}

pub(super) async fn run(args: DiffArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let a = history::of(&look(&journal, &args.a).await?)?;
    let b = history::of(&look(&journal, &args.b).await?)?;
    let difference = compare(&a, &b);
    if args.json {
        let told = json!({ "a": a.summary.id, "b": b.summary.id, "difference": difference });
        print::data(serde_json::to_string_pretty(&told)?);
        return Ok(Exit::Ok);
    }
    print::out(format!("- {}  {}", a.summary.id, a.summary.workflow));
    print::out(format!("+ {}  {}", b.summary.id, b.summary.workflow));
    if difference.is_empty() {
        print::out("no difference");
    }
    lines("run", &difference.run);
    for step in &difference.steps {
        lines(&format!("step {}", step.step), &step.changes);
    }
    Ok(Exit::Ok)
}

fn lines(heading: &str, changes: &[Change]) {
    if !changes.is_empty() {
        print::out(heading);
    }
    for change in changes {
        print::out(format!("  {}", change.what));
        print::out(format!("    - {}", super::show::short(&change.a)));
        print::out(format!("    + {}", super::show::short(&change.b)));
    }
}
