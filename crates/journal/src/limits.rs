//! Limits of the store. What a user may change stands in `Options`; the rest is fixed here.

use std::time::Duration;

/// Limit: a value longer than this is stored once, by its hash, in place of standing in its event.
pub(crate) const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Limit: requests that may wait for the writer; more wait in their callers.
pub(crate) const QUEUE_MAX: usize = 1_024;
/// Limit: requests in one transaction.
pub(crate) const GROUP_MAX: usize = 256;
/// Limit: bytes of events in one transaction, except that one request always fits.
pub(crate) const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Limit: bytes that a caller writes itself, on its async thread.
pub(crate) const LIGHT_BYTES_MAX: usize = 64 * 1024;
/// Limit: groups that a caller writes one after the other before the thread goes on for it.
pub(crate) const ROUNDS_MAX: usize = 4;
/// Limit: how long one process waits for the write lock that another one holds.
pub(crate) const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
/// Limit: runs, and about how many bytes of events, compacted in one transaction.
pub(crate) const COMPACT_MAX: usize = 256;
pub(crate) const COMPACT_BYTES: usize = 4 * 1024 * 1024;
/// Limit: a finished run with more bytes of events than this stays in the log.
pub(crate) const ARCHIVE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long finished runs gather before they are compacted together: the more there are, the more pages of the log
/// become free as a whole.
pub(crate) const COMPACT_DELAY: Duration = Duration::from_secs(1);
/// Limit: runs removed by one call of `maintain`.
pub(crate) const REMOVE_MAX: usize = 64;
/// Limit: runs named by one call of `claimable`.
pub(crate) const CLAIMABLE_MAX: usize = 1_000;
/// Limit: commands given out by one call of `commands`.
pub(crate) const COMMANDS_MAX: usize = 1_000;
/// Limit: commands that may wait for one run.
pub(crate) const INBOX_MAX: usize = 1_000;
/// Limit: one command, in bytes of JSON.
pub(crate) const COMMAND_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Limit: a list that names no limit of its own, and any list.
pub(crate) const LIST_DEFAULT: usize = 100;
pub(crate) const LIST_MAX: usize = 10_000;
/// How much the writer adds to the write-ahead log before a checkpoint is made beside it.
pub(crate) const CHECKPOINT_BYTES: usize = 16 * 1024 * 1024;
/// The size of a page of a store that is made.
pub(crate) const PAGE_BYTES: u32 = 8 * 1024;
/// Limit: pages in the write-ahead log before a commit makes the checkpoint itself.
pub(crate) const WAL_PAGES_MAX: u32 = 8 * 1024;
/// Limit: nesting of stored values is not bounded by the parser; the stack of the reading thread bounds it.
pub(crate) const READER_STACK_BYTES: usize = 16 * 1024 * 1024;
/// Limit: the text of an exported run.
pub(crate) const IMPORT_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Limit: nesting of an exported run, whose parser is recursive.
pub(crate) const IMPORT_NESTING_MAX: usize = 512;

/// Bytes that a run in memory takes besides its events, and a batch of events besides their text.
pub(crate) const MEMORY_RUN_BYTES: u64 = 1024;
pub(crate) const MEMORY_BATCH_BYTES: u64 = 48;

/// Limit: a key file that is longer than this holds no key.
pub(crate) const KEY_FILE_BYTES_MAX: u64 = 1024;
