//! `runs show`: a run's history as text. A line a step, hung under the step it waited for last, and below it
//! arguments, result and attempts; or its events as they were stored.

mod tree;

use super::answer::backends;
use super::{definition, look, open};
use crate::args::RunsShowArgs;
use crate::exit::Exit;
use crate::limits::VALUE_CHARACTERS_MAX;
use crate::progress::duration;
use crate::{needs, print};
use onecall_engine::event::{Event, Outcome};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{Filter, Journal, Phase, Summary};
use onecall_runtime::history::{self, AttemptHistory, RunHistory, StepHistory, UsedUp};
use onecall_runtime::now;
use onecall_runtime::runs::{Standing, standing_of};
use onecall_runtime::tend::fold;
use serde_json::Value;

pub(super) async fn run(args: RunsShowArgs) -> anyhow::Result<Exit> {
    let journal = open(&args.one.store)?;
    let stored = look(&journal, &args.one.run).await?;
    if args.events {
        return show_events(&stored.events, args.json);
    }
    let mut history = history::at(&stored, now())?;
    let mut standing = standing_of(&fold(&stored.summary.id, &stored)?);
    let answered = if stored.summary.phase.is_ended() {
        0
    } else {
        let asked = names(&standing);
        let answered = needs::leave_out_answered(&*journal, &mut standing).await?;
        mark_answered(&mut history, &asked, &names(&standing));
        answered
    };
    let elsewhere = definition::bound_elsewhere(&stored);
    let awaited = definition::awaited(&stored);
    if args.json {
        let mut shown = serde_json::to_value(&history)?;
        if let Some(reason) = elsewhere {
            shown["stranded"] = Value::from(reason);
        }
        if let Some(awaited) = awaited {
            shown["awaited"] = Value::from(awaited);
        }
        print::data(serde_json::to_string_pretty(&shown)?);
        return Ok(Exit::Ok);
    }
    let repeats = repeats(&*journal, &stored.summary.id).await?;
    for line in lines(&history, &repeats) {
        print::out(line);
    }
    if answered > 0 {
        print::out(needs::answered(&stored.summary.id, backends(&stored)));
    }
    if !stored.summary.phase.is_ended() {
        for line in needs::lines(&standing, Some(&journal.flag)) {
            print::out(line);
        }
        let (run, flag) = (&stored.summary.id, &journal.flag);
        if let Some(reason) = elsewhere {
            for line in definition::stranded_lines(run, &reason, flag) {
                print::out(line);
            }
        }
        if let Some(awaited) = awaited {
            print::out(format!("run {run} {awaited}"));
            print::out(format!(
                "  = help: start one that has it, or end the run: `onecall runs cancel {run}{flag}`"
            ));
        }
    }
    Ok(Exit::Ok)
}

/// The steps that ask, and the steps and items that are held.
fn names(standing: &Standing) -> Vec<String> {
    let asked = standing.questions.iter().map(|asked| asked.step.clone());
    let held = standing.held.iter().map(|held| held.name.clone());
    asked.chain(held).collect()
}

/// A step whose answer waits for a server neither asks nor is held.
fn mark_answered(history: &mut RunHistory, before: &[String], after: &[String]) {
    let answered =
        |step: &&mut StepHistory| before.contains(&step.name) && !after.contains(&step.name);
    for step in history.steps.iter_mut().filter(answered) {
        step.reason = Some("answered; no server has taken the answer yet".to_owned());
    }
}

fn show_events(events: &[Event], json: bool) -> anyhow::Result<Exit> {
    if json {
        let events: Vec<Value> = events.iter().map(history::event_json).collect();
        print::data(serde_json::to_string_pretty(&events)?);
        return Ok(Exit::Ok);
    }
    let from = events
        .first()
        .map_or(Timestamp::default(), |event| event.at);
    for (number, event) in events.iter().enumerate() {
        let what = serde_json::to_value(&event.what)?;
        let what = what.get(event.what.kind()).unwrap_or(&Value::Null);
        print::out(format!(
            "{number:>4}  {:>9}  {:<17}  {}",
            duration(event.at.since(from)),
            event.what.kind(),
            short(what)
        ));
    }
    Ok(Exit::Ok)
}

/// The runs that repeat this one, oldest first.
async fn repeats(journal: &dyn Journal, run: &RunId) -> anyhow::Result<Vec<Summary>> {
    let filter = Filter {
        retry_of: Some(run.clone()),
        ..Filter::default()
    };
    let mut repeats = journal.list(filter).await?;
    repeats.reverse();
    Ok(repeats)
}

fn lines(history: &RunHistory, repeats: &[Summary]) -> Vec<String> {
    let summary = &history.summary;
    let mut lines = vec![
        format!("run      {}", summary.id),
        format!("workflow {}", summary.workflow),
        format!("state    {}", summary.phase.as_str()),
        format!("started  {}", summary.created.to_rfc3339()),
        format!("took     {}", took(history)),
        format!("used     {}", used(&history.used)),
    ];
    lines.extend(
        summary
            .version
            .iter()
            .map(|version| format!("version  {version}")),
    );
    let labels = summary.labels.iter();
    lines.extend(labels.map(|(key, value)| format!("label    {key}={value}")));
    lines.extend(summary.retry_of.iter().map(|run| format!("retry of {run}")));
    let repeats = repeats.iter();
    lines.extend(repeats.map(|run| format!("retried  as {} ({})", run.id, run.phase.as_str())));
    if summary.masked {
        let what = "its sensitive values, which were not exported; it cannot be repeated";
        lines.push(format!("lacks    {what}"));
    }
    lines.push(format!("input    {}", short(&history.input)));
    if let Some(failure) = &summary.failure {
        lines.push(format!("failure  {failure}"));
    }
    lines.push("steps".to_owned());
    lines.extend(tree::lines(history));
    if let Some(result) = &history.result {
        let shown = result.get("structuredContent").unwrap_or(result);
        lines.push(format!("result   {}", short(shown)));
    }
    lines.extend(history.notes.iter().map(|note| format!("note     {note}")));
    lines
}

/// How long it took, or has taken so far and since when nothing has happened.
fn took(history: &RunHistory) -> String {
    let summary = &history.summary;
    let whole = duration(history.until.since(summary.created));
    match summary.phase {
        Phase::Waiting | Phase::Held => {
            let since = summary.updated.to_rfc3339();
            format!("{whole} so far, {} since {since}", summary.phase.as_str())
        }
        Phase::Running => format!("{whole} so far"),
        Phase::Completed | Phase::Failed | Phase::TimedOut | Phase::Cancelled => whole,
    }
}

/// Calls, and what they reported to have cost, where any did.
fn used(used: &UsedUp) -> String {
    let calls = print::counted(used.calls, "call");
    let cost = (used.cost_usd > 0.0).then(|| format!(" · ${}", used.cost_usd));
    let tokens = (used.tokens > 0).then(|| format!(" · {}", print::counted(used.tokens, "token")));
    [Some(calls), cost, tokens].into_iter().flatten().collect()
}

/// What stands below the line of a step.
fn details(step: &StepHistory, from: Timestamp) -> Vec<String> {
    let mut lines = Vec::new();
    for attempt in &step.attempts {
        lines.push(format!("arguments {}", short(&attempt.arguments)));
        lines.push(attempt_line(attempt, from));
    }
    if let Some(output) = &step.output {
        let word = if step.defaulted { "default" } else { "result" };
        lines.push(format!("{word}    {}", short(output)));
    }
    if let Some(failure) = &step.failure {
        lines.push(format!("failure   {} ({})", failure.message, failure.code));
    }
    lines.extend(step.reason.clone());
    lines
}

fn attempt_line(attempt: &AttemptHistory, from: Timestamp) -> String {
    let item = attempt
        .item
        .map(|item| format!(" of item {item}"))
        .unwrap_or_default();
    let start = duration(attempt.started.since(from));
    let end = attempt.ended.map_or_else(
        || "not ended".to_owned(),
        |ended| format!("took {}", duration(ended.since(attempt.started))),
    );
    let outcome = match &attempt.outcome {
        None => "in flight".to_owned(),
        Some(Outcome::Returned(_)) => "returned".to_owned(),
        Some(Outcome::Failed { failure, .. }) => format!("failed: {}", failure.code),
        Some(Outcome::Asks(_)) => "asked a question".to_owned(),
        Some(Outcome::Unknown(lost)) => format!("unknown outcome: {lost}"),
    };
    format!(
        "attempt {}{item} at {start}, {end}, {outcome}, key {}",
        attempt.number, attempt.key
    )
}

pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= VALUE_CHARACTERS_MAX {
        return text;
    }
    text.chars()
        .take(VALUE_CHARACTERS_MAX)
        .chain("…".chars())
        .collect()
}
