//! What tests of other crates are made with: the simulator, servers with faults, the runner of cases written as
//! documents, the test that kills the real program, and what the fuzzer does.
//! Nothing that runs in production knows this crate.

pub mod cases;
pub mod faulty;
pub mod fuzz;
pub mod kill;
pub mod sim;
