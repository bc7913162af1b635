//! Dialects: a document in some dialect becomes `Workflow`s or diagnostics.
//!
//! Pure. A dialect does not know the others, nor the engine.
#![deny(clippy::disallowed_methods)]

pub mod dialect;
pub mod limits;
pub mod toolhive;
