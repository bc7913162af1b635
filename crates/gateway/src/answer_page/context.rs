//! The facts that a person needs to decide: who asks, until when, what exactly runs next, and what each button does.

use super::form::escape;
use crate::seal::AnswerLink;
use onecall_engine::identity::Timestamp;
use onecall_runtime::ahead::{Ahead, Coming, Does, Effect, Follows, Line, Part, When};
use onecall_runtime::runs::Asked;
use serde_json::Value;
use std::fmt::Write as _;

/// `server`: the name of the server that asks.
pub(super) fn who_asks(server: &str, link: &AnswerLink, ahead: &Ahead) -> String {
    let called_by = match (&ahead.principal, &link.client) {
        (Some(principal), Some(client)) => format!("{principal}, with {client}"),
        (Some(principal), None) => principal.clone(),
        (None, Some(client)) => format!("{client} (it did not say for whom)"),
        (None, None) => "nobody in particular".to_owned(),
    };
    let mut list = "<details><summary>Who asks, and with what</summary><dl>".to_owned();
    row(&mut list, "Server", &escape(server));
    row(&mut list, "Workflow", &escape(&ahead.workflow));
    row(&mut list, "Called by", &escape(&called_by));
    row(&mut list, "Called at", &shown_time(ahead.since));
    for (name, value) in ahead.input.as_object().into_iter().flatten() {
        let name = format!("With {}", escape(name));
        row(&mut list, &name, &escape(&plain(value)));
    }
    row(&mut list, "Run", &escape(&link.run));
    row(&mut list, "Step", &escape(&link.step));
    list.push_str("</dl></details>");
    list
}

/// Until when it can be answered. A link is worth nothing once its question is closed.
pub(super) fn until(link: &AnswerLink, question: &Asked, now: Timestamp) -> String {
    let expires = Timestamp::from_micros(link.expires.saturating_mul(1_000_000));
    let with_left = |at: Timestamp| format!("{}{}", shown_time(at), left(at, now));
    let text = match question.deadline {
        // The end of a link is counted in whole seconds.
        Some(deadline) if deadline.as_micros() / 1_000_000 <= link.expires => {
            format!("Answer by {}.", with_left(deadline))
        }
        Some(deadline) => format!(
            "Answer by {}. This link can be used until {}.",
            with_left(deadline),
            shown_time(expires)
        ),
        None => format!("This link can be used until {}.", with_left(expires)),
    };
    format!("<p class=\"until\">{text}</p>")
}

/// In UTC; the script of the page shows it in the time of the browser.
fn shown_time(at: Timestamp) -> String {
    let exact = at.to_rfc3339();
    let text = exact
        .split('.')
        .next()
        .unwrap_or_default()
        .replace('T', " ");
    format!("<time datetime=\"{exact}\">{text} UTC</time>")
}

/// How long there is still time; the script of the page counts it down.
fn left(until: Timestamp, now: Timestamp) -> String {
    let seconds = until.as_micros().saturating_sub(now.as_micros()) / 1_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let text = match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    };
    let until = until.to_rfc3339();
    format!(" (<span data-until=\"{until}\">{text}</span> left)")
}

/// The buttons, each with what it does here.
pub(super) fn buttons(ahead: &Ahead) -> String {
    let accept = accepted(ahead);
    let button = |action: &str, name: &str, validates: &str, does: &str| {
        format!(
            "<p class=\"choice\"><button name=\"action\" value=\"{action}\"{validates} aria-describedby=\"does-{action}\">\
             {name}</button> <span class=\"note\" id=\"does-{action}\">{does}</span></p>"
        )
    };
    let unchecked = " formnovalidate";
    let (decline, cancel) = (&ahead.refusals.decline, &ahead.refusals.cancel);
    [
        button("accept", "Accept", "", &accept),
        button(
            "decline",
            "Decline",
            unchecked,
            &format!("You say no. {}", follows(decline)),
        ),
        button(
            "cancel",
            "Cancel",
            unchecked,
            &format!("You give no answer. {}", follows(cancel)),
        ),
    ]
    .concat()
}

/// The consequences of accepting.
fn accepted(ahead: &Ahead) -> String {
    let shown = ahead.steps.iter().any(|step| step.when != When::Never);
    if !shown && ahead.more == 0 {
        return "The run continues; no further step follows.".to_owned();
    }
    let more = match ahead.more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let is_destructive =
        ahead.more_is_destructive || ahead.steps.iter().any(Coming::is_destructive);
    let warning = if is_destructive {
        " Some may delete or overwrite something."
    } else {
        ""
    };
    format!("The run continues with the steps above{more}.{warning}")
}

fn follows(follows: &Follows) -> String {
    match follows {
        Follows::RunFails => "The run fails, and no further step starts.".to_owned(),
        Follows::StepFails => "This step fails, and the run continues.".to_owned(),
        Follows::Continues => "The run continues, and later steps see that you did.".to_owned(),
        Follows::SkipsRemaining => "The run ends here: the steps above are skipped.".to_owned(),
        Follows::ToolDecides { tool } => {
            format!(
                "The tool <code>{}</code> gets your answer and decides what follows.",
                escape(tool)
            )
        }
    }
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
    let mut text = "<h2>What runs next if you accept</h2><ol>".to_owned();
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
        When::If(on) => format!(", only if {}", line(on)),
    };
    let effect = match step.effect {
        _ if step.when == When::Never => "",
        Effect::Destructive => " <span class=\"destructive\">may delete or overwrite</span>",
        Effect::ReadOnly => " <span class=\"note\">(only reads)</span>",
        Effect::Adds | Effect::None => "",
    };
    let mut text = format!("<li><strong>{name}</strong> {does}{when}{effect}");
    if !step.arguments.is_empty() {
        // What may destroy something is seen without a click.
        let open = if step.effect == Effect::Destructive {
            " open"
        } else {
            ""
        };
        let _ = write!(
            text,
            "<details{open}><summary>What it is given</summary><dl>"
        );
        for (name, value) in &step.arguments {
            row(&mut text, &escape(name), &line(value));
        }
        text.push_str("</dl></details>");
    }
    text.push_str("</li>");
    text
}

fn line(line: &Line) -> String {
    let part = |part: &Part| match part {
        Part::Known(text) => escape(text),
        Part::Later(text) => format!("<em>{}</em>", with_names(text)),
    };
    line.iter().map(part).collect()
}

/// A text in which names between backticks are marked up.
fn with_names(text: &str) -> String {
    let mut html = String::new();
    for (index, piece) in text.split('`').enumerate() {
        let piece = escape(piece);
        let _ = match index % 2 {
            0 => write!(html, "{piece}"),
            _ => write!(html, "<code>{piece}</code>"),
        };
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_runtime::ahead::Refusals;

    fn ahead(more: usize, more_is_destructive: bool) -> Ahead {
        Ahead {
            workflow: "w".to_owned(),
            principal: None,
            since: Timestamp::from_micros(0),
            input: std::sync::Arc::default(),
            refusals: Refusals {
                decline: Follows::RunFails,
                cancel: Follows::RunFails,
            },
            steps: Vec::new(),
            more,
            more_is_destructive,
        }
    }

    #[test]
    fn steps_that_are_not_shown_are_counted_and_warned_of() {
        let texts =
            [(0, false), (3, false), (3, true)].map(|(more, is)| accepted(&ahead(more, is)));
        assert_eq!(
            texts,
            [
                "The run continues; no further step follows.",
                "The run continues with the steps above and 3 more.",
                "The run continues with the steps above and 3 more. Some may delete or overwrite something.",
            ]
        );
    }
}
