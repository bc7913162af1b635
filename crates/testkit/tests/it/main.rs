//! Tests of the whole workspace: its shape, the simulator, and the cases written as documents.
#![expect(clippy::unwrap_used, reason = "tests may unwrap, their helpers too")]

mod cases;
mod codes;
mod fuzz;
mod guide;
mod seeds;
mod sim;
mod tidy;
