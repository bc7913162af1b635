//! The built-in MCP backend of quick start and tests, over stdio and HTTP, in both eras.
//!
//! It keeps a ledger of executed calls, the outside witness of durability tests. It is written on
//! `mcp` alone, so that tests of our client and of our server face do not test themselves.

mod answers;
mod connection;
mod execute;
mod http;
mod ledger;
mod library;
mod limits;
mod server;
mod stdio;
mod tools;

pub use http::serve_http;
pub use server::{Options, ServeError};
pub use stdio::{serve_io, serve_stdio};
pub use tools::tools;
