//! What a store in memory holds, and each change of it. Every change checks first and then writes.

use crate::inbox::{self, Kind};
use crate::limits;
use crate::open::Retention;
use crate::owner::Owner;
use crate::record;
use onecall_engine::event::Event;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Append, Command, Filter, JournalError, Mark, NewRun, OpenRun, Order, StoredPlan, StoredRun,
    Summary,
};
use onecall_workflow::policy::Durability;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct State {
    retention: Retention,
    owners: BTreeMap<u64, Owner>,
    last_epoch: u64,
    last_number: u64,
    runs: BTreeMap<RunId, Run>,
    /// What all runs hold, and what those hold that have not ended.
    bytes: Bytes,
    open: Bytes,
    /// Every run by the time of its creation.
    by_age: BTreeSet<(Timestamp, u64, RunId)>,
    unfinished: BTreeSet<(Timestamp, u64, RunId)>,
    /// Finished runs by the time of their end.
    finished: BTreeSet<(Timestamp, u64, RunId)>,
    keys: BTreeMap<Key, RunId>,
    inbox: Vec<Waiting>,
    kept: BTreeMap<String, Value>,
}

type Bytes = u64;

/// Events as they are held: one line of JSON each, so that what they take is known to the byte.
#[derive(Debug)]
pub(super) struct Lines {
    text: Box<[u8]>,
    count: u64,
    last: Option<Timestamp>,
    settled: Vec<Kind>,
}

impl Lines {
    pub(super) fn new(events: &[Event]) -> Result<Self, JournalError> {
        let mut text = Vec::new();
        for event in events {
            serde_json::to_writer(&mut text, event).map_err(|cause| JournalError::Store {
                action: "write a value to",
                cause: cause.into(),
            })?;
            text.push(b'\n');
        }
        let settled = events
            .iter()
            .filter_map(|event| Kind::settled_by(&event.what));
        Ok(Self {
            text: text.into_boxed_slice(),
            count: events.len() as u64,
            last: events.last().map(|event| event.at),
            settled: settled.collect(),
        })
    }

    fn bytes(&self) -> Bytes {
        self.text.len() as Bytes + limits::MEMORY_BATCH_BYTES
    }
}

/// An append without its events, which are in `Lines`.
#[derive(Debug)]
pub(super) struct Addition {
    pub(super) run: RunId,
    pub(super) first: u64,
    pub(super) mark: Mark,
    pub(super) at: Timestamp,
}

impl Addition {
    pub(super) fn split(append: Append) -> (Self, Vec<Event>) {
        let addition = Self {
            run: append.run,
            first: append.first,
            mark: append.mark,
            at: append.at,
        };
        (addition, append.events)
    }
}

#[derive(Debug)]
struct Run {
    number: u64,
    bytes: Bytes,
    summary: Summary,
    plan: Arc<str>,
    plan_hash: String,
    durability: Durability,
    events: Vec<Box<[u8]>>,
    owner: u64,
    parked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    principal: Option<String>,
    workflow: String,
    text: String,
}

#[derive(Debug)]
struct Waiting {
    command: Command,
    bytes: Bytes,
    taker: Option<u64>,
}

impl Run {
    fn age(&self) -> (Timestamp, u64, RunId) {
        (self.summary.created, self.number, self.summary.id.clone())
    }

    fn key(&self) -> Option<Key> {
        Some(Key {
            principal: self.summary.principal.clone(),
            workflow: self.summary.workflow.clone(),
            text: self.summary.client_key.clone()?,
        })
    }

    fn held(&self) -> HeldRun {
        HeldRun {
            run: StoredRun {
                summary: self.summary.clone(),
                plan: Arc::clone(&self.plan),
                plan_hash: self.plan_hash.clone(),
                durability: self.durability,
                events: Vec::new(),
            },
            lines: self.events.concat(),
        }
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.summary.due.is_some_and(|due| due <= now)
    }
}

/// A run whose events are still text, so that they are parsed without the lock on the store.
pub(super) struct HeldRun {
    run: StoredRun,
    lines: Vec<u8>,
}

impl HeldRun {
    pub(super) fn read(self) -> Result<StoredRun, JournalError> {
        let Self { mut run, lines } = self;
        let lines = lines.split(|byte| *byte == b'\n');
        let events = lines.filter(|line| !line.is_empty()).map(record::parse);
        run.events =
            events
                .collect::<Result<_, _>>()
                .map_err(|cause| JournalError::Unreadable {
                    run: run.summary.id.clone(),
                    reason: cause.to_string(),
                })?;
        Ok(run)
    }
}

impl State {
    pub(super) fn new(retention: Retention) -> Self {
        Self {
            retention,
            ..Self::default()
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(super) fn join(&mut self, now: Timestamp, lease: Duration) -> u64 {
        self.last_epoch += 1;
        self.owners.insert(
            self.last_epoch,
            Owner {
                process: None,
                seen: now,
                lease,
                left: false,
            },
        );
        self.last_epoch
    }

    pub(super) fn leave(&mut self, epoch: u64) {
        if let Some(owner) = self.owners.get_mut(&epoch) {
            owner.left = true;
        }
    }

    pub(super) fn heartbeat(&mut self, epoch: u64, now: Timestamp) {
        if let Some(owner) = self.owners.get_mut(&epoch) {
            owner.seen = now;
        }
    }

    fn is_dead(&self, epoch: u64, now: Timestamp) -> bool {
        self.owners
            .get(&epoch)
            .is_none_or(|owner| owner.is_dead(now, None))
    }

    pub(super) fn create(
        &mut self,
        epoch: u64,
        new: NewRun,
        events: Lines,
    ) -> Result<(), JournalError> {
        if self.runs.contains_key(&new.id) {
            return Err(JournalError::Exists { run: new.id });
        }
        let number = self.last_number + 1;
        let run = new_run(epoch, number, new, events);
        if let Some(key) = run.key()
            && let Some(holder) = self.keys.get(&key)
        {
            return Err(JournalError::KeyTaken {
                run: holder.clone(),
            });
        }
        self.room_for(&run)?;
        if let Some(key) = run.key() {
            self.keys.insert(key, run.summary.id.clone());
        }
        self.bytes += run.bytes;
        if run.summary.ended.is_none() {
            self.open += run.bytes;
        }
        self.last_number = number;
        self.by_age.insert(run.age());
        match run.summary.ended {
            None => self.unfinished.insert(run.age()),
            Some(ended) => self
                .finished
                .insert((ended, number, run.summary.id.clone())),
        };
        self.runs.insert(run.summary.id.clone(), run);
        Ok(())
    }

    /// The end of a run is always taken: from then on the run can be evicted.
    pub(super) fn append(
        &mut self,
        epoch: u64,
        append: Addition,
        events: Lines,
    ) -> Result<(), JournalError> {
        self.check_append(epoch, &append)?;
        let more = events.bytes();
        let ends = append.mark.phase.is_ended();
        if !self.make_room(more) && !ends {
            return Err(self.filled_by_open_runs());
        }
        let Some(run) = self.runs.get_mut(&append.run) else {
            return Err(JournalError::UnknownRun { run: append.run });
        };
        let was_ended = run.summary.ended.is_some();
        run.summary.event_count += events.count;
        run.events.push(events.text);
        run.bytes += more;
        self.bytes += more;
        if !was_ended {
            self.open += more;
        }
        run.summary.updated = append.at;
        run.summary.phase = append.mark.phase;
        run.summary.due = append.mark.due;
        run.summary.failure = append.mark.failure;
        if ends && !was_ended {
            run.summary.ended = Some(append.at);
            self.open -= run.bytes;
            self.unfinished.remove(&run.age());
            self.finished
                .insert((append.at, run.number, append.run.clone()));
            self.inbox
                .retain(|waiting| waiting.command.run != append.run);
        }
        for kind in events.settled {
            self.settle(&append.run, epoch, kind);
        }
        self.make_room(0);
        Ok(())
    }

    fn check_append(&self, epoch: u64, append: &Addition) -> Result<(), JournalError> {
        let Some(run) = self.runs.get(&append.run) else {
            let run = append.run.clone();
            return Err(JournalError::UnknownRun { run });
        };
        if run.owner != epoch || run.parked {
            let run = append.run.clone();
            return Err(JournalError::Fenced { run });
        }
        let expected = run.summary.event_count;
        if append.first != expected {
            return Err(JournalError::OutOfOrder {
                run: append.run.clone(),
                expected,
                got: append.first,
            });
        }
        Ok(())
    }

    /// New runs leave a quarter for those that are open: these must be able to go on.
    fn room_for(&mut self, run: &Run) -> Result<(), JournalError> {
        let is_open = run.summary.ended.is_none();
        let is_over = is_open && self.open + run.bytes > self.retention.bytes_max / 4 * 3;
        if is_over || !self.make_room(run.bytes) {
            return Err(self.filled_by_open_runs());
        }
        Ok(())
    }

    fn filled_by_open_runs(&self) -> JournalError {
        JournalError::OpenRunsFull {
            bytes_max: self.retention.bytes_max,
        }
    }

    /// Removes the oldest finished runs until so much more can be held. `false`: the rest is open.
    fn make_room(&mut self, more: Bytes) -> bool {
        while self.bytes + more > self.retention.bytes_max {
            if !self.remove_oldest() {
                return false;
            }
        }
        true
    }

    fn remove_oldest(&mut self) -> bool {
        let Some((_, _, id)) = self.finished.pop_first() else {
            return false;
        };
        if let Some(run) = self.runs.remove(&id) {
            self.bytes -= run.bytes;
            self.by_age.remove(&run.age());
            if let Some(key) = run.key() {
                self.keys.remove(&key);
            }
        }
        true
    }

    fn settle(&mut self, run: &RunId, epoch: u64, kind: Kind) {
        let oldest = self.inbox.iter().position(|waiting| {
            waiting.taker == Some(epoch)
                && waiting.command.run == *run
                && Kind::of(&waiting.command.what) == kind
        });
        if let Some(oldest) = oldest {
            self.inbox.remove(oldest);
        }
    }

    pub(super) fn load(&self, run: &RunId) -> Option<HeldRun> {
        self.runs.get(run).map(Run::held)
    }

    pub(super) fn rebind(
        &mut self,
        epoch: u64,
        id: &RunId,
        plan: StoredPlan,
        now: Timestamp,
    ) -> Result<bool, JournalError> {
        let Some(run) = self.runs.get(id) else {
            return Err(JournalError::UnknownRun { run: id.clone() });
        };
        let free = run.parked || run.owner == epoch || self.is_dead(run.owner, now);
        if run.summary.ended.is_some() || !free {
            return Ok(false);
        }
        if let Some(run) = self.runs.get_mut(id) {
            run.plan = plan.text;
            run.plan_hash = plan.hash;
        }
        Ok(true)
    }

    pub(super) fn open_runs(&self, epoch: u64, now: Timestamp) -> Vec<OpenRun> {
        let open = self.unfinished.iter();
        let open = open.filter_map(|(_, _, id)| self.runs.get(id));
        open.map(|run| OpenRun {
            id: run.summary.id.clone(),
            principal: run.summary.principal.clone(),
            bytes: run.bytes,
            plan_hash: run.plan_hash.clone(),
            is_left: run.parked || run.owner != epoch && self.is_dead(run.owner, now),
        })
        .collect()
    }

    pub(super) fn list(&self, filter: &Filter) -> Vec<Summary> {
        let limit = match filter.limit {
            0 => limits::LIST_DEFAULT,
            limit => limit.min(limits::LIST_MAX),
        };
        self.by_age
            .iter()
            .rev()
            .filter_map(|(_, _, id)| self.runs.get(id))
            .map(|run| &run.summary)
            .filter(|summary| matches(filter, summary))
            .take(limit)
            .cloned()
            .collect()
    }

    pub(super) fn claimable(&self, epoch: u64, now: Timestamp) -> Vec<RunId> {
        self.unfinished
            .iter()
            .filter_map(|(_, _, id)| self.runs.get(id))
            .filter(|run| {
                let ours = run.owner == epoch;
                if run.parked {
                    run.is_due(now) && (ours || self.is_dead(run.owner, now))
                } else {
                    !ours && self.is_dead(run.owner, now)
                }
            })
            .take(limits::CLAIMABLE_MAX)
            .map(|run| run.summary.id.clone())
            .collect()
    }

    pub(super) fn claim(
        &mut self,
        epoch: u64,
        id: &RunId,
        now: Timestamp,
    ) -> Result<Option<HeldRun>, JournalError> {
        let Some(run) = self.runs.get(id) else {
            return Err(JournalError::UnknownRun { run: id.clone() });
        };
        let free = run.parked || (run.owner != epoch && self.is_dead(run.owner, now));
        if run.summary.ended.is_some() || !free {
            return Ok(None);
        }
        Ok(self.runs.get_mut(id).map(|run| {
            run.owner = epoch;
            run.parked = false;
            run.held()
        }))
    }

    pub(super) fn park(
        &mut self,
        epoch: u64,
        id: &RunId,
        due: Option<Timestamp>,
    ) -> Result<(), JournalError> {
        let Some(run) = self.runs.get_mut(id) else {
            return Err(JournalError::UnknownRun { run: id.clone() });
        };
        if run.owner != epoch || run.parked {
            return Err(JournalError::Fenced { run: id.clone() });
        }
        if run.summary.ended.is_some() {
            return Err(JournalError::Ended { run: id.clone() });
        }
        run.parked = true;
        run.summary.due = due;
        Ok(())
    }

    pub(super) fn tell(&mut self, command: Command) -> Result<(), JournalError> {
        let Some(run) = self.runs.get(&command.run) else {
            return Err(JournalError::UnknownRun { run: command.run });
        };
        if run.summary.ended.is_some() {
            return Err(JournalError::Ended { run: command.run });
        }
        let waiting = self
            .inbox
            .iter()
            .filter(|waiting| waiting.command.run == command.run)
            .count();
        let bytes = serde_json::to_vec(&command.what).map_or(0, |text| text.len() as Bytes);
        let held: Bytes = self.inbox.iter().map(|waiting| waiting.bytes).sum();
        if waiting >= limits::INBOX_MAX {
            return Err(inbox::full());
        }
        if !self.make_room(held + bytes) {
            return Err(self.filled_by_open_runs());
        }
        self.inbox.push(Waiting {
            command,
            bytes,
            taker: None,
        });
        Ok(())
    }

    pub(super) fn commands(&mut self, epoch: u64, now: Timestamp) -> Vec<Command> {
        let mut taken = Vec::new();
        for index in 0..self.inbox.len() {
            if taken.len() == limits::COMMANDS_MAX {
                break;
            }
            let waiting = &self.inbox[index];
            let Some(run) = self.runs.get(&waiting.command.run) else {
                continue;
            };
            // A command that somebody took who does not own the run by now goes to the one who does.
            let free = if run.owner == epoch {
                waiting.taker != Some(epoch)
            } else {
                self.is_dead(run.owner, now)
                    && waiting.taker.is_none_or(|taker| self.is_dead(taker, now))
            };
            if free {
                taken.push(waiting.command.clone());
                self.inbox[index].taker = Some(epoch);
            }
        }
        taken
    }

    pub(super) fn give_back(&mut self, epoch: u64, run: &RunId) {
        let taken = self
            .inbox
            .iter_mut()
            .filter(|waiting| waiting.taker == Some(epoch) && waiting.command.run == *run);
        taken.for_each(|waiting| waiting.taker = None);
    }

    pub(super) fn told(&self, run: &RunId) -> Vec<Order> {
        let waiting = self.inbox.iter();
        let own = waiting.filter(|waiting| waiting.command.run == *run);
        own.map(|waiting| waiting.command.what.clone()).collect()
    }

    pub(super) fn keep(&mut self, name: &str, value: &Value) {
        self.kept.insert(name.to_owned(), value.clone());
    }

    pub(super) fn kept(&self, name: &str) -> Option<Value> {
        self.kept.get(name).cloned()
    }

    /// Bytes are bounded with every write; here it is age and number.
    pub(super) fn maintain(&mut self, now: Timestamp) -> bool {
        for _ in 0..limits::REMOVE_MAX {
            let excess = self.finished.len() as u64 > self.retention.runs_max;
            let Some((ended, _, _)) = self.finished.first() else {
                return false;
            };
            if !excess && now.since(*ended) <= self.retention.age_max {
                return false;
            }
            self.remove_oldest();
        }
        true
    }
}

fn new_run(epoch: u64, number: u64, new: NewRun, events: Lines) -> Run {
    let last = events.last.unwrap_or(new.at);
    let labels = new.labels.iter();
    let labels: usize = labels.map(|(key, value)| key.len() + value.len()).sum();
    Run {
        number,
        bytes: limits::MEMORY_RUN_BYTES + labels as Bytes + events.bytes(),
        summary: Summary {
            id: new.id,
            workflow: new.workflow,
            version: new.version,
            phase: new.mark.phase,
            created: new.at,
            updated: last,
            ended: new.mark.phase.is_ended().then_some(last),
            due: new.mark.due,
            failure: new.mark.failure,
            principal: new.principal,
            tenant: new.tenant,
            labels: new.labels,
            client_key: new.client_key,
            retry_of: new.retry_of,
            masked: new.masked,
            event_count: events.count,
        },
        plan: new.plan,
        plan_hash: new.plan_hash,
        durability: new.durability,
        events: vec![events.text],
        owner: epoch,
        parked: false,
    }
}

fn matches(filter: &Filter, summary: &Summary) -> bool {
    let equals = |wanted: &Option<String>, got: Option<&String>| {
        wanted.as_ref().is_none_or(|wanted| Some(wanted) == got)
    };
    equals(&filter.workflow, Some(&summary.workflow))
        && equals(&filter.client_key, summary.client_key.as_ref())
        && equals(&filter.principal, summary.principal.as_ref())
        && !(filter.no_principal && summary.principal.is_some())
        && (filter.retry_of.is_none() || filter.retry_of == summary.retry_of)
        && (filter.phases.is_empty() || filter.phases.contains(&summary.phase))
        && filter
            .labels
            .iter()
            .all(|(name, value)| summary.labels.get(name) == Some(value))
        && filter.since.is_none_or(|since| summary.created >= since)
        && filter.until.is_none_or(|until| summary.created < until)
}
