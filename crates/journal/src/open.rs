//! Opening a store: where it lies, how long a lease holds, what is kept, and what may go wrong.

use crate::private::{ChosenBy, NotPrivateError};
use crate::seal::{SealKey, SealKeyError};
use crate::sqlite;
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::Journal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Options {
    pub path: PathBuf,
    /// Who chose the path: what is refused of the files there depends on it.
    pub chosen_by: ChosenBy,
    /// The time now: the first sign of life of this opener.
    pub now: Timestamp,
    /// How long this opener may stay silent before others take its runs.
    pub lease: Duration,
    pub retention: Retention,
    /// The store refuses to grow beyond this.
    pub bytes_max: Option<u64>,
    /// What sensitive values are sealed with. `None`: the key in the file beside the store, made where there is none.
    pub seal_key: Option<SealKey>,
}

impl Options {
    pub fn new(path: impl AsRef<Path>, now: Timestamp) -> Self {
        Self {
            path: path.as_ref().to_path_buf(),
            chosen_by: ChosenBy::Program,
            now,
            lease: Duration::from_secs(10),
            retention: Retention::default(),
            bytes_max: None,
            seal_key: None,
        }
    }
}

/// How much is kept of finished runs; the oldest go first. Unfinished runs always stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub age_max: Duration,
    pub runs_max: u64,
    pub bytes_max: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            age_max: Duration::from_hours(7 * 24),
            runs_max: 10_000,
            bytes_max: 1024 * 1024 * 1024,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    #[error("the store is not safe to use")]
    NotPrivate(#[from] NotPrivateError),
    #[error("cannot create the store `{path}`")]
    Create {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("cannot open the store `{path}`")]
    Open {
        path: PathBuf,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error(
        "the store `{path}` is read-only; give this user the right to write the file and its directory, or name another \
         file for the store"
    )]
    ReadOnly { path: PathBuf },
    #[error("`{path}` is a database of another program; name another file for the store")]
    Foreign { path: PathBuf },
    #[error(
        "the store `{path}` was written by a newer version ({found}; this one reads up to {known}); \
         use that version, or name another file for the store"
    )]
    TooNew {
        path: PathBuf,
        found: u64,
        known: u64,
    },
    #[error(
        "the store `{path}` lies on a file system without shared memory; name a file on a local disk"
    )]
    NoSharedMemory { path: PathBuf },
    #[error("cannot bring the store `{path}` to version {version}")]
    Migrate {
        path: PathBuf,
        version: u64,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("cannot seal what the store `{path}` holds")]
    Key {
        path: PathBuf,
        #[source]
        cause: SealKeyError,
    },
    #[error("cannot start a thread for the store")]
    Thread(#[source] std::io::Error),
}

/// Opens the SQLite store at `options.path`; makes it where there is none. Blocks until it is ready.
pub fn open(options: Options) -> Result<Arc<dyn Journal>, OpenStoreError> {
    Ok(Arc::new(sqlite::SqliteJournal::open(options)?))
}
