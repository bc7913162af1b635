//! The file of a store: made, recognised, brought up to date, and set up for one connection.

use crate::limits;
use crate::open::OpenStoreError;
use crate::private::{self, ChosenBy, NotPrivateError, Rules};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// One script for each version, in order. A published one is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001-first.sql"),
    include_str!("../../migrations/sqlite/0002-fewer-pages.sql"),
    include_str!("../../migrations/sqlite/0003-masked.sql"),
];

/// Says in the header of the file whose database it is.
const APPLICATION: i64 = 0x6f6e_6563;

pub(super) const VERSION: u64 = MIGRATIONS.len() as u64;

/// Makes the file where there is none, checks it and brings it up to date. The connection is the writer's.
pub(super) fn prepare(
    path: &Path,
    chosen_by: ChosenBy,
    bytes_max: Option<u64>,
) -> Result<Connection, OpenStoreError> {
    check_private(path, chosen_by)?;
    create_file(path).map_err(|cause| OpenStoreError::Create {
        path: path.to_path_buf(),
        cause,
    })?;
    let mut connection = connect(path).map_err(|cause| open_error(path, cause))?;
    check_origin(&connection, path)?;
    // Acts on a file that has no page yet. Appends that are written together fill several small pages.
    connection
        .pragma_update(None, "page_size", limits::PAGE_BYTES)
        .map_err(|cause| open_error(path, cause))?;
    switch_to_wal(&connection, path)?;
    migrate(&mut connection, path)?;
    set_up_writer(&connection, bytes_max).map_err(|cause| open_error(path, cause))?;
    Ok(connection)
}

/// A further connection to a file that is known to be good.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(limits::LOCK_WAIT_MAX)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Else the planner may look at bound values for a partial index, and prepares anew at every step.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// What SQLite puts next to a store, and reads before our code does.
const NEXT_TO_IT: [&str; 3] = ["-wal", "-shm", "-journal"];

fn check_private(path: &Path, chosen_by: ChosenBy) -> Result<(), NotPrivateError> {
    private::check(path, Rules::of(chosen_by))?;
    // SQLite follows a link and puts the files next to what it leads to.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for ending in NEXT_TO_IT {
        let mut name = real.as_os_str().to_owned();
        name.push(ending);
        private::check(Path::new(&name), Rules::next_to(chosen_by))?;
    }
    Ok(())
}

/// Only the user may read what runs hold. The files beside it get the same rights from SQLite.
fn create_file(path: &Path) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut create = std::fs::OpenOptions::new();
    create.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut create, 0o600);
    match create.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Before anything is written: is it ours, and not newer than we are?
fn check_origin(connection: &Connection, path: &Path) -> Result<(), OpenStoreError> {
    // In one transaction: another process may be making the store just now.
    let look = || -> rusqlite::Result<(i64, bool)> {
        let transaction = connection.unchecked_transaction()?;
        let is_empty =
            connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
                row.get(0)
            })?;
        let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        transaction.finish()?;
        Ok((application, is_empty))
    };
    match look() {
        Ok((_, true) | (APPLICATION, false)) => {}
        Ok((_, false)) => {
            return Err(OpenStoreError::Foreign {
                path: path.to_path_buf(),
            });
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            return Err(OpenStoreError::Foreign {
                path: path.to_path_buf(),
            });
        }
        Err(cause) => return Err(open_error(path, cause)),
    }
    let found = version(connection).map_err(|cause| open_error(path, cause))?;
    if found > VERSION {
        return Err(too_new(path, found));
    }
    Ok(())
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))
}

/// The switch needs the file for itself and does not wait by its own: two processes may start at once.
fn switch_to_wal(connection: &Connection, path: &Path) -> Result<(), OpenStoreError> {
    let patience = Instant::now() + limits::LOCK_WAIT_MAX;
    loop {
        let mode: rusqlite::Result<String> =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {
                return Err(OpenStoreError::NoSharedMemory {
                    path: path.to_path_buf(),
                });
            }
            Err(error) if is_busy(&error) && Instant::now() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(cause) => return Err(open_error(path, cause)),
        }
    }
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenStoreError> {
    let failed = |version: u64| {
        move |cause: rusqlite::Error| OpenStoreError::Migrate {
            path: path.to_path_buf(),
            version,
            cause: cause.into(),
        }
    };
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed(VERSION))?;
    // Another process may have been first, with this version or a newer one.
    let found = version(&transaction).map_err(failed(VERSION))?;
    if found > VERSION {
        return Err(too_new(path, found));
    }
    for (next, script) in (1..).zip(MIGRATIONS) {
        if next > found {
            transaction.execute_batch(script).map_err(failed(next))?;
        }
    }
    if found < VERSION {
        transaction
            .pragma_update(None, "user_version", VERSION)
            .map_err(failed(VERSION))?;
        transaction
            .pragma_update(None, "application_id", APPLICATION)
            .map_err(failed(VERSION))?;
    }
    transaction.commit().map_err(failed(VERSION))
}

fn set_up_writer(connection: &Connection, bytes_max: Option<u64>) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", limits::WAL_PAGES_MAX)?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    if let Some(bytes_max) = bytes_max {
        let page: u64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let sql = format!("PRAGMA max_page_count = {}", (bytes_max / page).max(1));
        connection.query_row(&sql, [], |_| Ok(()))?;
    }
    Ok(())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

fn too_new(path: &Path, found: u64) -> OpenStoreError {
    OpenStoreError::TooNew {
        path: path.to_path_buf(),
        found,
        known: VERSION,
    }
}

pub(super) fn open_error(path: &Path, cause: rusqlite::Error) -> OpenStoreError {
    let is_read_only = match cause.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => true,
        // Another cause is a directory in which the files next to it cannot be made.
        Some(ErrorCode::CannotOpen) => cannot_be_written(path),
        _ => false,
    };
    if is_read_only {
        return OpenStoreError::ReadOnly {
            path: path.to_path_buf(),
        };
    }
    OpenStoreError::Open {
        path: path.to_path_buf(),
        cause: cause.into(),
    }
}

/// The file is there, and its rights or its file system keep this user from writing it.
fn cannot_be_written(path: &Path) -> bool {
    let opened = std::fs::OpenOptions::new().append(true).open(path);
    opened.is_err_and(|error| {
        matches!(
            error.kind(),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
        )
    })
}
