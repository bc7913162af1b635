//! The front door for MCP clients: Streamable HTTP and stdio, both eras of the protocol, one handler.
//!
//! `rmcp` is named in this crate only. Tool lists, calls and results pass through it as JSON values of ours
//! (see `raw`), so that nothing a backend sends is lost on the way. What is published, and what a call does,
//! is decided by `runtime`.

mod admit;
mod answer;
mod answer_page;
mod ask;
mod auth;
mod batch;
mod call;
mod connections;
mod direct;
mod fit;
mod follow;
mod front;
mod gate;
mod guarded;
mod handed;
mod handshake;
mod heads;
mod held;
mod http;
mod interrupt;
mod known;
mod large;
mod limits;
mod links;
mod listen;
mod logging;
mod metrics;
mod mirrors;
mod observe;
mod offers;
mod options;
mod page;
mod pages;
mod passing;
mod plain;
mod priming;
mod progress;
mod raw;
mod refused;
mod result_tool;
mod seal;
mod server;
mod sessions;
mod spent;
mod stdio;
mod tasks;
mod told;
mod tools;
mod typed;
mod unread;

pub use auth::Access;
pub use http::{Leaving, Mount, RESERVED_PATHS, serve_http};
pub use links::link_to_answer;
pub use options::{
    AccessError, AccessOptions, BearerToken, HttpOptions, OidcOptions, ServeError, StdioOptions,
};
pub use result_tool::{NAME as RESULT_TOOL, is_listed as is_result_tool_listed};
pub use stdio::{serve_lines, serve_stdio};
