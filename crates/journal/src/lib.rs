//! Stores of runs: `engine::Journal` in memory and in SQLite, held to one conformance suite.
//!
//! SQL is named in this crate only. Nothing here decides anything about a run; it keeps what was decided.

mod export;
mod inbox;
mod limits;
mod memory;
mod open;
mod owner;
pub mod private;
mod record;
mod seal;
mod sqlite;
#[cfg(test)]
mod suite;

pub use export::{ImportError, export, import};
pub use memory::{MemoryJournal, MemoryStore};
pub use open::{OpenStoreError, Options, Retention, open};
pub use seal::{SealKey, SealKeyError};
pub use sqlite::{Counts, SqliteJournal};
