//! What a person must know to decide: who asks, until when, and what exactly runs next.

use super::form::escape;
use crate::seal::AnswerLink;
use onecall_engine::identity::Timestamp;
use onecall_runtime::ahead::{Ahead, Coming, Does, Line, Part, When};
use onecall_runtime::runs::Asked;
use serde_json::Value;
use std::fmt::Write as _;

/// `server`: the name of the server that asks.
pub(super) fn who_asks(server: &str, link: &AnswerLink, question: &Asked, ahead: &Ahead) -> String {
    let called_by = match (&ahead.principal, &link.client) {
        (Some(principal), Some(client)) => format!("{principal}, with {client}"),
        (Some(principal), None) => principal.clone(),
        (None, Some(client)) => format!("{client} (it did not say for whom)"),
        (None, None) => "nobody in particular".to_owned(),
    };
    let mut list = "<dl>".to_owned();
    row(&mut list, "Server", &escape(server));
    row(&mut list, "Workflow", &escape(&ahead.workflow));
    row(&mut list, "Called by", &escape(&called_by));
    row(&mut list, "Called at", &shown(ahead.since));
    for (name, value) in ahead.input.as_object().into_iter().flatten() {
        let name = format!("With {}", escape(name));
        row(&mut list, &name, &escape(&plain(value)));
    }
    row(&mut list, "Run", &escape(&link.run));
    row(&mut list, "Step", &escape(&link.step));
    row(&mut list, "Answer by", &until(link, question));
    list.push_str("</dl>");
    list
}

/// A link is worth nothing once its question is closed.
fn until(link: &AnswerLink, question: &Asked) -> String {
    let expires = Timestamp::from_micros(link.expires.saturating_mul(1_000_000));
    match question.deadline {
        // The end of a link is counted in whole seconds.
        Some(deadline) if deadline.as_micros() / 1_000_000 <= link.expires => shown(deadline),
        Some(deadline) => format!(
            "{}; this link can be used until {}",
            shown(deadline),
            shown(expires)
        ),
        None => format!("any time; this link can be used until {}", shown(expires)),
    }
}

/// `2026-07-28 09:30:00 UTC`
fn shown(at: Timestamp) -> String {
    let text = at.to_rfc3339();
    let text = text.split('.').next().unwrap_or_default();
    format!("{} UTC", text.replace('T', " "))
}

fn row(list: &mut String, name: &str, value: &str) {
    let _ = write!(list, "<dt>{name}</dt><dd>{value}</dd>");
}

/// What was answered, for whoever gave it.
pub(super) fn what_was_answered(rows: &[(String, String)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut list = "<dl>".to_owned();
    for (name, value) in rows {
        row(&mut list, &escape(name), &escape(value));
    }
    list.push_str("</dl>");
    list
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The steps still to come, with their tools and arguments.
pub(super) fn what_follows(ahead: &Ahead) -> String {
    if ahead.steps.is_empty() {
        return "<p class=\"note\">No step of the run follows.</p>".to_owned();
    }
    let mut text = "<h2>What runs next</h2><ol>".to_owned();
    for step in &ahead.steps {
        text.push_str(&coming(step));
    }
    text.push_str("</ol>");
    if ahead.more > 0 {
        let steps = if ahead.more == 1 { "step" } else { "steps" };
        let _ = write!(
            text,
            "<p class=\"note\">And {} more {steps}.</p>",
            ahead.more
        );
    }
    text
}

fn coming(step: &Coming) -> String {
    let name = escape(step.title.as_ref().unwrap_or(&step.step));
    let does = match &step.does {
        Does::Calls { tool } => format!("calls <code>{}</code>", escape(tool)),
        Does::Repeats { tool, over } => {
            let (tool, over) = (escape(tool), line(over));
            format!("calls <code>{tool}</code> for each of {over}")
        }
        Does::Asks { message } => format!("asks: {}", line(message)),
        Does::Nothing => "calls nothing; its result is written in the workflow".to_owned(),
    };
    let when = match &step.when {
        When::Always => String::new(),
        When::Never => ", but is skipped: its condition does not hold".to_owned(),
        When::If(on) => format!(", only if this holds: {}", line(on)),
    };
    let mut text = format!("<li><strong>{name}</strong> {does}{when}");
    if !step.arguments.is_empty() {
        text.push_str("<dl>");
        for (name, value) in &step.arguments {
            row(&mut text, &escape(name), &line(value));
        }
        text.push_str("</dl>");
    }
    text.push_str("</li>");
    text
}

fn line(line: &Line) -> String {
    let part = |part: &Part| match part {
        Part::Known(text) => escape(text),
        Part::Later(text) => format!("<em>{}</em>", escape(text)),
    };
    line.iter().map(part).collect()
}
