//! Limits on what a suite can ask of the test runner.

use std::time::Duration;

/// Limit: characters of a value that a failed assertion prints.
pub(crate) const SHOWN_CHARACTERS_MAX: usize = 200;

/// Limit: names that are listed if a target finds nothing.
pub(crate) const NAMES_LISTED_MAX: usize = 20;

/// Limit: places of a golden value that are listed as different.
pub(crate) const DIFFERENCES_MAX: usize = 20;

/// Limit: how deeply matchers are nested in each other.
pub(crate) const MATCHER_DEPTH_MAX: usize = 16;

/// Limit: the compiled form of a regular expression, in bytes.
pub(crate) const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// Limit: characters of a text whose edit distance is computed. The work grows with the product of both lengths.
pub(crate) const DISTANCE_CHARACTERS_MAX: usize = 10_000;

/// Limit: how deeply a parsed SQL statement is nested.
pub(crate) const SQL_DEPTH_MAX: usize = 50;

/// The time one row may take if its composition states none. A row waits for nobody.
pub(crate) const ROW_TIME_MAX: Duration = Duration::from_mins(30);
