//! Rows of `inbox` and `kept`: commands put in and taken out, and small named values.

use super::owners::Deaths;
use super::session::{Session, WriteError};
use crate::inbox::{self, Kind};
use crate::limits;
use crate::record;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{Command, JournalError, Order};
use rusqlite::{OptionalExtension, params};

impl Session<'_> {
    pub(super) fn tell(&self, run: &RunId, kind: Kind, what: &str) -> Result<(), WriteError> {
        let found: Option<(i64, bool)> = self
            .connection
            .prepare_cached("SELECT number, ended IS NOT NULL FROM runs WHERE id = ?1")?
            .query_row([run.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (number, ended) = found.ok_or_else(|| JournalError::UnknownRun { run: run.clone() })?;
        if ended {
            return Err(JournalError::Ended { run: run.clone() }.into());
        }
        let put = self
            .connection
            .prepare_cached(
                "INSERT INTO inbox (run, kind, what) SELECT ?1, ?2, ?3
                 WHERE (SELECT count(*) FROM inbox WHERE run = ?1) < ?4",
            )?
            .execute(params![number, kind.as_str(), what, limits::INBOX_MAX])?;
        match put {
            0 => Err(inbox::full().into()),
            _ => Ok(()),
        }
    }

    /// A command that somebody took who does not own the run by now goes to the one who does.
    pub(super) fn take(&self, now: Timestamp) -> Result<Vec<Command>, WriteError> {
        let me = self.me.epoch;
        let mut deaths = Deaths::new(self.connection, self.me, now);
        let mut find = self.connection.prepare_cached(
            "SELECT inbox.number, runs.id, runs.owner, taker, what
             FROM inbox JOIN runs ON runs.number = inbox.run
             WHERE taker IS NULL OR taker <> ?1 ORDER BY inbox.number",
        )?;
        let mut take = self
            .connection
            .prepare_cached("UPDATE inbox SET taker = ?2 WHERE number = ?1")?;
        let mut taken = Vec::new();
        let mut rows = find.query([me])?;
        let mut numbers: Vec<i64> = Vec::new();
        while let Some(row) = rows.next()?
            && taken.len() < limits::COMMANDS_MAX
        {
            let owner: u64 = row.get(2)?;
            let taker: Option<u64> = row.get(3)?;
            let is_free = match taker {
                _ if owner == me => true,
                Some(taker) => deaths.is_dead(owner)? && deaths.is_dead(taker)?,
                None => deaths.is_dead(owner)?,
            };
            if !is_free {
                continue;
            }
            let run = RunId::new(row.get::<_, String>(1)?);
            let text = row.get_ref(4)?.as_str().unwrap_or_default();
            let text = record::open_text(text, self.sealer.of(&run)).unwrap_or_default();
            match serde_json::from_str::<Order>(&text) {
                Ok(what) => {
                    taken.push(Command { run, what });
                    numbers.push(row.get(0)?);
                }
                // It stays for the version that wrote it.
                Err(error) => tracing::warn!(%error, "a command cannot be read"),
            }
        }
        for number in numbers {
            take.execute(params![number, me])?;
        }
        Ok(taken)
    }

    pub(super) fn give_back(&self, run: &RunId) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "UPDATE inbox SET taker = NULL
                 WHERE taker = ?1 AND run = (SELECT number FROM runs WHERE id = ?2)",
            )?
            .execute(params![self.me.epoch, run.as_str()])?;
        Ok(())
    }

    pub(super) fn keep(&self, name: &str, value: &str) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO kept (name, value) VALUES (?1, ?2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            )?
            .execute([name, value])?;
        Ok(())
    }
}
