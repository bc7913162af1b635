//! Configuration files: as written, and as used (`settings`).
//!
//! Pure: texts and environment values are handed in; nobody reads the environment below `cli`.
#![deny(clippy::disallowed_methods)]

mod access;
mod backend;
mod backend_auth;
pub mod environment;
mod headers;
pub mod key_table;
mod keys;
mod limits;
pub mod literal;
mod mcp_servers;
mod onecall;
mod portability;
mod prefix;
pub mod reach;
mod read;
mod recognise;
mod resources;
pub mod schema;
pub mod settings;
pub mod status;
mod store;
mod substitute;
mod suite;
mod taken;
mod toolhive;
mod withhold;
mod workloads;

pub use onecall_dialects::dialect::CONFIGURATIONS;
pub use onecall_dialects::mcptest::Compat;
pub use portability::portability;
pub use read::{Input, Options, read, references, survey};
pub use recognise::is_recognised;
pub use store::store_scheme;
pub use substitute::Environment;
pub use suite::in_words_of_suites;
pub use withhold::{Withheld, WithheldKind};
