//! `runs list`: which runs the store knows, narrowed by workflow, state, label and time.

use crate::args::RunsStoreArgs;
use crate::exit::{Exit, usage};
use crate::progress::duration;
use crate::{print, values, wire};
use clap::Args;
use onecall_dialects::toolhive::parse_duration;
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::{Filter, Journal, Order, Phase, Summary};
use onecall_gateway::link_to_answer;
use onecall_runtime::history;
use onecall_runtime::now;
use onecall_runtime::runs::standing_of;
use onecall_runtime::sample::sample;
use onecall_runtime::tend::fold;
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs list\n  onecall runs list --waiting\n  onecall runs list --state waiting --state held\n  onecall runs list --workflow release --since 2h --json"
)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    store: RunsStoreArgs,
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// running, waiting, held, completed, failed, timed_out or cancelled; may be repeated
    #[arg(long = "state", value_name = "STATE")]
    states: Vec<String>,
    /// Only runs that wait for a person, each with its questions and the pages where they are answered
    #[arg(long, conflicts_with_all = ["states", "json"])]
    waiting: bool,
    /// Only runs with this label, as `key=value`; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Only runs that began at this time or later: `2h` ago, or `2026-07-28T09:30:00Z`
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only runs that began before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// How many to list at most
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: ListArgs) -> anyhow::Result<Exit> {
    let filter = filter(&args)?;
    let named = args.store.store.as_deref();
    // Before the first run there is no store, which is nothing to complain about; one that is named must be there.
    let found = match named {
        Some(_) => Some(wire::open_existing_store(named)?),
        None => wire::find_store(None)?,
    };
    let runs = match &found {
        Some(journal) => journal.list(filter).await?,
        None => Vec::new(),
    };
    if args.json {
        let runs: Vec<_> = runs.iter().map(history::summary_json).collect();
        print::data(serde_json::to_string_pretty(&runs)?);
    } else {
        for run in &runs {
            let is_answered = match &found {
                Some(journal) => is_answered(&**journal, run).await?,
                None => false,
            };
            print::out(line(run, now(), is_answered));
            if let Some(journal) = found.as_deref().filter(|_| args.waiting) {
                print_questions(journal, run, named).await?;
            }
        }
    }
    if runs.is_empty() {
        let place = wire::existing_path(named)?;
        print::err(format!("no runs in `{}`", place.display()));
        return Ok(Exit::NothingSelected);
    }
    Ok(Exit::Ok)
}

/// The questions of a run, each with its page and the command that answers it.
async fn print_questions(
    journal: &dyn Journal,
    run: &Summary,
    named: Option<&Path>,
) -> anyhow::Result<()> {
    let Some(stored) = journal.load(&run.id).await? else {
        return Ok(());
    };
    let flag = wire::flag_of_runs(named).unwrap_or_default();
    let mut standing = standing_of(&fold(&run.id, &stored)?);
    standing.leave_out_answered(&journal.told(&run.id).await?);
    for question in standing.questions {
        let text = question.text().trim_end().replace('\n', "\n    ");
        print::out(format!("  step {} asks: {text}", question.step));
        let principal = run.principal.as_deref();
        if let Some(link) = link_to_answer(journal, &run.id, principal, &question).await? {
            print::out(format!("    {link}"));
        }
        let fields = sample(question.schema.as_deref());
        print::out(format!(
            "    onecall runs answer {} {}{fields}{flag}",
            run.id, question.step
        ));
    }
    Ok(())
}

/// `true`: the run has an answer that no server has taken yet.
async fn is_answered(journal: &dyn Journal, run: &Summary) -> anyhow::Result<bool> {
    if !matches!(run.phase, Phase::Waiting | Phase::Held) {
        return Ok(false);
    }
    let told = journal.told(&run.id).await?;
    let decides = |order: &Order| matches!(order, Order::Answer { .. } | Order::Resolve { .. });
    Ok(told.iter().any(decides))
}

fn filter(args: &ListArgs) -> anyhow::Result<Filter> {
    let phases = args.states.iter().map(|state| {
        let known = || Phase::ALL.map(Phase::as_str).join(", ");
        Phase::parse(state).ok_or_else(|| {
            usage(format!(
                "no state is called `{state}`; there are {}",
                known()
            ))
        })
    });
    let mut phases = phases.collect::<anyhow::Result<Vec<_>>>()?;
    if args.waiting {
        // A run with a held call may ask a person too.
        phases.extend([Phase::Waiting, Phase::Held]);
    }
    let time = |text: &Option<String>| text.as_deref().map(|text| moment(text, now())).transpose();
    Ok(Filter {
        workflow: args.workflow.clone(),
        phases,
        labels: values::labels(&args.labels)?,
        since: time(&args.since)?,
        until: time(&args.until)?,
        limit: args.limit,
        ..Filter::default()
    })
}

/// A time as it is written on the command line: so long ago, or a date.
fn moment(text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
    let days = days.map(|days: u32| Duration::from_hours(24) * days);
    if let Some(ago) = days.or_else(|| parse_duration(text)) {
        let micros = u64::try_from(ago.as_micros()).unwrap_or(u64::MAX);
        return Ok(Timestamp::from_micros(
            now.as_micros().saturating_sub(micros),
        ));
    }
    Timestamp::from_rfc3339(text).ok_or_else(|| {
        usage(format!(
            "`{text}` is no time; write `30m`, `2h` or `7d` for so long ago, or `2026-07-28T09:30:00Z`"
        ))
    })
}

/// What has not ended lasts until now: a run that waits may not have done anything for days.
fn line(run: &Summary, now: Timestamp, is_answered: bool) -> String {
    let end = run.ended.unwrap_or(now);
    let failure = run.failure.as_deref().unwrap_or("");
    let labels = run.labels.iter();
    let labels = labels.map(|(key, value)| format!("  {key}={value}"));
    format!(
        "{}  {:<10} {}  {:>9}  {}  {failure}{}{}",
        run.id,
        run.phase.as_str(),
        run.created.to_rfc3339(),
        duration(end.since(run.created)),
        run.workflow,
        labels.collect::<String>(),
        if is_answered {
            "  answered, waits for a server"
        } else {
            ""
        },
    )
    .trim_end()
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_engine::identity::RunId;

    #[test]
    fn what_has_not_ended_lasts_until_now() {
        let at = Timestamp::from_millis;
        let mut run = Summary::new(RunId::new("r1"), "w", at(1_000));
        run.phase = Phase::Waiting;
        assert!(line(&run, at(7_000), false).contains(" 6000 ms  w"));
        run.ended = Some(at(3_000));
        assert!(line(&run, at(7_000), false).contains(" 2000 ms  w"));
    }

    #[test]
    fn times_are_so_long_ago_or_dates() {
        let now = Timestamp::from_millis(1_785_231_000_000);
        let at = |text| moment(text, now).unwrap().to_rfc3339();
        assert_eq!(at("2h"), "2026-07-28T07:30:00.000Z");
        assert_eq!(at("7d"), "2026-07-21T09:30:00.000Z");
        assert_eq!(at("1h30m"), "2026-07-28T08:00:00.000Z");
        assert_eq!(at("2026-07-28"), "2026-07-28T00:00:00.000Z");
        assert_eq!(at("2026-07-28T11:30:00+02:00"), "2026-07-28T09:30:00.000Z");
        assert!(moment("yesterday", now).is_err());
    }
}
