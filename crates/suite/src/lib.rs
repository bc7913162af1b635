//! The test runner: reads the tests of suites, runs each row on the engine, judges it, reports.
//!
//! A front end. Reporters consume rows and never call into the runner. How compositions are read and run is left to
//! `dialects` and `runtime`; terminal and files are left to `cli`.

mod case;
mod execute;
mod judge;
mod limits;
mod matchers;
pub mod report;
pub mod row;
mod select;
mod target;

pub use case::Composition;
pub use execute::{Options, Selected, run};
pub use select::Selection;
