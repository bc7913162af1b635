//! The progress of a run on stderr: a living picture on a terminal (`tree`), elsewhere a line when a step
//! starts and one when it ends.

use crate::limits::FAILED_ITEMS_SHOWN_MAX;
use crate::print;
use crate::tree::Tree;
use onecall_engine::event::{Event, Status, What};
use onecall_engine::failure::Failure;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_runtime::runs::Seen;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Whichever fits where stderr goes.
pub(crate) enum Progress {
    Tree(Tree),
    Lines(Lines),
}

impl Progress {
    pub(crate) fn new(run: &RunId, steps: &[String]) -> Self {
        print::err(format!("run {run}"));
        match Tree::new(steps) {
            Some(tree) => Self::Tree(tree),
            None => Self::Lines(Lines::default()),
        }
    }

    pub(crate) fn show(&mut self, seen: Arc<Seen>) {
        match self {
            Self::Tree(tree) => tree.show(seen),
            Self::Lines(lines) => lines.show(&seen),
        }
    }

    /// Something else was written in between.
    pub(crate) fn go_on(&mut self) {
        if let Self::Tree(tree) = self {
            tree.draw_anew();
        }
    }

    /// Somebody pressed Ctrl-C: nothing more will be shown, and what is told next stands below.
    pub(crate) fn break_off(&self) {
        if let Self::Tree(tree) = self {
            tree.break_off();
        }
    }

    /// Nothing more will be shown.
    pub(crate) fn finish(&self) {
        if let Self::Tree(tree) = self {
            tree.finish();
        }
    }
}

/// The items of a loop as they end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items {
    total: usize,
    ended: usize,
    /// Those that failed, each with the reason.
    failed: Vec<(u32, String)>,
}

impl Items {
    pub(crate) fn new(total: usize) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    pub(crate) fn end(&mut self, item: u32, status: Status, failure: Option<&Failure>) {
        self.ended += 1;
        if status == Status::Failed {
            let why = failure.map_or("", |failure| failure.message.as_str());
            self.failed.push((item, first_line(why).to_owned()));
        }
    }

    /// `1/3`, or once all have ended and some have failed `2 of 3`.
    pub(crate) fn count(&self) -> String {
        let (total, ended, failed) = (self.total, self.ended, self.failed.len());
        if failed > 0 && ended == total {
            return format!("{} of {total}", total - failed);
        }
        format!("{ended}/{total}")
    }

    /// The items that failed, by the names that `runs answer` takes; `None` if none did.
    pub(crate) fn failures(&self, step: &str) -> Option<String> {
        let shown = self.failed.iter().take(FAILED_ITEMS_SHOWN_MAX);
        let shown = shown.map(|(item, why)| format!("{step}[{item}] failed: {why}"));
        let shown: Vec<String> = shown.collect();
        let more = self.failed.len() - shown.len();
        match (shown.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(shown.join("; ")),
            (false, more) => Some(format!("{}; and {more} more", shown.join("; "))),
        }
    }
}

#[derive(Default)]
pub(crate) struct Lines {
    started: BTreeMap<u32, Timestamp>,
    items: BTreeMap<u32, Items>,
}

impl Lines {
    pub(crate) fn show(&mut self, seen: &Seen) {
        for event in &seen.events {
            self.line(event, &seen.steps);
        }
    }

    fn line(&mut self, event: &Event, steps: &[String]) {
        let name = |step: u32| steps.get(step as usize).map_or("?", String::as_str);
        match &event.what {
            What::AttemptStarted { call, .. } => {
                self.started.entry(call.step).or_insert(event.at);
                if call.item.is_none() && call.attempt == 0 {
                    print::err(format!("  ▸ {}", name(call.step)));
                } else if call.attempt > 0 {
                    print::err(format!(
                        "  ↻ {} (attempt {})",
                        name(call.step),
                        call.attempt + 1
                    ));
                }
            }
            What::Mocked { step, .. } => {
                self.started.entry(*step).or_insert(event.at);
                print::err(format!("  ▸ {} (mocked)", name(*step)));
            }
            What::ItemsAre { step, items, .. } => {
                self.started.entry(*step).or_insert(event.at);
                self.items.insert(*step, Items::new(items.len()));
                let items = print::counted(items.len(), "item");
                print::err(format!("  ▸ {} ({items})", name(*step)));
            }
            What::ItemEnded {
                step,
                item,
                status,
                failure,
                ..
            } => {
                let items = self.items.entry(*step).or_default();
                items.end(*item, *status, failure.as_ref());
            }
            What::StepEnded { step, .. } => self.step_ended(event, *step, name(*step)),
            What::RetryAt { call, due } => {
                let wait = duration(due.since(event.at));
                print::err(format!("  … {} again in {wait}", name(call.step)));
            }
            What::QuestionAsked {
                step, message, url, ..
            } => question(name(*step), message, url.as_deref()),
            What::Held { slot, reason } => {
                let held = slot.named(name(slot.step));
                print::err(format!("  ! {held} is held: {reason}"));
            }
            What::RunStarted { .. }
            | What::RunEnded { .. }
            | What::AttemptEnded { .. }
            | What::Used { .. }
            | What::CallAsked { .. }
            | What::AnswerRefused { .. }
            | What::QuestionAnswered { .. }
            | What::ClockStopped
            | What::ClockStarted { .. }
            | What::DefaultUsed { .. }
            | What::HeldResolved { .. }
            | What::RemainingSkipped { .. }
            | What::CancelAsked { .. }
            | What::Note { .. } => {}
        }
    }

    fn step_ended(&self, event: &Event, step: u32, name: &str) {
        let What::StepEnded {
            status,
            failure,
            reason,
            ..
        } = &event.what
        else {
            return;
        };
        let took = self.started.get(&step);
        let took = took.map(|from| format!(" {}", duration(event.at.since(*from))));
        let took = took.unwrap_or_default();
        let items = self.items.get(&step);
        let failed = items.and_then(|items| items.failures(name));
        let count = items.filter(|_| failed.is_some());
        let count = count.map(|items| format!(" {}", items.count()));
        let count = count.unwrap_or_default();
        let why = failure.as_ref().map(|failure| failure.message.as_str());
        let why = why
            .or(reason.as_deref())
            .or(failed.as_deref())
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        print::err(format!("  {} {name}{count}{took}{why}", sign(*status)));
    }
}

/// The first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

fn question(step: &str, message: &str, url: Option<&str>) {
    let url = url.map(|url| format!(" {url}")).unwrap_or_default();
    print::err(format!("  ? {step}: {message}{url}"));
}

pub(crate) fn sign(status: Status) -> &'static str {
    match status {
        Status::Completed => "✓",
        Status::Failed => "✗",
        Status::Skipped => "–",
        Status::Cancelled => "⊘",
        Status::Running => "▸",
        Status::Pending => "·",
    }
}

/// Milliseconds up to ten seconds, then seconds.
pub(crate) fn duration(duration: Duration) -> String {
    let minutes = duration.as_secs() / 60;
    match minutes {
        0 if duration < Duration::from_secs(10) => format!("{} ms", duration.as_millis()),
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..120 => format!("{minutes} min"),
        120..2_880 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", minutes / 1_440, minutes / 60 % 24),
    }
}
