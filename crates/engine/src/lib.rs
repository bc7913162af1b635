//! The engine: a pure decider (`decide`, `evolve`, `outstanding`), what it asks of the outside
//! (`World`, `Journal`), and the driver that performs what is outstanding.
//!
//! It never asks where a workflow came from, reads no clock and no file: time and seeds arrive in inputs.
#![deny(clippy::disallowed_methods)]

pub mod decide;
pub mod driver;
pub mod evaluate;
pub mod event;
pub mod evolve;
pub mod failure;
pub mod identity;
pub mod inquiry;
pub mod journal;
pub mod limits;
pub mod outstanding;
pub mod result;
pub mod scripted;
pub mod state;
pub mod usage;
pub mod view;
pub mod weight;
pub mod world;
