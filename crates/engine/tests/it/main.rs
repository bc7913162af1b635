//! The driver on a paused clock. What is decided is tested by the cases and the simulator of `testkit`.
#![expect(clippy::unwrap_used, reason = "tests may unwrap, their helpers too")]

mod driver;
mod plan;
mod world;
