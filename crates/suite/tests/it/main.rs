//! The test runner over whole suites: their diagnostics, and rows that run on the engine.

mod diagnostics;
mod live;
mod reading;
mod rows;
