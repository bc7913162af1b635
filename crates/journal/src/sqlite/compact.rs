//! Finished runs: each is moved from the log into one row, and the oldest are removed in the end.
//! Both go in small batches between the appends of others.

use super::owners::Deaths;
use super::session::{Session, WriteError};
use crate::limits;
use crate::open::Retention;
use onecall_engine::identity::Timestamp;
use rusqlite::{OptionalExtension, params};

/// The events of a finished run, wherever they lie.
#[derive(Default)]
struct Gathered {
    form: Option<u32>,
    /// It cannot be one row: it is too long, or it was written in several forms.
    stays: bool,
    lines: Vec<u8>,
    count: u64,
    updated: Option<u64>,
}

impl Session<'_> {
    /// Compacts one batch. `true`: there is more.
    pub(super) fn compact(&mut self) -> Result<bool, WriteError> {
        if !self.ended.is_complete {
            self.find_left()?;
        }
        let mut moved = 0;
        for _ in 0..limits::COMPACT_MAX {
            let Some(number) = self.ended.numbers.pop_first() else {
                break;
            };
            moved += self.compact_run(number)?;
            if moved > limits::COMPACT_BYTES {
                break;
            }
        }
        // A late note to a finished run is rare and looks the run up again.
        self.cache.retain(|_, known| !known.has_ended());
        Ok(!self.ended.numbers.is_empty())
    }

    /// Runs that ended before their process did are still in the log.
    fn find_left(&mut self) -> rusqlite::Result<()> {
        let mut find = self
            .connection
            .prepare("SELECT number FROM runs WHERE compacted = 0 AND ended IS NOT NULL")?;
        for number in find.query_map([], |row| row.get(0))? {
            self.ended.numbers.insert(number?);
        }
        self.ended.is_complete = true;
        Ok(())
    }

    fn compact_run(&self, number: i64) -> rusqlite::Result<usize> {
        let wanted = "SELECT 1 FROM runs WHERE number = ?1 AND compacted = 0 AND ended IS NOT NULL";
        let mut wanted = self.connection.prepare_cached(wanted)?;
        if !wanted.exists([number])? {
            return Ok(0);
        }
        let gathered = self.gather(number)?;
        let bytes = gathered.lines.len();
        if let (Some(form), false) = (gathered.form, gathered.stays) {
            self.connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO archive (run, form, events) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![number, form, gathered.lines])?;
            self.connection
                .prepare_cached("DELETE FROM log WHERE run = ?1")?
                .execute([number])?;
        }
        self.connection
            .prepare_cached(
                "UPDATE runs SET compacted = 1, updated = coalesce(?2, updated), events = ?3,
                     bytes = ?4 + (SELECT coalesce(sum(length(body)), 0) FROM value_uses
                                   JOIN stored_values USING (hash) WHERE run = ?1)
                 WHERE number = ?1",
            )?
            .execute(params![number, gathered.updated, gathered.count, bytes])?;
        Ok(bytes)
    }

    fn gather(&self, number: i64) -> rusqlite::Result<Gathered> {
        let mut gathered = Gathered::default();
        let archived: Option<u64> = self
            .connection
            .prepare_cached(
                "SELECT form, archive.events, runs.events FROM archive
                 JOIN runs ON runs.number = archive.run WHERE run = ?1",
            )?
            .query_row([number], |row| {
                gathered.add(row.get(0)?, row.get_ref(1)?.as_blob()?);
                row.get(2)
            })
            .optional()?;
        gathered.count = archived.unwrap_or(0);
        let mut log = self.connection.prepare_cached(
            "SELECT form, events, first + count, at FROM log WHERE run = ?1 ORDER BY first",
        )?;
        let mut rows = log.query([number])?;
        while let Some(row) = rows.next()? {
            gathered.add(row.get(0)?, row.get_ref(1)?.as_blob()?);
            gathered.count = row.get(2)?;
            gathered.updated = row.get(3)?;
        }
        Ok(gathered)
    }

    /// Removes one batch of finished runs that retention does not keep, and what only they used.
    pub(super) fn retain(
        &mut self,
        now: Timestamp,
        retention: Retention,
    ) -> Result<bool, WriteError> {
        // What is still in the log is not counted.
        if self.compact()? {
            return Ok(true);
        }
        self.forget_owners(now)?;
        let (mut runs, mut bytes): (u64, u64) = self.connection.query_row(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM runs WHERE compacted = 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let oldest: Vec<(i64, u64, u64)> = self
            .connection
            .prepare_cached(
                "SELECT number, ended, bytes FROM runs WHERE compacted = 1
                 ORDER BY ended, number LIMIT ?1",
            )?
            .query_map([limits::REMOVE_MAX], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        let mut removed = 0;
        for (number, ended, run_bytes) in oldest {
            let is_old = now.since(Timestamp::from_micros(ended)) > retention.age_max;
            if !is_old && runs <= retention.runs_max && bytes <= retention.bytes_max {
                break;
            }
            self.remove(number)?;
            removed += 1;
            runs -= 1;
            bytes = bytes.saturating_sub(run_bytes);
        }
        if removed > 0 {
            self.connection.execute(
                "DELETE FROM plans WHERE NOT EXISTS (SELECT 1 FROM runs WHERE plan = plans.number)",
                [],
            )?;
        }
        Ok(removed == limits::REMOVE_MAX)
    }

    fn remove(&self, number: i64) -> rusqlite::Result<()> {
        for sql in [
            "DELETE FROM stored_values WHERE hash IN (
                 SELECT hash FROM value_uses AS mine WHERE run = ?1 AND NOT EXISTS (
                     SELECT 1 FROM value_uses AS other WHERE other.hash = mine.hash AND other.run <> ?1))",
            "DELETE FROM value_uses WHERE run = ?1",
            "DELETE FROM archive WHERE run = ?1",
            "DELETE FROM log WHERE run = ?1",
            "DELETE FROM inbox WHERE run = ?1",
            "DELETE FROM runs WHERE number = ?1",
        ] {
            self.connection.prepare_cached(sql)?.execute([number])?;
        }
        Ok(())
    }

    /// An owner that is dead and has no unfinished run need not be remembered.
    fn forget_owners(&self, now: Timestamp) -> rusqlite::Result<()> {
        let idle: Vec<u64> = self
            .connection
            .prepare_cached(
                "SELECT epoch FROM owners WHERE epoch <> ?1 AND NOT EXISTS (
                     SELECT 1 FROM runs WHERE owner = owners.epoch AND compacted = 0 AND ended IS NULL)",
            )?
            .query_map([self.me.epoch], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let mut deaths = Deaths::new(self.connection, self.me, now);
        for epoch in idle {
            if deaths.is_dead(epoch)? {
                self.connection
                    .prepare_cached("DELETE FROM owners WHERE epoch = ?1")?
                    .execute([epoch])?;
            }
        }
        Ok(())
    }
}

impl Gathered {
    fn add(&mut self, form: u32, lines: &[u8]) {
        let is_same = *self.form.get_or_insert(form) == form;
        self.stays |= !is_same || self.lines.len() + lines.len() > limits::ARCHIVE_BYTES_MAX;
        if !self.stays {
            self.lines.extend_from_slice(lines);
        }
    }
}
