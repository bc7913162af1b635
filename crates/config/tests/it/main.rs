//! Files as users write them: read, checked, and their faults drawn.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod convert;
mod damage;
mod diagnostics;
mod faults;
mod keys;
mod reading;
mod resources;
mod rules;
mod schemas;
mod seeds;
mod shapes;
mod workloads;
mod world;
