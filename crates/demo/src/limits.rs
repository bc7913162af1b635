//! Limits of the demo backend.

use std::time::Duration;

/// Limit: one request, in bytes.
pub(crate) const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Limit: legacy HTTP sessions; the oldest is dropped.
pub(crate) const SESSIONS_MAX: usize = 1_000;
/// Limit: messages waiting for a slow reader.
pub(crate) const OUTBOUND_MAX: usize = 256;
/// Limit: changes that wait for a slow listener; older ones are lost to it.
pub(crate) const CHANGES_MAX: usize = 256;
/// Limit: resources that one legacy client subscribes to.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 1_000;
/// Limit: how long any tool waits on request.
pub(crate) const WAIT_MAX: Duration = Duration::from_mins(10);
/// Limit: keys of `put` and `flaky`, and lines of `append`.
pub(crate) const ENTRIES_MAX: usize = 100_000;
