//! The gateway as its clients see it: over HTTP and stdio, in both eras, against real backends.
#![expect(clippy::unwrap_used, reason = "tests may unwrap, their helpers too")]

mod access;
mod answer_page;
mod backend_questions;
mod batches;
mod busy;
mod cancelling;
mod client;
mod connections;
mod exact;
mod exchange;
mod hostile;
mod http_legacy;
mod http_modern;
mod large;
mod logging;
mod owners;
mod pages;
mod passing;
mod provider;
mod questions;
mod refusals;
mod refused;
mod reload;
mod repeated;
mod sessions;
mod stdio;
mod tasks;
mod world;
