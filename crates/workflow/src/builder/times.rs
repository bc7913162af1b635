//! Arithmetic of timeouts that the file sets: a bound that can never be reached, or a loop that cannot end in time.

use super::Builder;
use crate::policy::WhileAsking;
use crate::step::{Action, Each, Step};
use onecall_source::{Diagnostic, Diagnostics, codes, counted};
use std::time::Duration;

pub(super) fn check(builder: &Builder, diagnostics: &mut Diagnostics) {
    let Some(whole) = builder.policy.timeout else {
        return;
    };
    let run = whole.limit;
    for step in &builder.steps {
        let stands = whole.while_asking == WhileAsking::Stands;
        let is_free = stands && matches!(step.action, Action::Ask(_));
        if let Some(timeout) = step.timeout
            && timeout > run
            && !is_free
            && !builder.rules.timeouts_by_default.contains(&step.name)
        {
            diagnostics.push(step_above_run(step, timeout, run));
        }
        if let Action::Each(each) = &step.action
            && let Some(longest) = longest(each)
            && longest > run
            && !builder.rules.item_timeouts_by_default.contains(&step.name)
        {
            diagnostics.push(loop_above_run(step, each, longest, run));
        }
    }
}

/// How long a loop takes when every item needs all of its time.
fn longest(each: &Each) -> Option<Duration> {
    let rounds = each.iterations_max.div_ceil(each.parallel_max.max(1));
    each.body.timeout?.checked_mul(rounds)
}

fn step_above_run(step: &Step, timeout: Duration, run: Duration) -> Diagnostic {
    let message = format!(
        "step `{}` may take {}, but the whole run only {}",
        step.name,
        shown(timeout),
        shown(run)
    );
    Diagnostic::warning(codes::TIMEOUT_ARITHMETIC, message)
        .label(&step.place, "the run ends before this step's time is up")
        .help("raise the time-out of the workflow or lower that of the step")
}

fn loop_above_run(step: &Step, each: &Each, longest: Duration, run: Duration) -> Diagnostic {
    let message = format!(
        "loop `{}` may take {}, but the whole run only {}",
        step.name,
        shown(longest),
        shown(run)
    );
    let note = format!(
        "{}, {} at a time, up to {} each",
        counted(each.iterations_max, "item"),
        each.parallel_max,
        each.body.timeout.map(shown).unwrap_or_default()
    );
    Diagnostic::warning(codes::TIMEOUT_ARITHMETIC, message)
        .label(&step.place, note)
        .help("raise the time-out of the workflow, or lower the number of items or their time")
}

/// A duration the way it is written in files.
pub(crate) fn shown(duration: Duration) -> String {
    let millis = duration.as_millis();
    let (hours, rest) = (millis / 3_600_000, millis % 3_600_000);
    let (minutes, rest) = (rest / 60_000, rest % 60_000);
    let (seconds, millis) = (rest / 1_000, rest % 1_000);
    let parts = [(hours, "h"), (minutes, "m"), (seconds, "s"), (millis, "ms")];
    let mut text = String::new();
    for (count, unit) in parts.iter().filter(|(count, _)| *count > 0) {
        text.push_str(&count.to_string());
        text.push_str(unit);
    }
    if text.is_empty() {
        "0s".to_owned()
    } else {
        text
    }
}
