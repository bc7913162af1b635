//! What tests of other crates are made with: the simulator, the runner of cases written as documents, the test that
//! kills the real program, and what the fuzzer does.
//! Nothing that runs in production knows this crate.

pub mod cases;
pub mod fuzz;
pub mod kill;
pub mod sim;
