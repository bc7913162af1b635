//! Limits on what files may state.

/// Limit: characters of a prefix; a name of a workflow must fit behind it.
pub(crate) const PREFIX_CHARACTERS_MAX: usize = 64;

/// Limit: what may be stated for `result_bytes`; a longer message is not read at all.
pub(crate) const RESULT_BYTES_MAX: i64 = 16 * 1024 * 1024;

/// Limit: a shorter token can be guessed.
pub(crate) const TOKEN_BYTES_MIN: usize = 16;

/// Limit: what may be counted before a backend counts as dead.
pub(crate) const OPERATIONAL_COUNT_MAX: i64 = 1_000;

/// Limit: the largest number of requests or connections that a file may allow.
pub(crate) const REQUESTS_MAX: i64 = 1_000_000;

/// Limit: further places that one notice labels.
pub(crate) const NOTICE_PLACES_MAX: usize = 8;

/// Limit: errors of what is withheld that its reason names; the others are counted.
pub(crate) const REASONS_MAX: usize = 3;
