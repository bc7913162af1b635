//! What tests of other crates are made with: the simulator, the runner of cases written as documents, and the
//! test that kills the real program.
//! Nothing that runs in production knows this crate.

pub mod cases;
pub mod kill;
pub mod sim;
