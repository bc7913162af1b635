//! Limits of the representation. A dialect may set narrower ones; none may set wider ones.

/// Limit: keys that a message lists where a path found nothing, and characters of each.
pub(crate) const KEYS_SHOWN_MAX: usize = 8;
pub(crate) const KEY_CHARS_SHOWN_MAX: usize = 40;

/// Steps of one workflow.
pub const STEPS_MAX: usize = 1_000;
/// Depth of nested output properties.
pub const OUTPUT_DEPTH_MAX: usize = 10;
/// Labels on one diagnostic about many places.
pub(crate) const LABELS_MAX: usize = 8;
/// Tools of a backend that are named where it lacks the one that is called.
pub(crate) const TOOLS_SHOWN_MAX: usize = 8;
/// Reasons that are told why a schema is none.
pub(crate) const SCHEMA_FAULTS_MAX: usize = 20;
/// Rounds of following `$ref` and combinators when a schema is asked about one property.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 64;

/// What one expression may use when it is evaluated. The configuration may say other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the text it makes.
    pub text_bytes: usize,
    /// Operations of a template. A step of jq does the work of two.
    pub operations: u64,
}

/// Operations of one expression, unless configured.
pub(crate) const OPERATIONS_MAX: u64 = 1_000_000;

impl Default for Bounds {
    fn default() -> Self {
        Self {
            text_bytes: 10 * 1024 * 1024,
            operations: OPERATIONS_MAX,
        }
    }
}

impl Bounds {
    /// Steps of one run of a jq program. Work on long texts counts as many steps.
    pub fn jq_steps(self) -> u64 {
        self.operations.div_ceil(2)
    }
}

/// Bytes of one jq program.
pub const JQ_CODE_BYTES_MAX: usize = 8 * 1024;
/// Brackets of one jq program inside of each other.
pub const JQ_BRACKETS_MAX: usize = 200;
/// Words and signs of one jq program; everything that is done with a program recurses at most as deep.
pub const JQ_TOKENS_MAX: usize = 2_000;
/// Faults that are told of one jq program.
pub(crate) const JQ_FAULTS_MAX: usize = 8;
/// Bytes of the values that a running jq program holds, beyond what it reads.
pub const JQ_MEMORY_BYTES_MAX: usize = 24 * 1024 * 1024;
/// Depth of a value that a jq program makes; deeper ones could not be read back from a store.
pub const JQ_DEPTH_MAX: usize = 120;
/// Stack of a jq program in bytes, when it is compiled and when it runs.
pub(crate) const JQ_STACK_BYTES: usize = 64 * 1024 * 1024;
/// What of that stack a running program may use; the rest is for functions that do not count.
pub(crate) const JQ_STACK_USED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Characters of a value that a jq error shows.
pub(crate) const JQ_SHOWN_CHARACTERS_MAX: usize = 200;

/// Limit: lines of one difference, and characters of a value in it.
pub(crate) const LOCK_LINES_MAX: usize = 20;

/// Limit: characters shown of a value that differs from the lock.
pub(crate) const LOCK_SHOWN_CHARS_MAX: usize = 160;

/// Bounds of everything that reads a schema. Schemas come from backends and authors, values from anybody:
/// no pair of them may take unbounded time, memory or stack.
pub(crate) mod schema {
    /// JSON values in one schema; building a validator is quadratic in the number of references.
    pub(crate) const SCHEMA_VALUES_MAX: usize = 20_000;
    /// Nesting of a schema as JSON.
    pub(crate) const SCHEMA_NESTING_MAX: usize = 128;
    /// Schemas that apply to the same value through each other: `$ref`, `allOf`, `anyOf` and the like.
    pub(crate) const CHAIN_MAX: u32 = 64;
    /// Ways through `$ref`, `allOf`, `anyOf` and the like from one schema, all applying to the same value.
    pub(crate) const WAYS_MAX: u64 = 1_000;
    /// A schema that unfolds to no more than this, with no recursion, is checked without measuring first.
    pub(crate) const LIGHT_MAX: u32 = 256;
    /// Schema visits of one check.
    pub(crate) const VISITS_MAX: u64 = 1_000_000;
    /// Schemas on the stack during one check.
    pub(crate) const VISIT_DEPTH_MAX: u32 = 512;
    /// Values seen while the faults of a value are described, counting each once for every schema that sees it.
    pub(crate) const EXPLAIN_MAX: u64 = 100_000;
    /// Schema visits of one coercion, over all its checks: these, and as many more for each value in the value.
    pub(crate) const COERCE_MAX: u64 = 250_000;
    pub(crate) const COERCE_PER_VALUE_MAX: u64 = 16;
    /// Nesting of a value beyond which nothing is coerced, filled in or looked at.
    pub(crate) const VALUE_DEPTH_MAX: usize = 64;
    /// Faults told at once.
    pub(crate) const FAULTS_MAX: usize = 10;
    /// Paths to sensitive values that are listed.
    pub(crate) const SENSITIVE_PATHS_MAX: usize = 1_000;
    /// Schemas looked at while those paths are listed.
    pub(crate) const SENSITIVE_VISITS_MAX: u32 = 100_000;
    /// Questions to the schema while looking for one required property.
    pub(crate) const REQUIRES_MAX: u32 = 10_000;
    /// Characters of a value that a message shows.
    pub(crate) const SHOWN_MAX: usize = 80;
    /// Options of an `enum` that a message lists.
    pub(crate) const OPTIONS_SHOWN_MAX: usize = 12;
    /// Steps that patterns with look-around may take in one coercion or validation, all tests together. One step is one
    /// backtrack of the engine for each `PATTERN_LENGTH_UNIT` bytes of the text.
    pub(crate) const PATTERN_BUDGET: u64 = super::OPERATIONS_MAX;
    /// What one test may take: the least of these that is enough is charged.
    pub(crate) const PATTERN_STEPS: [usize; 4] = [100, 1_000, 10_000, 100_000];
    /// What a test of one name against `patternProperties` may take; that much is charged for each.
    pub(crate) const PATTERN_NAME_STEPS: usize = 1_000;
    pub(crate) const PATTERN_LENGTH_UNIT: usize = 64;
    /// Bytes of one compiled pattern.
    pub(crate) const PATTERN_BYTES_MAX: usize = 1 << 20;
    /// Defaults filled into one value.
    pub(crate) const DEFAULTS_MAX: u32 = 10_000;
}

/// Limit: hidden characters that one warning lists.
pub(crate) const HIDDEN_LISTED_MAX: usize = 8;
