//! Dialects: a document in some dialect becomes `Workflow`s or diagnostics.
//!
//! Pure. A dialect does not know the others, nor the engine.
#![deny(clippy::disallowed_methods)]

mod arguments;
pub mod dialect;
mod duration;
mod failures;
pub mod limits;
pub mod mcptest;
mod mock;
mod name;
pub mod native;
mod output;
mod schema_places;
pub mod toolhive;
mod words;
