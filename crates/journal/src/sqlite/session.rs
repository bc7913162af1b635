//! What the writer does to runs inside a transaction. Invariant: a refused request has written nothing, except
//! perhaps a plan that no run uses yet.
//!
//! The fence is part of the statement that writes: a row is added to the log only if, in the same statement, the
//! run is still ours. So the next sequence number may be remembered: while a run is ours nobody else adds to it.
//! As long as nobody else has written to the store since a run was last found ours, it still is.

use super::owners::{Deaths, Me};
use crate::inbox::Kind;
use crate::record::{BigValue, Encoded, FORM, durability_text, last_time, phase_from};
use crate::seal::Sealer;
use onecall_engine::event::Event;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{JournalError, Mark, NewRun, Phase, StoredPlan};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use std::collections::{BTreeSet, HashMap};

#[derive(Debug)]
pub(super) enum WriteError {
    /// The request cannot be granted; its group goes on.
    Refused(JournalError),
    /// The store failed; the group is rolled back.
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<JournalError> for WriteError {
    fn from(error: JournalError) -> Self {
        Self::Refused(error)
    }
}

/// What is remembered of the runs that this opener owns.
pub(super) type Cache = HashMap<RunId, Known>;

#[derive(Clone, Debug)]
pub(super) struct Known {
    number: i64,
    /// The sequence number of the next event.
    next: u64,
    phase: Phase,
    failure: Option<String>,
    /// The version of the store at which the run was ours.
    seen: i64,
}

impl Known {
    pub(super) fn has_ended(&self) -> bool {
        self.phase.is_ended()
    }
}

pub(super) struct Session<'a> {
    pub(super) connection: &'a Connection,
    pub(super) me: &'a Me,
    pub(super) sealer: &'a Sealer,
    pub(super) cache: &'a mut Cache,
    pub(super) ended: &'a mut Ended,
    pub(super) numbers: &'a mut Numbers,
    /// Changes whenever somebody else has written to the store.
    pub(super) version: i64,
    /// Adds rows of runs that are certainly ours; looked up once for a group.
    pub(super) insert: Option<CachedStatement<'a>>,
}

/// Runs that have ended and may be compacted. What a group took back may still be among them.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) numbers: BTreeSet<i64>,
    /// Those that others have left are among them.
    pub(super) is_complete: bool,
    /// Some were added by this group.
    pub(super) has_more: bool,
}

impl Ended {
    fn add(&mut self, number: i64) {
        self.numbers.insert(number);
        self.has_more = true;
    }
}

/// Gives numbers to runs. No two openers of a store have the same epoch, so none gives the number of another.
#[derive(Debug, Default)]
pub(super) struct Numbers(i64);

impl Numbers {
    fn next(&mut self, epoch: u64) -> i64 {
        self.0 += 1;
        (epoch.cast_signed() << 32) | self.0
    }
}

/// A new run, ready to be written.
#[derive(Debug)]
pub(super) struct Creation {
    pub(super) run: NewRun,
    pub(super) labels: String,
    pub(super) updated: Timestamp,
    pub(super) events: Encoded,
}

impl Creation {
    pub(super) fn new(
        run: NewRun,
        first: &[Event],
        events: Encoded,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            labels: serde_json::to_string(&run.labels)?,
            updated: last_time(first, run.at),
            run,
            events,
        })
    }
}

/// Events of a run, ready to be written.
#[derive(Debug)]
pub(super) struct Addition {
    pub(super) run: RunId,
    pub(super) first: u64,
    pub(super) events: Encoded,
    pub(super) settled: Vec<Kind>,
    pub(super) mark: Mark,
    pub(super) at: Timestamp,
}

impl Session<'_> {
    pub(super) fn create(&mut self, creation: &Creation) -> Result<(), WriteError> {
        let new = &creation.run;
        let plan = self.plan(&new.plan_hash, &new.plan)?;
        let ended = new.mark.phase.is_ended();
        let number = self.numbers.next(self.me.epoch);
        let created = self
            .connection
            .prepare_cached(
                "INSERT INTO runs (id, workflow, version, plan, durability, principal, tenant, labels,
                     client_key, retry_of, created, phase, failure, ended, owner, number, masked)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                new.id.as_str(),
                new.workflow,
                new.version,
                plan,
                durability_text(new.durability),
                new.principal,
                new.tenant,
                creation.labels,
                new.client_key,
                new.retry_of.as_ref().map(RunId::as_str),
                new.at.as_micros(),
                new.mark.phase.as_str(),
                new.mark.failure,
                ended.then_some(creation.updated.as_micros()),
                self.me.epoch,
                number,
                new.masked,
            ])?;
        if created == 0 {
            return Err(self.conflict(new)?.into());
        }
        let known = Known {
            number,
            next: creation.events.count,
            phase: new.mark.phase,
            failure: new.mark.failure.clone(),
            seen: self.version,
        };
        // A row without events would be in the way of the first that has some.
        if creation.events.count > 0 {
            self.log(&Row {
                run: known.number,
                first: 0,
                at: creation.updated,
                due: new.mark.due,
                events: &creation.events,
                is_ours: true,
            })?;
        }
        self.values(known.number, &creation.events.values)?;
        if ended {
            self.ended.add(known.number);
        }
        self.cache.insert(new.id.clone(), known);
        Ok(())
    }

    fn plan(&self, hash: &str, plan: &str) -> rusqlite::Result<i64> {
        let find = "SELECT number FROM plans WHERE hash = ?1";
        let known = self
            .connection
            .prepare_cached(find)?
            .query_row([hash], |row| row.get(0))
            .optional()?;
        if let Some(number) = known {
            return Ok(number);
        }
        self.connection
            .prepare_cached("INSERT INTO plans (hash, plan) VALUES (?1, ?2)")?
            .execute([hash, plan])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Why a run was not created: its name or its key is taken.
    fn conflict(&self, new: &NewRun) -> rusqlite::Result<JournalError> {
        let holder: Option<String> = self
            .connection
            .prepare_cached(
                "SELECT id FROM runs WHERE client_key = ?1 AND workflow = ?2
                     AND coalesce(principal, '') = coalesce(?3, '') AND id <> ?4",
            )?
            .query_row(
                params![new.client_key, new.workflow, new.principal, new.id.as_str()],
                |row| row.get(0),
            )
            .optional()?;
        Ok(match holder {
            Some(holder) => JournalError::KeyTaken {
                run: RunId::new(holder),
            },
            None => JournalError::Exists {
                run: new.id.clone(),
            },
        })
    }

    pub(super) fn append(&mut self, addition: &Addition) -> Result<(), WriteError> {
        let known = self.known(&addition.run, addition.first)?;
        let added = self.log(&Row {
            run: known.number,
            first: addition.first,
            at: addition.at,
            due: addition.mark.due,
            events: &addition.events,
            is_ours: known.seen == self.version,
        })?;
        if added == 0 {
            self.cache.remove(&addition.run);
            return Err(self.not_ours(&addition.run)?.into());
        }
        if !addition.events.values.is_empty() {
            self.values(known.number, &addition.events.values)?;
        }
        for kind in &addition.settled {
            self.settle(known.number, *kind)?;
        }
        self.mark(&known, addition)?;
        let known = Known {
            next: known.next + addition.events.count,
            phase: addition.mark.phase,
            failure: addition.mark.failure.clone(),
            seen: self.version,
            ..known
        };
        match self.cache.get_mut(&addition.run) {
            Some(own) => *own = known,
            None => drop(self.cache.insert(addition.run.clone(), known)),
        }
        Ok(())
    }

    /// The run as we know it, if `first` is its next event; what is remembered is checked before it refuses anything.
    fn known(&mut self, run: &RunId, first: u64) -> Result<Known, WriteError> {
        if let Some(known) = self.cache.get(run)
            && known.next == first
        {
            return Ok(known.clone());
        }
        let known = self.recall(run)?;
        if known.next == first {
            return Ok(known);
        }
        Err(JournalError::OutOfOrder {
            run: run.clone(),
            expected: known.next,
            got: first,
        }
        .into())
    }

    fn recall(&self, run: &RunId) -> Result<Known, WriteError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT number, phase, failure, owner = ?2 AND parked = 0,
                     coalesce((SELECT first + count FROM log WHERE run = runs.number
                               ORDER BY first DESC LIMIT 1), events)
                 FROM runs WHERE id = ?1",
            )?
            .query_row(params![run.as_str(), self.me.epoch], |row| {
                let ours: bool = row.get(3)?;
                let known = Known {
                    number: row.get(0)?,
                    next: row.get(4)?,
                    phase: phase_from(row.get_ref(1)?.as_str()?),
                    failure: row.get(2)?,
                    seen: self.version,
                };
                Ok((ours, known))
            })
            .optional()?;
        match found {
            Some((true, known)) => Ok(known),
            Some((false, _)) => Err(JournalError::Fenced { run: run.clone() }.into()),
            None => Err(JournalError::UnknownRun { run: run.clone() }.into()),
        }
    }

    fn not_ours(&self, run: &RunId) -> rusqlite::Result<JournalError> {
        Ok(match self.number(run)? {
            Some(_) => JournalError::Fenced { run: run.clone() },
            None => JournalError::UnknownRun { run: run.clone() },
        })
    }

    pub(super) fn number(&self, run: &RunId) -> rusqlite::Result<Option<i64>> {
        self.connection
            .prepare_cached("SELECT number FROM runs WHERE id = ?1")?
            .query_row([run.as_str()], |row| row.get(0))
            .optional()
    }

    fn log(&mut self, row: &Row<'_>) -> rusqlite::Result<usize> {
        let values = params![
            row.run,
            row.first,
            row.events.count,
            self.me.epoch,
            FORM,
            row.at.as_micros(),
            row.due.map(Timestamp::as_micros),
            row.events.lines,
        ];
        // `OR FAIL`: one row needs no journal of its statement, which a select would else be given.
        if !row.is_ours {
            let sql = "INSERT OR FAIL INTO log (run, first, count, epoch, form, at, due, events)
                 SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
                 WHERE EXISTS (SELECT 1 FROM runs WHERE number = ?1 AND owner = ?4 AND parked = 0)";
            return self.connection.prepare_cached(sql)?.execute(values);
        }
        let insert = match &mut self.insert {
            Some(insert) => insert,
            none => none.insert(self.connection.prepare_cached(
                "INSERT OR FAIL INTO log (run, first, count, epoch, form, at, due, events)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?),
        };
        insert.execute(values)
    }

    fn values(&self, run: i64, values: &[BigValue]) -> rusqlite::Result<()> {
        for value in values {
            self.connection
                .prepare_cached(
                    "INSERT INTO stored_values (hash, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                )?
                .execute(params![value.hash, value.body])?;
            self.connection
                .prepare_cached(
                    "INSERT INTO value_uses (run, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                )?
                .execute(params![run, value.hash])?;
        }
        Ok(())
    }

    /// The row of the run changes only when its phase does: most appends touch the log alone.
    fn mark(&mut self, known: &Known, addition: &Addition) -> rusqlite::Result<()> {
        let mark = &addition.mark;
        let was_ended = known.phase.is_ended();
        if mark.phase == known.phase && mark.failure == known.failure && !was_ended {
            return Ok(());
        }
        let ended = mark.phase.is_ended();
        self.connection
            .prepare_cached(
                "UPDATE runs SET phase = ?2, failure = ?3, compacted = 0, ended = coalesce(ended, ?4)
                 WHERE number = ?1 AND owner = ?5",
            )?
            .execute(params![
                known.number,
                mark.phase.as_str(),
                mark.failure,
                ended.then_some(addition.at.as_micros()),
                self.me.epoch,
            ])?;
        if ended && !was_ended {
            self.connection
                .prepare_cached("DELETE FROM inbox WHERE run = ?1")?
                .execute([known.number])?;
        }
        if ended {
            self.ended.add(known.number);
        }
        Ok(())
    }

    fn settle(&self, run: i64, kind: Kind) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "DELETE FROM inbox WHERE number = (SELECT min(number) FROM inbox
                     WHERE run = ?1 AND taker = ?2 AND kind = ?3)",
            )?
            .execute(params![run, self.me.epoch, kind.as_str()])?;
        Ok(())
    }

    /// The owner of a run, whether it is parked, and whether it has ended.
    fn holder(&self, run: &RunId) -> Result<(u64, bool, bool), WriteError> {
        let found: Option<(u64, bool, bool)> = self
            .connection
            .prepare_cached("SELECT owner, parked, ended IS NOT NULL FROM runs WHERE id = ?1")?
            .query_row([run.as_str()], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        found.ok_or_else(|| JournalError::UnknownRun { run: run.clone() }.into())
    }

    /// Takes over a run that is free. `false`: another process was first.
    pub(super) fn claim(&mut self, run: &RunId, now: Timestamp) -> Result<bool, WriteError> {
        let (owner, parked, ended) = self.holder(run)?;
        let mut deaths = Deaths::new(self.connection, self.me, now);
        if ended || !(parked || deaths.is_dead(owner)?) {
            return Ok(false);
        }
        // Invariant: nobody else writes between the look and this, and yet the statement stands by itself.
        let claimed = self
            .connection
            .prepare_cached(
                "UPDATE runs SET owner = ?2, parked = 0
                 WHERE id = ?1 AND owner = ?3 AND parked = ?4 AND ended IS NULL",
            )?
            .execute(params![run.as_str(), self.me.epoch, owner, parked])?;
        if claimed == 0 {
            return Ok(false);
        }
        let known = self.recall(run)?;
        self.cache.insert(run.clone(), known);
        Ok(true)
    }

    pub(super) fn rebind(
        &mut self,
        run: &RunId,
        plan: &StoredPlan,
        now: Timestamp,
    ) -> Result<bool, WriteError> {
        let (owner, parked, ended) = self.holder(run)?;
        let mut deaths = Deaths::new(self.connection, self.me, now);
        if ended || !(parked || owner == self.me.epoch || deaths.is_dead(owner)?) {
            return Ok(false);
        }
        let number = self.plan(&plan.hash, &plan.text)?;
        self.connection
            .prepare_cached("UPDATE runs SET plan = ?2 WHERE id = ?1")?
            .execute(params![run.as_str(), number])?;
        Ok(true)
    }

    pub(super) fn park(&mut self, run: &RunId, due: Option<Timestamp>) -> Result<(), WriteError> {
        let parked = self
            .connection
            .prepare_cached(
                "UPDATE runs SET parked = 1, due = ?2
                 WHERE id = ?1 AND owner = ?3 AND parked = 0 AND ended IS NULL",
            )?
            .execute(params![
                run.as_str(),
                due.map(Timestamp::as_micros),
                self.me.epoch
            ])?;
        self.cache.remove(run);
        if parked == 1 {
            return Ok(());
        }
        self.recall(run)?;
        Err(JournalError::Ended { run: run.clone() }.into())
    }

    /// Holds a run whose events this build cannot read.
    pub(super) fn hold(&mut self, run: &RunId) -> Result<(), WriteError> {
        self.connection
            .prepare_cached("UPDATE runs SET phase = ?2 WHERE id = ?1 AND owner = ?3")?
            .execute(params![run.as_str(), Phase::Held.as_str(), self.me.epoch])?;
        self.cache.remove(run);
        Ok(())
    }
}

struct Row<'a> {
    run: i64,
    first: u64,
    at: Timestamp,
    due: Option<Timestamp>,
    events: &'a Encoded,
    /// Nobody can have taken the run since it was last found ours.
    is_ours: bool,
}
