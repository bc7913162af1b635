//! One file a command.

pub(crate) mod backends;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod render;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod test;
pub(crate) mod tools;
