//! The steps of a run as a living picture on a terminal: one line a step, redrawn in place.
//! Where there is no terminal, or no room, `progress` prints lines instead.

use crate::limits::LIVE_STEPS_MAX;
use crate::print::{self, harmless};
use crate::progress::{Items, duration, first_line, sign};
use console::style;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use onecall_engine::event::{Event, Status, What};
use onecall_engine::identity::Timestamp;
use onecall_runtime::runs::Seen;
use std::sync::Arc;
use std::time::Duration;

/// How often a running step moves its sign.
const TICK: Duration = Duration::from_millis(120);

#[derive(Debug)]
pub(crate) struct Tree {
    steps: Vec<Branch>,
    all: MultiProgress,
    /// Everything shown, for drawing it anew below what was written in between.
    seen: Vec<Arc<Seen>>,
}

#[derive(Debug)]
struct Branch {
    bar: ProgressBar,
    name: String,
    template: String,
    started: Option<Timestamp>,
    attempts: u32,
    items: Option<Items>,
}

impl Tree {
    /// `None` where stderr is no terminal, or there are too many steps.
    pub(crate) fn new(steps: &[String]) -> Option<Self> {
        let term = console::Term::stderr();
        if !term.is_term() || steps.len() > LIVE_STEPS_MAX || steps.is_empty() {
            return None;
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::term(term, 20));
        print::live(Some(all.clone()));
        let width = steps.iter().map(|name| name.chars().count()).max();
        let branch = |(index, name): (usize, &String)| {
            let is_last = index + 1 == steps.len();
            Branch::new(&all, name, width.unwrap_or(0), is_last)
        };
        Some(Self {
            steps: steps.iter().enumerate().map(branch).collect(),
            all,
            seen: Vec::new(),
        })
    }

    pub(crate) fn show(&mut self, seen: Arc<Seen>) {
        for event in &seen.events {
            self.take(event);
        }
        self.seen.push(seen);
    }

    /// Draws the same picture again, from here on.
    pub(crate) fn draw_anew(&mut self) {
        let Some(steps) = self.seen.first().map(|seen| Arc::clone(&seen.steps)) else {
            return;
        };
        if let Some(mut fresh) = Self::new(&steps) {
            for seen in std::mem::take(&mut self.seen) {
                fresh.show(seen);
            }
            *self = fresh;
        }
    }

    /// Leaves the picture as it stands.
    pub(crate) fn finish(&self) {
        for branch in &self.steps {
            branch.bar.abandon();
        }
        print::live(None);
    }

    /// Draws no more, and goes below the picture. The terminal has written `^C` behind it and gone to another line, so
    /// that it would be drawn anew in the wrong place.
    pub(crate) fn break_off(&self) {
        self.all.set_draw_target(ProgressDrawTarget::hidden());
        self.finish();
        print::err("");
    }

    fn take(&mut self, event: &Event) {
        let at = event.at;
        match &event.what {
            What::AttemptStarted { call, .. } => self.on(call.step, |branch| {
                if call.item.is_none() {
                    branch.attempts = call.attempt + 1;
                }
                branch.starts(at);
            }),
            What::ItemsAre { step, items, .. } => self.on(*step, |branch| {
                branch.items = Some(Items::new(items.len()));
                branch.starts(at);
            }),
            What::ItemEnded {
                step,
                item,
                status,
                failure,
                ..
            } => self.on(*step, |branch| {
                if let Some(items) = &mut branch.items {
                    items.end(*item, *status, failure.as_ref());
                }
                branch.says("");
            }),
            What::StepEnded {
                step,
                status,
                failure,
                reason,
                ..
            } => self.on(*step, |branch| {
                let why = failure.as_ref().map(|failure| failure.message.as_str());
                branch.ends(at, *status, why.or(reason.as_deref()));
            }),
            What::RetryAt { call, due } => self.on(call.step, |branch| {
                branch.says(&format!("again in {}", duration(due.since(at))));
            }),
            What::QuestionAsked { step, message, .. } => self.on(*step, |branch| {
                branch.starts(at);
                branch.says(&format!("asks: {}", first_line(message)));
            }),
            What::Held { slot, reason } => self.on(slot.step, |branch| {
                branch.says(&format!("held: {}", first_line(reason)));
            }),
            _ => {}
        }
    }

    fn on(&mut self, step: u32, change: impl FnOnce(&mut Branch)) {
        if let Some(branch) = self.steps.get_mut(step as usize) {
            change(branch);
        }
    }
}

impl Branch {
    fn new(all: &MultiProgress, name: &str, width: usize, is_last: bool) -> Self {
        let line = if is_last { "└─" } else { "├─" };
        let template = format!("  {line} {{spinner}} {{prefix:{width}}}  {{wide_msg}}");
        let bar = all.add(ProgressBar::new_spinner());
        bar.set_style(look(&template, &["·", "·"]));
        bar.set_prefix(harmless(name).into_owned());
        bar.tick();
        Self {
            bar,
            name: name.to_owned(),
            template,
            started: None,
            attempts: 1,
            items: None,
        }
    }

    fn starts(&mut self, at: Timestamp) {
        if self.started.is_none() {
            self.started = Some(at);
            self.bar
                .set_style(look(&self.template, &["◐", "◓", "◑", "◒", "▸"]));
            self.bar.enable_steady_tick(TICK);
        }
        self.says("");
    }

    /// Much of what is said was written by a backend, and the library that draws passes on every byte.
    fn says(&self, text: &str) {
        let items = self
            .items
            .as_ref()
            .map(|items| format!("{} ", items.count()))
            .unwrap_or_default();
        let attempts = match self.attempts {
            0 | 1 => String::new(),
            attempts => format!("attempt {attempts} "),
        };
        let text = harmless(text);
        self.bar.set_message(format!("{items}{attempts}{text}"));
    }

    fn ends(&self, at: Timestamp, status: Status, why: Option<&str>) {
        let took = self.started.map(|started| duration(at.since(started)));
        let items = self.items.as_ref();
        let failed = items.and_then(|items| items.failures(&self.name));
        let why = why.map(|why| first_line(why).to_owned()).or(failed);
        let parts: Vec<String> = took.into_iter().chain(why).collect();
        self.says(&parts.join("  "));
        let sign = style(sign(status)).for_stderr();
        let sign = match status {
            Status::Completed => sign.green(),
            Status::Failed | Status::Cancelled => sign.red(),
            Status::Skipped | Status::Pending | Status::Running => sign.dim(),
        };
        let sign = sign.to_string();
        self.bar.set_style(look(&self.template, &[&sign, &sign]));
        self.bar.abandon();
    }
}

/// A line whose sign goes through these; the last is that of a line that moves no more.
fn look(template: &str, signs: &[&str]) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .tick_strings(signs)
}
