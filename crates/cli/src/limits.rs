//! Limits on what commands read, and on how much they show.

use std::time::Duration;

/// Limit: a file that holds a token, in bytes.
pub(crate) const TOKEN_FILE_BYTES_MAX: u64 = 16 * 1024;

/// Limit: bytes of a client's file.
pub(crate) const CLIENT_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Limit: bytes of arguments read from stdin.
pub(crate) const STDIN_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Limit: leaves that are shown.
pub(crate) const LEAVES_MAX: usize = 200;

/// Limit: characters shown of a leaf.
pub(crate) const SHOWN_CHARS_MAX: usize = 60;

/// Limit: bytes of a file of saved tools.
pub(crate) const TOOLS_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Limit: bytes of a file of answers.
pub(crate) const ANSWERS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Limit: characters of a tool's name that every known host takes.
pub(crate) const NAME_CHARS_MAX: usize = 64;

/// Limit: arguments a tool may ask for and still make an easy example.
pub(crate) const EXAMPLE_ARGUMENTS_MAX: usize = 3;

/// Limit: bytes of data, and of one line.
pub(crate) const RENDER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Limit: bytes of an exported run.
pub(crate) const EXPORT_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Limit: runs that are named where the beginning of an id fits several.
pub(crate) const MATCHES_SHOWN_MAX: usize = 10;

/// Limit: runs that have not ended and are counted.
pub(crate) const RUNS_COUNTED_MAX: usize = 10_000;

/// Limit: held items of a loop that are named.
pub(crate) const HELD_SHOWN_MAX: usize = 10;

/// Limit: characters of a value on one line.
pub(crate) const VALUE_CHARACTERS_MAX: usize = 160;

/// Limit: how deep steps are indented; what comes after stands beside.
pub(crate) const TREE_DEPTH_MAX: usize = 8;

/// Limit: failed items of a loop that the progress of a call names.
pub(crate) const FAILED_ITEMS_SHOWN_MAX: usize = 3;

/// Limit: items of a loop that have a line of their own.
pub(crate) const TREE_ITEMS_MAX: usize = 20;

/// Limit: times one field is asked for before the answer counts as invalid.
pub(crate) const ANSWER_TRIES_MAX: usize = 3;

/// Limit: steps that are drawn; a run with more is shown as lines.
pub(crate) const LIVE_STEPS_MAX: usize = 30;

/// Limit: times a tool may ask in one call.
pub(crate) const QUESTION_ROUNDS_MAX: usize = 100;

/// Limit: seconds that one request for the result of a run elsewhere waits.
pub(crate) const RESULT_WAIT_SECONDS: u64 = 30;

/// Limit: what the runs of `--ephemeral` take, finished ones included, unless configured.
pub(crate) const EPHEMERAL_BYTES: usize = 64 * 1024 * 1024;

/// Limit: servers of this program above one of them, each a backend of the one before.
pub(crate) const SERVERS_ABOVE_MAX: u32 = 3;

/// How long an answer may take to show its effect before it counts as kept: servers look at their inbox twice a second.
pub(crate) const ANSWER_EFFECT: Duration = Duration::from_secs(2);

/// How often the effect is looked for.
pub(crate) const ANSWER_LOOK: Duration = Duration::from_millis(50);

/// Names that are told where a name is not known.
pub(crate) const NEAR_MAX: usize = 3;

/// Workflows that are named there; more are counted.
pub(crate) const WORKFLOWS_SHOWN_MAX: usize = 20;

/// Limit: the file that names the rows which failed last, in bytes.
pub(crate) const LAST_FAILED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Limit: a tape, in bytes.
pub(crate) const TAPE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Arguments that are named where they are missing.
pub(crate) const ARGUMENTS_SHOWN_MAX: usize = 10;

/// Limit: choices of a parameter that a signature shows.
pub(crate) const CHOICES_SHOWN_MAX: usize = 6;

/// How many changed files `onecall test --watch` names.
pub(crate) const CHANGED_NAMED_MAX: usize = 3;
