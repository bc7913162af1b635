//! The driver on a paused clock, and waking up. What is decided is tested by the cases and the simulator of `testkit`.
#![expect(clippy::unwrap_used, reason = "tests may unwrap, their helpers too")]

mod bounds;
mod deciding;
mod driver;
mod evaluator;
mod full;
mod log;
mod plan;
mod resume;
mod world;
