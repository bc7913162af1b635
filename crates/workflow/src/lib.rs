//! THE representation of a workflow, whatever dialect it came from: steps, policies, expressions,
//! their evaluation, the checks, and `bind` to a tool catalog.
//!
//! Pure: no I/O, no clock, no environment. It does not know dialects, and the engine's state reaches
//! expressions only through `scope::Scope`.
#![deny(clippy::disallowed_methods)]

pub mod builder;
pub mod catalog;
pub mod check;
pub mod coerce;
pub mod derive;
pub mod draft;
pub mod evaluate;
pub mod expression;
pub mod graph;
pub mod limits;
pub mod lock;
pub mod name;
pub mod output;
pub mod parameters;
mod plain;
pub mod plan;
pub mod policy;
pub mod print;
mod reads;
pub mod scope;
pub mod step;
pub mod stored;
pub mod workflow;
