//! The steps of a run as a tree: each hangs under the step whose end let it start, with its state, attempts, wait
//! and work time, and its place on the timeline of the run.

use super::details;
use crate::limits::{TREE_DEPTH_MAX, TREE_ITEMS_MAX};
use crate::print;
use crate::progress::{duration, sign};
use onecall_engine::event::Status;
use onecall_engine::identity::Timestamp;
use onecall_runtime::history::{ItemHistory, RunHistory, Spent, StepHistory};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Width of the timeline in characters.
const TIMELINE_WIDTH: usize = 32;

pub(super) fn lines(history: &RunHistory) -> Vec<String> {
    let summary = &history.summary;
    let mut rows = Vec::new();
    let tree = Tree::of(history);
    tree.grow(None, &mut Vec::new(), &mut rows);
    let width = rows.iter().map(Row::width).max().unwrap_or(0);
    let scale = Scale {
        from: summary.created,
        took: history.until.since(summary.created),
    };
    rows.into_iter()
        .flat_map(|row| row.lines(width, &scale))
        .collect()
}

/// A line of the tree, before the columns are aligned.
struct Row<'a> {
    /// What stands before the name.
    branch: String,
    /// What stands before the lines below it.
    below: String,
    what: Node<'a>,
}

enum Node<'a> {
    Step(&'a StepHistory),
    Item(usize, &'a StepHistory, &'a ItemHistory),
    More(usize),
}

/// The steps that hang under each step, in declared order.
struct Tree<'a> {
    below: BTreeMap<Option<&'a str>, Vec<&'a StepHistory>>,
}

impl<'a> Tree<'a> {
    fn of(history: &'a RunHistory) -> Self {
        let steps = history.steps.iter();
        let ends: BTreeMap<&str, Option<Timestamp>> =
            steps.map(|step| (step.name.as_str(), step.ended)).collect();
        let mut below: BTreeMap<Option<&str>, Vec<&StepHistory>> = BTreeMap::new();
        for step in &history.steps {
            let needs = step.needs.iter().map(String::as_str);
            let last = needs.max_by_key(|need| ends.get(need).copied().flatten());
            below.entry(last).or_default().push(step);
        }
        Self { below }
    }

    fn children(&self, of: Option<&'a str>) -> &[&'a StepHistory] {
        self.below.get(&of).map_or(&[], Vec::as_slice)
    }

    /// `open` says for each level above whether more is to come there.
    fn grow(&self, of: Option<&'a str>, open: &mut Vec<bool>, rows: &mut Vec<Row<'a>>) {
        let mut queue: VecDeque<&'a StepHistory> = self.children(of).iter().copied().collect();
        while let Some(step) = queue.pop_front() {
            let below = self.children(Some(&step.name));
            let is_deep = open.len() >= TREE_DEPTH_MAX;
            if is_deep {
                queue.extend(below);
            }
            let is_last = queue.is_empty();
            rows.push(Row::new(open, is_last, Node::Step(step)));
            open.push(!is_last);
            let has_below = !is_deep && !below.is_empty();
            add_items(step, has_below, open, rows);
            if !is_deep {
                self.grow(Some(&step.name), open, rows);
            }
            open.pop();
        }
    }
}

fn add_items<'a>(step: &'a StepHistory, more: bool, open: &[bool], rows: &mut Vec<Row<'a>>) {
    let shown = step.items.len().min(TREE_ITEMS_MAX);
    let left = step.items.len() - shown;
    for (index, item) in step.items.iter().take(shown).enumerate() {
        let is_last = !more && left == 0 && index + 1 == shown;
        rows.push(Row::new(open, is_last, Node::Item(index, step, item)));
    }
    if left > 0 {
        rows.push(Row::new(open, !more, Node::More(left)));
    }
}

impl<'a> Row<'a> {
    fn new(open: &[bool], is_last: bool, what: Node<'a>) -> Self {
        let above: String = open
            .iter()
            .map(|open| if *open { "│  " } else { "   " })
            .collect();
        let (own, below) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        Self {
            branch: format!("  {above}{own}"),
            below: format!("  {above}{below}"),
            what,
        }
    }

    fn name(&self) -> String {
        match &self.what {
            Node::Step(step) => format!("{} {}{}", sign(step.status), step.name, succeeded(step)),
            Node::Item(index, _, item) => format!("{} [{index}]", sign(item.status)),
            Node::More(left) => format!("… {}", print::counted(*left, "more item")),
        }
    }

    fn width(&self) -> usize {
        self.branch.chars().count() + self.name().chars().count()
    }

    fn lines(&self, width: usize, scale: &Scale) -> Vec<String> {
        let name = self.name();
        let room = width - self.branch.chars().count();
        let (columns, below) = match &self.what {
            Node::More(_) => (String::new(), Vec::new()),
            Node::Step(step) if step.kept => ("kept".to_owned(), details(step, scale.from)),
            Node::Step(step) => {
                let bar = scale.bar(step.started, step.ended);
                let columns = columns(step.status, step.attempts.len(), step.spent, &bar);
                let below = details(step, scale.from).into_iter();
                (columns, below.chain(hidden_failures(step)).collect())
            }
            Node::Item(index, step, item) => {
                let own = |item: Option<u32>| item.is_some_and(|own| own as usize == *index);
                let attempts = step.attempts.iter().filter(|attempt| own(attempt.item));
                let bar = scale.bar(item.started, item.ended);
                let columns = columns(item.status, attempts.count(), item.spent, &bar);
                let failure = item.failure.as_ref();
                let failure =
                    failure.map(|own| format!("failure   {} ({})", own.message, own.code));
                let below = failure.into_iter().chain(item.reason.clone());
                (columns, below.collect())
            }
        };
        let first = format!("{}{name:<room$}  {columns}", self.branch);
        let below = below
            .iter()
            .map(|line| format!("{}     {line}", self.below));
        std::iter::once(first.trim_end().to_owned())
            .chain(below)
            .collect()
    }
}

fn failed(step: &StepHistory) -> impl Iterator<Item = usize> {
    let items = step.items.iter().enumerate();
    let failed = items.filter(|(_, item)| item.status == Status::Failed);
    failed.map(|(index, _)| index)
}

/// ` 2 of 3`, if some items of a loop failed.
fn succeeded(step: &StepHistory) -> String {
    match failed(step).count() {
        0 => String::new(),
        count => format!(" {} of {}", step.items.len() - count, step.items.len()),
    }
}

/// The failed items that have no line of their own.
fn hidden_failures(step: &StepHistory) -> Option<String> {
    let hidden: Vec<String> = failed(step)
        .filter(|index| *index >= TREE_ITEMS_MAX)
        .take(TREE_ITEMS_MAX)
        .map(|index| format!("[{index}]"))
        .collect();
    (!hidden.is_empty()).then(|| format!("failed    {}", hidden.join(" ")))
}

fn columns(status: Status, attempts: usize, spent: Spent, bar: &str) -> String {
    let attempts = match attempts {
        0 => String::new(),
        1 => "1 attempt".to_owned(),
        count => format!("{count} attempts"),
    };
    format!(
        "{:<9}  {attempts:<11}  wait {:>8}  work {:>8}  {bar}",
        status.as_str(),
        duration(spent.wait()),
        duration(spent.work()),
    )
}

/// The time of the run, which the timeline is drawn to.
struct Scale {
    from: Timestamp,
    took: Duration,
}

impl Scale {
    fn bar(&self, started: Option<Timestamp>, ended: Option<Timestamp>) -> String {
        let place = |at: Timestamp| {
            let share = at.since(self.from).as_micros().min(self.took.as_micros());
            let place = share * TIMELINE_WIDTH as u128 / self.took.as_micros().max(1);
            usize::try_from(place).unwrap_or(TIMELINE_WIDTH)
        };
        let Some(started) = started else {
            return "·".repeat(TIMELINE_WIDTH);
        };
        let start = place(started).min(TIMELINE_WIDTH - 1);
        let end = ended.map_or(TIMELINE_WIDTH, place).max(start + 1);
        let cell = |at| {
            if (start..end).contains(&at) {
                '█'
            } else {
                '·'
            }
        };
        (0..TIMELINE_WIDTH).map(cell).collect()
    }
}
