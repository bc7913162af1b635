//! The thread that reads: loading, listing, finding what may be claimed. It never waits for the writer.

use super::owners::{Deaths, Me};
use crate::limits;
use crate::record::{self, DecodeError, Hash, durability_from, phase_from};
use crate::seal::Sealer;
use onecall_engine::event::Event;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Filter, JournalError, OpenRun, Order, StoredPlan, StoredRun, Summary,
};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) connection: Connection,
    pub(super) me: Me,
    pub(super) sealer: Arc<Sealer>,
}

/// A run as it was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) run: StoredRun,
    pub(super) is_sealed: bool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error(transparent)]
    Failed(#[from] rusqlite::Error),
    #[error(transparent)]
    Unreadable(#[from] DecodeError),
}

const COLUMNS: &str =
    "runs.number, id, workflow, version, phase, created, updated, ended, due, failure,
    principal, tenant, labels, client_key, retry_of, events, parked, durability, masked";

impl Reader {
    /// All that is read of a run is read in one transaction: it may be compacted at any time.
    pub(super) fn load(&self, run: &RunId) -> Result<Option<Loaded>, JournalError> {
        let read = || {
            let transaction = self.connection.unchecked_transaction()?;
            let loaded = self.load_inside(run)?;
            transaction.finish()?;
            Ok(loaded)
        };
        read().map_err(|error| match error {
            ReadError::Failed(error) => super::writer::store_error("read", &error),
            ReadError::Unreadable(reason) => JournalError::Unreadable {
                run: run.clone(),
                reason: reason.to_string(),
            },
        })
    }

    fn load_inside(&self, run: &RunId) -> Result<Option<Loaded>, ReadError> {
        let sql = format!(
            "SELECT {COLUMNS}, plans.hash, plans.plan FROM runs JOIN plans ON plans.number = runs.plan
             WHERE id = ?1"
        );
        let found = self
            .connection
            .prepare_cached(&sql)?
            .query_row([run.as_str()], |row| {
                let durability: String = row.get(17)?;
                let hash: String = row.get(19)?;
                let plan: String = row.get(20)?;
                Ok((Listed::read(row)?, durability, hash, plan))
            })
            .optional()?;
        let Some((listed, durability, plan_hash, plan)) = found else {
            return Ok(None);
        };
        let (events, is_sealed) = self.events(listed.number, run)?;
        let run = StoredRun {
            summary: self.complete(listed)?,
            plan: Arc::from(plan),
            plan_hash,
            // A durability of a later version counts as the strictest of this one.
            durability: durability_from(&durability)
                .unwrap_or(onecall_workflow::policy::Durability::Sync),
            events,
        };
        Ok(Some(Loaded { run, is_sealed }))
    }

    pub(super) fn plan(&self, run: &RunId) -> rusqlite::Result<Option<StoredPlan>> {
        self.connection
            .prepare_cached(
                "SELECT hash, plans.plan FROM runs JOIN plans ON plans.number = runs.plan WHERE id = ?1",
            )?
            .query_row([run.as_str()], |row| {
                Ok(StoredPlan {
                    hash: row.get(0)?,
                    text: row.get(1)?,
                })
            })
            .optional()
    }

    /// The events, and whether any of them is sealed.
    fn events(&self, number: i64, run: &RunId) -> Result<(Vec<Event>, bool), ReadError> {
        let mut events = Vec::new();
        let mut is_sealed = false;
        let seal = self.sealer.of(run);
        for sql in [
            "SELECT form, events FROM archive WHERE run = ?1",
            "SELECT form, events FROM log WHERE run = ?1 ORDER BY first",
        ] {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([number])?;
            while let Some(row) = rows.next()? {
                let lines = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
                is_sealed |= record::is_sealed(lines);
                let form = row.get(0)?;
                let batch = record::decode(form, lines, seal, &mut |hash| Ok(self.value(hash)?));
                events.extend(batch.map_err(|error: ReadError| error)?);
            }
        }
        Ok((events, is_sealed))
    }

    fn value(&self, hash: Hash) -> rusqlite::Result<Option<Vec<u8>>> {
        self.connection
            .prepare_cached("SELECT body FROM stored_values WHERE hash = ?1")?
            .query_row([hash], |row| row.get(0))
            .optional()
    }

    pub(super) fn list(&self, filter: &Filter) -> Result<Vec<Summary>, rusqlite::Error> {
        let query = Query::new(filter);
        let transaction = self.connection.unchecked_transaction()?;
        let mut statement = self.connection.prepare(&query.sql)?;
        let values: Vec<&dyn ToSql> = query.values.iter().map(AsRef::as_ref).collect();
        let mut rows = statement.query(values.as_slice())?;
        let mut summaries = Vec::new();
        while let Some(row) = rows.next()? {
            summaries.push(self.complete(Listed::read(row)?)?);
        }
        drop(rows);
        drop(statement);
        transaction.finish()?;
        Ok(summaries)
    }

    /// While a run is not compacted, the last row of the log knows more than its own.
    fn complete(&self, listed: Listed) -> rusqlite::Result<Summary> {
        let Listed {
            number,
            parked,
            mut summary,
        } = listed;
        let last: Option<(u64, u64, Option<u64>)> = self
            .connection
            .prepare_cached(
                "SELECT at, first + count, due FROM log WHERE run = ?1 ORDER BY first DESC LIMIT 1",
            )?
            .query_row([number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        if let Some((at, count, due)) = last {
            summary.updated = Timestamp::from_micros(at);
            summary.event_count = count;
            if !parked {
                summary.due = due.map(Timestamp::from_micros);
            }
        }
        Ok(summary)
    }

    /// The lengths of blobs are read without the blobs.
    pub(super) fn open_runs(&self, now: Timestamp) -> rusqlite::Result<Vec<OpenRun>> {
        let mut deaths = Deaths::new(&self.connection, &self.me, now);
        let mut statement = self.connection.prepare_cached(
            "SELECT id, principal,
                coalesce((SELECT sum(length(events)) FROM log WHERE run = runs.number), 0)
                + coalesce((SELECT sum(length(body)) FROM value_uses
                    JOIN stored_values ON stored_values.hash = value_uses.hash
                    WHERE value_uses.run = runs.number), 0),
                owner, parked, (SELECT hash FROM plans WHERE plans.number = runs.plan)
             FROM runs INDEXED BY runs_open WHERE compacted = 0 AND ended IS NULL",
        )?;
        let mut rows = statement.query([])?;
        let mut open = Vec::new();
        while let Some(row) = rows.next()? {
            let owner = row.get(3)?;
            let parked: bool = row.get(4)?;
            open.push(OpenRun {
                id: RunId::new(row.get::<_, String>(0)?),
                principal: row.get(1)?,
                bytes: row.get(2)?,
                plan_hash: row.get(5)?,
                is_left: parked || owner != self.me.epoch && deaths.is_dead(owner)?,
            });
        }
        Ok(open)
    }

    pub(super) fn bytes(&self) -> rusqlite::Result<u64> {
        self.connection
            .prepare_cached(
                "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
            )?
            .query_row([], |row| row.get(0))
    }

    pub(super) fn claimable(&self, now: Timestamp) -> rusqlite::Result<Vec<RunId>> {
        let mut deaths = Deaths::new(&self.connection, &self.me, now);
        let mut owners = self.connection.prepare_cached(
            "SELECT DISTINCT owner FROM runs WHERE compacted = 0 AND ended IS NULL",
        )?;
        let owners: Vec<u64> = owners
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let mut found: Vec<(u64, i64, RunId)> = Vec::new();
        for owner in owners {
            let ours = owner == self.me.epoch;
            if !ours && !deaths.is_dead(owner)? {
                continue;
            }
            // What is ours and not parked is being worked on; what is parked waits for its time.
            let mut statement = self.connection.prepare_cached(
                "SELECT created, number, id FROM runs
                 WHERE compacted = 0 AND ended IS NULL AND owner = ?1 AND CASE parked WHEN 1 THEN due <= ?2 ELSE ?3 END
                 ORDER BY created, number LIMIT ?4",
            )?;
            let rows = statement.query_map(
                params![owner, now.as_micros(), !ours, limits::CLAIMABLE_MAX],
                |row| {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        RunId::new(row.get::<_, String>(2)?),
                    ))
                },
            )?;
            for row in rows {
                found.push(row?);
            }
        }
        found.sort();
        found.truncate(limits::CLAIMABLE_MAX);
        Ok(found.into_iter().map(|(_, _, run)| run).collect())
    }

    /// Whether `commands` may find anything: a look that needs no lock.
    pub(super) fn has_commands(&self) -> rusqlite::Result<bool> {
        self.connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM inbox WHERE taker IS NULL OR taker <> ?1)",
            )?
            .query_row([self.me.epoch], |row| row.get(0))
    }

    /// The commands to a run, oldest first; those of a later version are left out.
    pub(super) fn told(&self, run: &RunId) -> rusqlite::Result<Vec<Order>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT what FROM inbox WHERE run = (SELECT number FROM runs WHERE id = ?1)
             ORDER BY number",
        )?;
        let mut told = Vec::new();
        let mut rows = statement.query([run.as_str()])?;
        while let Some(row) = rows.next()? {
            let text = row.get_ref(0)?.as_str().unwrap_or_default();
            let text = record::open_text(text, self.sealer.of(run)).unwrap_or_default();
            told.extend(serde_json::from_str::<Order>(&text).ok());
        }
        Ok(told)
    }

    pub(super) fn kept(&self, name: &str) -> rusqlite::Result<Option<String>> {
        self.connection
            .prepare_cached("SELECT value FROM kept WHERE name = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()
    }
}

/// A row of `runs`, before the log was asked.
struct Listed {
    number: i64,
    parked: bool,
    summary: Summary,
}

impl Listed {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let time = |index| -> rusqlite::Result<Option<Timestamp>> {
            Ok(row
                .get::<_, Option<u64>>(index)?
                .map(Timestamp::from_micros))
        };
        let created = Timestamp::from_micros(row.get(5)?);
        let labels: String = row.get(12)?;
        let parked = row.get(16)?;
        let summary = Summary {
            id: RunId::new(row.get::<_, String>(1)?),
            workflow: row.get(2)?,
            version: row.get(3)?,
            phase: phase_from(row.get_ref(4)?.as_str()?),
            created,
            updated: time(6)?.unwrap_or(created),
            ended: time(7)?,
            due: if parked { time(8)? } else { None },
            failure: row.get(9)?,
            principal: row.get(10)?,
            tenant: row.get(11)?,
            labels: serde_json::from_str(&labels).unwrap_or_default(),
            client_key: row.get(13)?,
            retry_of: row.get::<_, Option<String>>(14)?.map(RunId::new),
            masked: row.get(18)?,
            event_count: row.get(15)?,
        };
        Ok(Self {
            number: row.get(0)?,
            parked,
            summary,
        })
    }
}

/// A list with its conditions. Only fixed text goes into the SQL; what users wrote goes into values.
struct Query {
    sql: String,
    values: Vec<Box<dyn ToSql>>,
}

impl Query {
    fn new(filter: &Filter) -> Self {
        let mut query = Self {
            sql: format!("SELECT {COLUMNS} FROM runs WHERE 1"),
            values: Vec::new(),
        };
        let texts = [
            (" AND workflow = ?", &filter.workflow),
            (" AND client_key = ?", &filter.client_key),
            (" AND principal = ?", &filter.principal),
        ];
        for (condition, text) in texts {
            if let Some(text) = text {
                query.add(condition, text.clone());
            }
        }
        if filter.no_principal {
            query.sql.push_str(" AND principal IS NULL");
        }
        if let Some(run) = &filter.retry_of {
            query.add(" AND retry_of = ?", run.as_str().to_owned());
        }
        for (condition, time) in [
            (" AND created >= ?", filter.since),
            (" AND created < ?", filter.until),
        ] {
            if let Some(time) = time {
                query.add(condition, time.as_micros());
            }
        }
        if !filter.phases.is_empty() {
            query.sql.push_str(" AND phase IN (NULL");
            for phase in &filter.phases {
                query.add(", ?", phase.as_str());
            }
            query.sql.push(')');
        }
        for (name, value) in &filter.labels {
            query.add(
                " AND EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ?",
                name.clone(),
            );
            query.add(" AND value = ?", value.clone());
            query.sql.push(')');
        }
        let limit = match filter.limit {
            0 => limits::LIST_DEFAULT,
            limit => limit.min(limits::LIST_MAX),
        };
        query.add(" ORDER BY created DESC, number DESC LIMIT ?", limit);
        query
    }

    fn add(&mut self, sql: &str, value: impl ToSql + 'static) {
        self.sql.push_str(sql);
        self.values.push(Box::new(value));
    }
}
