//! Connections to backend MCP servers: one client at JSON level for every transport and era, a
//! pool that connects, restarts and watches, and the lists of tools that come out of it.
//!
//! What a backend sends is passed on unchanged. Which workflow calls what is not known here.

mod asking;
mod backoff;
mod call;
mod callers;
mod catalog;
mod circuit;
mod client;
mod conflict;
mod error;
mod health;
mod http;
mod ids;
mod limits;
mod link;
mod lists;
mod negotiate;
mod news;
mod options;
mod pace;
mod pages;
mod params;
mod pool;
mod process;
mod roster;
mod slot;
mod sse;
mod status;
mod stderr;
mod subscriptions;
mod tasks;
mod tool_list;
mod wire;

pub use call::{
    Answered, Call, CallerId, CallerToken, Logged, MessageSink, Progress, ProgressSink, Question,
    QuestionSink, Requester, Takes,
};
pub use catalog::{
    CatalogOptions, Listed, Notice, Offer, Strategy, Thing, ToolOverride, ToolRule, Visibility,
    merge, merge_offers,
};
pub use error::{CallError, ConnectError, StartError};
pub use http::{FetchError, Posted, fetch_json, is_safe_url, post_json};
pub use limits::IN_FLIGHT_DEFAULT;
pub use lists::ListKind;
pub use news::Changes;
pub use onecall_workflow::name::BackendName;
pub use options::{
    BackendOptions, ClientInfo, Grant, HealthOptions, HttpOptions, SessionScope, StdioOptions,
    TokenOptions, TransportOptions,
};
pub use pages::PageSink;
pub use pool::{Backends, Subscription};
pub use roster::{ResourceUpdate, ToolLists};
pub use status::{BackendState, BackendStatus, Breaker};
