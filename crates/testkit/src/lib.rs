//! What tests of other crates are made with: the simulator and the runner of cases written as documents.
//! Nothing that runs in production knows this crate.

pub mod cases;
pub mod sim;
