//! `runs retry`: a new run that keeps what completed. Says first what that would be, and makes it with `--yes`.

use super::{definition, load, open};
use crate::args::RunsStoreArgs;
use crate::exit::Exit;
use crate::print;
use crate::progress::sign;
use clap::Args;
use onecall_engine::event::Status;
use onecall_runtime::retry::{Fate, current, prepare};
use onecall_runtime::sensitive::masked;
use serde_json::json;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs retry last\n  onecall runs retry last --yes\n  onecall runs retry r241e --from deploy --yes"
)]
pub(crate) struct RetryArgs {
    /// A run id, an unambiguous beginning of one, or `last`
    run: String,
    /// Also run this step again, and what comes after it
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    /// Take the definition that the server has loaded now, not the one that the run began with
    #[arg(long)]
    with_current: bool,
    /// Make the new run; without this only what it would keep is shown
    #[arg(long)]
    yes: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: RunsStoreArgs,
}

pub(super) async fn run(args: RetryArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.store)?;
    let stored = load(&journal, &args.run).await?;
    let old = stored.summary.id.clone();
    let from = args.from.as_deref();
    let shown = masked(stored.clone())?;
    let present = definition::present(&stored);
    let has_changed = present.as_ref().and_then(|own| own.differs(&stored));
    let (retry, steps) = if args.with_current {
        let retry = current::prepare(&stored)?;
        let steps = match &present {
            Some(own) => Some(current::fates(&shown, from, &own.workflow)?),
            None => None,
        };
        (retry, steps)
    } else {
        let retry = prepare(&stored, from)?;
        (retry, Some(prepare(&shown, from)?.steps))
    };
    let new = match (args.yes, args.with_current) {
        (false, _) => None,
        (true, true) => Some(retry.make_current(from, &*journal).await?),
        (true, false) => Some(retry.make(&*journal).await?),
    };
    if args.json {
        let told = json!({
            "retry_of": old,
            "run": new,
            "with_current": args.with_current,
            "definition_changed": has_changed,
            "steps": steps,
        });
        print::data(serde_json::to_string_pretty(&told)?);
        return Ok(Exit::Ok);
    }
    print::out(format!("retry of {old} ({})", stored.summary.workflow));
    match &steps {
        Some(steps) => steps
            .iter()
            .for_each(|step| print::out(format!("  {}", line(step)))),
        None => print::out("  the server that takes it decides which steps it reuses"),
    }
    if has_changed == Some(true) {
        print::err(definition_changed(args.with_current));
    }
    match new {
        Some(run) => {
            print::out(format!("made run {run}"));
            let flag = &journal.flag;
            print::err(format!(
                "a server on this store takes it up; `onecall runs watch {run}{flag}` follows it"
            ));
        }
        None => print::err("nothing was done; add --yes to make this run"),
    }
    Ok(Exit::Ok)
}

fn definition_changed(with_current: bool) -> &'static str {
    if with_current {
        "the definition has changed since the run began; the new run takes the one that the server has loaded"
    } else {
        "the definition has changed since the run began, and the new run keeps the old one; --with-current takes \
         the one that the server has loaded"
    }
}

fn line(step: &Fate) -> String {
    if step.kept {
        let output = step.output.as_ref().map(super::show::short);
        return format!("= {}  kept  {}", step.name, output.unwrap_or_default())
            .trim_end()
            .to_owned();
    }
    let fate = match step.status {
        Status::Skipped => "its condition is looked at again",
        Status::Pending => "runs",
        Status::Running | Status::Completed | Status::Failed | Status::Cancelled => "runs again",
    };
    let was = step.status.as_str();
    let sign = sign(Status::Running);
    format!("{sign} {}  {fate}  (was {was})", step.name)
}
