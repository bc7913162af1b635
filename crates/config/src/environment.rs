//! The environment variables of this program, all of them. Only the `cli` crate reads them.

/// The filter of the log.
pub const LOG: &str = "ONECALL_LOG";

/// The file of the store.
pub const STORE: &str = "ONECALL_STORE";

/// The key that sensitive values are sealed with.
pub const SEAL_KEY: &str = "ONECALL_SEAL_KEY";

/// How many servers of this program stand above this one, each a backend of the one before. Set for backends, so that
/// a server that names itself is noticed.
pub const DEPTH: &str = "ONECALL_DEPTH";
