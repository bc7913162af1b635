//! Limits of the representation. A dialect may set narrower ones; none may set wider ones.

/// Steps of one workflow.
pub const STEPS_MAX: usize = 1_000;
/// Depth of nested output properties.
pub const OUTPUT_DEPTH_MAX: usize = 10;
/// Labels on one diagnostic about many places.
pub(crate) const LABELS_MAX: usize = 8;
/// Rounds of following `$ref` and combinators when a schema is asked about one property.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 64;
/// Bytes of text that one expression makes of its pieces.
pub(crate) const TEXT_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Bytes of one jq program.
pub const JQ_CODE_BYTES_MAX: usize = 8 * 1024;
/// Brackets of one jq program inside of each other.
pub const JQ_BRACKETS_MAX: usize = 200;
/// Words and signs of one jq program; everything that is done with a program recurses at most as deep.
pub const JQ_TOKENS_MAX: usize = 2_000;
/// Faults that are told of one jq program.
pub(crate) const JQ_FAULTS_MAX: usize = 8;
/// Steps of one run of a jq program. Work on long texts counts as many steps.
pub const JQ_STEPS_MAX: u64 = 500_000;
/// Bytes of the values that a running jq program holds, beyond what it reads.
pub const JQ_MEMORY_BYTES_MAX: usize = 24 * 1024 * 1024;
/// Depth of a value that a jq program makes; deeper ones could not be read back from a store.
pub const JQ_DEPTH_MAX: usize = 120;
/// Stack of a jq program in bytes, when it is compiled and when it runs.
pub(crate) const JQ_STACK_BYTES: usize = 64 * 1024 * 1024;
/// What of that stack a running program may use; the rest is for functions that do not count.
pub(crate) const JQ_STACK_USED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Characters of a value that a jq error shows.
pub(crate) const JQ_SHOWN_CHARACTERS_MAX: usize = 200;
