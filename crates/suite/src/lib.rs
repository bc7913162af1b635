//! The test runner: reads the tests of suites, runs each row on the engine, judges it, reports.
//!
//! A front end. Reporters consume rows and never call into the runner. How compositions are read and run is left to
//! `dialects` and `engine`, servers to `runtime`; terminal and files are left to `cli`.

mod baseline;
mod case;
mod difference;
mod eval;
mod execute;
mod judge;
mod limits;
mod matchers;
mod plan;
pub mod report;
pub mod row;
mod scrub;
mod select;
mod spending;
mod stage;
mod tape;
mod tapes;
mod target;

pub use baseline::{Baseline, Used};
pub use case::Composition;
pub use eval::{Judgements, ReadJudgementsError};
pub use execute::{Options, Selected, run};
pub use plan::{Projection, projection};
pub use scrub::Scrub;
pub use select::Selection;
pub use spending::{Spending, Spent};
pub use stage::Stage;
pub use tape::{ReadTapeError, Tape};
pub use tapes::{Recording, Source, Tapes};
