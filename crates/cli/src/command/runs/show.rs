//! A run's history as text: a line a step, and below it arguments, result and attempts.

use crate::progress::{duration, sign};
use onecall_engine::event::Outcome;
use onecall_engine::identity::Timestamp;
use onecall_runtime::history::{AttemptHistory, RunHistory, StepHistory, UsedUp};
use serde_json::Value;
use std::time::Duration;

/// Limit: characters of a value on one line.
const VALUE_CHARACTERS_MAX: usize = 160;

/// Width of the timeline in characters.
const TIMELINE_WIDTH: usize = 32;

pub(crate) fn lines(history: &RunHistory) -> Vec<String> {
    let summary = &history.summary;
    let end = summary.ended.unwrap_or(summary.updated);
    let took = end.since(summary.created);
    let mut lines = vec![
        format!("run      {}", summary.id),
        format!("workflow {}", summary.workflow),
        format!("state    {}", summary.phase.as_str()),
        format!("started  {}", summary.created.to_rfc3339()),
        format!("took     {}", duration(took)),
        format!("used     {}", used(&history.used)),
        format!("input    {}", short(&history.input)),
    ];
    if let Some(failure) = &summary.failure {
        lines.push(format!("failure  {failure}"));
    }
    lines.push("steps".to_owned());
    let width = history
        .steps
        .iter()
        .map(|step| step.name.chars().count())
        .max()
        .unwrap_or(0);
    for step in &history.steps {
        lines.extend(step_lines(step, width, summary.created, took));
    }
    if let Some(result) = &history.result {
        let shown = result.get("structuredContent").unwrap_or(result);
        lines.push(format!("result   {}", short(shown)));
    }
    lines.extend(history.notes.iter().map(|note| format!("note     {note}")));
    lines
}

/// Calls, and what they reported to have cost, where any did.
fn used(used: &UsedUp) -> String {
    let calls = match used.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let cost = (used.cost_usd > 0.0).then(|| format!(" · ${}", used.cost_usd));
    let tokens = (used.tokens > 0).then(|| format!(" · {} tokens", used.tokens));
    [Some(calls), cost, tokens].into_iter().flatten().collect()
}

fn step_lines(step: &StepHistory, width: usize, from: Timestamp, took: Duration) -> Vec<String> {
    let status = serde_json::to_value(step.status).ok();
    let status = status
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let own = step
        .started
        .zip(step.ended)
        .map(|(start, end)| duration(end.since(start)));
    let attempts = match step.attempts.len() {
        0 => String::new(),
        1 => "  1 attempt".to_owned(),
        count => format!("  {count} attempts"),
    };
    let mut lines = vec![format!(
        "  {} {:<width$}  {:<9}  {:>8}  {}{attempts}",
        sign(step.status),
        step.name,
        status,
        own.unwrap_or_default(),
        timeline(step, from, took),
    )];
    for attempt in &step.attempts {
        lines.push(format!("      arguments {}", short(&attempt.arguments)));
        lines.push(format!("      {}", attempt_line(attempt, from)));
    }
    if let Some(output) = &step.output {
        let word = if step.defaulted { "default" } else { "result" };
        lines.push(format!("      {word}    {}", short(output)));
    }
    if let Some(failure) = &step.failure {
        lines.push(format!(
            "      failure   {} ({})",
            failure.message, failure.code
        ));
    }
    lines.extend(step.reason.iter().map(|reason| format!("      {reason}")));
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
        Some(Outcome::Unknown(lost)) => format!("unknown outcome: {lost:?}"),
    };
    format!(
        "attempt {}{item} at {start}, {end}, {outcome}, key {}",
        attempt.number, attempt.key
    )
}

/// Where in the run the step was at work.
fn timeline(step: &StepHistory, from: Timestamp, took: Duration) -> String {
    let scale = |at: Timestamp| {
        let share = at.since(from).as_micros().min(took.as_micros());
        let place = share * TIMELINE_WIDTH as u128 / took.as_micros().max(1);
        usize::try_from(place).unwrap_or(TIMELINE_WIDTH)
    };
    let Some(started) = step.started else {
        return " ".repeat(TIMELINE_WIDTH);
    };
    let start = scale(started).min(TIMELINE_WIDTH - 1);
    let end = step.ended.map_or(TIMELINE_WIDTH, scale).max(start + 1);
    (0..TIMELINE_WIDTH)
        .map(|at| {
            if (start..end).contains(&at) {
                '█'
            } else {
                '·'
            }
        })
        .collect()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= VALUE_CHARACTERS_MAX {
        return text;
    }
    text.chars()
        .take(VALUE_CHARACTERS_MAX)
        .chain("…".chars())
        .collect()
}
