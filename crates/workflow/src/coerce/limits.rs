//! Bounds of everything that reads a schema. Schemas come from backends and authors, values from anybody:
//! no pair of them may take unbounded time, memory or stack.

/// JSON values in one schema; building a validator is quadratic in the number of references.
pub(super) const SCHEMA_VALUES_MAX: usize = 20_000;
/// Nesting of a schema as JSON.
pub(super) const SCHEMA_NESTING_MAX: usize = 128;
/// Schemas that apply to the same value through each other: `$ref`, `allOf`, `anyOf` and the like.
pub(super) const CHAIN_MAX: u32 = 64;
/// Ways through `$ref`, `allOf`, `anyOf` and the like from one schema, all applying to the same value.
pub(super) const WAYS_MAX: u64 = 1_000;
/// A schema that unfolds to no more than this, with no recursion, is checked without measuring first.
pub(super) const LIGHT_MAX: u32 = 256;
/// Schema visits of one check.
pub(super) const VISITS_MAX: u64 = 1_000_000;
/// Schemas on the stack during one check.
pub(super) const VISIT_DEPTH_MAX: u32 = 512;
/// Values seen while the faults of a value are described, counting each once for every schema that sees it.
pub(super) const EXPLAIN_MAX: u64 = 100_000;
/// Schema visits of one coercion, over all its checks: these, and as many more for each value in the value.
pub(super) const COERCE_MAX: u64 = 250_000;
pub(super) const COERCE_PER_VALUE_MAX: u64 = 16;
/// Nesting of a value beyond which nothing is coerced, filled in or looked at.
pub(super) const VALUE_DEPTH_MAX: usize = 64;
/// Faults told at once.
pub(super) const FAULTS_MAX: usize = 10;
/// Paths to sensitive values that are listed.
pub(super) const SENSITIVE_PATHS_MAX: usize = 1_000;
/// Schemas looked at while those paths are listed.
pub(super) const SENSITIVE_VISITS_MAX: u32 = 100_000;
/// Questions to the schema while looking for one required property.
pub(super) const REQUIRES_MAX: u32 = 10_000;
/// Characters of a value that a message shows.
pub(super) const SHOWN_MAX: usize = 80;
/// Options of an `enum` that a message lists.
pub(super) const OPTIONS_SHOWN_MAX: usize = 12;
/// Steps a pattern with look-around may take.
pub(super) const PATTERN_STEPS_MAX: usize = 100_000;
/// Bytes of one compiled pattern.
pub(super) const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Defaults filled into one value.
pub(super) const DEFAULTS_MAX: u32 = 10_000;
