//! The facade over everything below: load, publish, call, watch, answer, cancel, resume.
//!
//! Front doors know this crate, in the user's words and as plain data; it knows no protocol face of theirs.

pub mod ahead;
mod arrive;
pub mod backend_calls;
mod backend_options;
pub mod calls;
pub mod compare;
mod content;
pub mod counts;
pub mod documents;
mod fitted;
pub mod history;
mod identity;
mod kept;
mod lent;
mod limits;
mod log;
mod merge;
pub mod nodes;
mod notices;
pub mod offers;
mod open_runs;
mod plans;
pub mod preview;
pub mod publish;
pub mod questions;
pub mod raw;
mod release;
mod remarks;
mod repeated;
pub mod retry;
pub mod rounds;
pub mod runs;
pub mod runtime;
pub mod sample;
pub mod saved;
pub mod sensitive;
pub mod sources;
pub mod stranded;
pub mod tend;
mod trace;
mod unstored;
mod watched;
mod world;

pub use onecall_engine::result;
pub use world::now;
