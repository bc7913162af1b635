//! Tests of the binary `onecall` as a user meets it: real processes, real files, a real client.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

mod access;
mod again;
mod call;
mod catalog;
mod check;
mod clients;
mod derived;
mod doctor;
mod editors;
mod elsewhere;
mod environment;
mod equivalent;
mod faults;
mod folders;
mod guides;
mod http;
mod names;
mod needs;
mod operating;
mod private;
mod publishing;
mod reload;
mod render;
mod runs;
mod screen;
mod sensitive;
mod servers;
mod setup;
mod silent;
mod skeleton;
mod slips;
mod suites;
mod support;
mod testing;
mod withheld;
