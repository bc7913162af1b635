//! Limits of the dialects, as their documents give them.

use std::time::Duration;

/// ToolHive: steps of one composite tool.
pub const TOOLHIVE_STEPS_MAX: usize = 100;
/// ToolHive: the time of a run that states none.
pub const TOOLHIVE_RUN_TIMEOUT: Duration = Duration::from_mins(30);
/// ToolHive: the time of a step that states none.
pub const TOOLHIVE_STEP_TIMEOUT: Duration = Duration::from_mins(5);
/// ToolHive: steps of one run in flight at once.
pub const TOOLHIVE_PARALLEL_MAX: u32 = 10;
/// ToolHive: attempts after the first.
pub const TOOLHIVE_RETRIES_MAX: u32 = 10;
/// ToolHive: the first wait before another attempt.
pub const TOOLHIVE_RETRY_DELAY: Duration = Duration::from_secs(1);
/// ToolHive: iterations of a loop at once, when it does not say, and at most.
pub const TOOLHIVE_LOOP_PARALLEL: u32 = 10;
pub const TOOLHIVE_LOOP_PARALLEL_MAX: u32 = 50;
/// ToolHive: items of a loop, when it does not say, and at most.
pub const TOOLHIVE_LOOP_ITEMS: u32 = 100;
pub const TOOLHIVE_LOOP_ITEMS_MAX: u32 = 1_000;
/// mcptest: the time of a node.
pub const MCPTEST_NODE_TIMEOUT: Duration = Duration::from_secs(30);
/// mcptest: elements of a loop, when it does not say, and at most.
pub const MCPTEST_LOOP_ITEMS: u32 = 10_000;
pub const MCPTEST_LOOP_ITEMS_MAX: u32 = 100_000;
/// Characters of a step's name.
pub const STEP_NAME_CHARACTERS_MAX: usize = 128;
/// Characters of a workflow's name that every client takes, and that the protocol takes.
pub const NAME_CHARACTERS_USUAL: usize = 64;
pub const NAME_CHARACTERS_MAX: usize = 128;

/// Limit: bytes of a compiled pattern.
pub(crate) const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// Limit: places shown in one notice.
pub(crate) const NOTICE_PLACES_MAX: usize = 6;

pub(crate) const ITEMS_MAX: i64 = 100_000;

/// Attempts after the first, at most.
pub(crate) const NATIVE_RETRIES_MAX: i64 = 100;

/// Limit: characters of a list on one line.
pub(crate) const LINE_CHARACTERS_MAX: usize = 80;
