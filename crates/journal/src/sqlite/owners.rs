//! Rows of `owners`: joining, showing life, leaving, and who is dead.

use crate::owner::{Owner, Process};
use onecall_engine::identity::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::time::Duration;

/// Who this opener is.
#[derive(Clone, Debug)]
pub(super) struct Me {
    pub(super) epoch: u64,
    pub(super) process: Option<Process>,
    pub(super) lease: Duration,
}

impl Me {
    pub(super) fn host(&self) -> Option<&str> {
        self.process.as_ref().map(|process| process.host.as_str())
    }
}

pub(super) fn join(
    connection: &Connection,
    lease: Duration,
    now: Timestamp,
) -> rusqlite::Result<Me> {
    let mut me = Me {
        epoch: 0,
        process: Process::this(),
        lease,
    };
    insert(connection, &me, None, now)?;
    me.epoch = connection.last_insert_rowid().unsigned_abs();
    Ok(me)
}

fn insert(
    connection: &Connection,
    me: &Me,
    epoch: Option<u64>,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let process = me.process.as_ref();
    connection.execute(
        "INSERT INTO owners (epoch, host, pid, process_started, opened, seen, lease)
         VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)",
        params![
            epoch,
            me.host(),
            process.map(|process| process.pid),
            process.map(|process| process.started),
            now.as_micros(),
            Timestamp::default().plus(me.lease).as_micros(),
        ],
    )?;
    Ok(())
}

/// An owner that was given up for dead and forgotten may come back; runs that nobody took are still its own.
pub(super) fn show_life(connection: &Connection, me: &Me, now: Timestamp) -> rusqlite::Result<()> {
    let known = connection
        .prepare_cached("UPDATE owners SET seen = ?2, has_left = 0 WHERE epoch = ?1")?
        .execute(params![me.epoch, now.as_micros()])?;
    match known {
        0 => insert(connection, me, Some(me.epoch), now),
        _ => Ok(()),
    }
}

pub(super) fn leave(connection: &Connection, me: &Me) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE owners SET has_left = 1 WHERE epoch = ?1",
        [me.epoch],
    )?;
    Ok(())
}

/// Tells who is dead, and looks at each owner once.
#[derive(Debug)]
pub(super) struct Deaths<'a> {
    connection: &'a Connection,
    me: &'a Me,
    now: Timestamp,
    known: BTreeMap<u64, bool>,
}

impl<'a> Deaths<'a> {
    pub(super) fn new(connection: &'a Connection, me: &'a Me, now: Timestamp) -> Self {
        // Whoever asks is alive.
        let known = BTreeMap::from([(me.epoch, false)]);
        Self {
            connection,
            me,
            now,
            known,
        }
    }

    pub(super) fn is_dead(&mut self, epoch: u64) -> rusqlite::Result<bool> {
        if let Some(is_dead) = self.known.get(&epoch) {
            return Ok(*is_dead);
        }
        let owner = self
            .connection
            .prepare_cached(
                "SELECT host, pid, process_started, seen, lease, has_left
                 FROM owners WHERE epoch = ?1",
            )?
            .query_row([epoch], read)
            .optional()?;
        let is_dead = owner.is_none_or(|owner| owner.is_dead(self.now, self.me.host()));
        self.known.insert(epoch, is_dead);
        Ok(is_dead)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Owner> {
    let host: Option<String> = row.get(0)?;
    let pid: Option<u32> = row.get(1)?;
    let started: Option<u64> = row.get(2)?;
    let process = match (host, pid, started) {
        (Some(host), Some(pid), Some(started)) => Some(Process { host, pid, started }),
        _ => None,
    };
    Ok(Owner {
        process,
        seen: Timestamp::from_micros(row.get(3)?),
        lease: Duration::from_micros(row.get(4)?),
        left: row.get(5)?,
    })
}
