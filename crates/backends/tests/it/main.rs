//! The client against real child processes and sockets: the demo backend and faulty servers.
#![expect(clippy::unwrap_used, reason = "tests may unwrap, their helpers too")]

mod auth;
mod breaker;
mod endings;
mod faults;
mod floods;
mod heard;
mod http;
mod listing;
mod offers;
mod sessions;
mod sse;
mod stdio;
mod streams;
mod tasks;
mod world;
