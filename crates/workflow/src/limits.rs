//! Limits of the representation. A dialect may set narrower ones; none may set wider ones.

/// Steps of one workflow.
pub const STEPS_MAX: usize = 1_000;
/// Depth of nested output properties.
pub const OUTPUT_DEPTH_MAX: usize = 10;
/// Labels on one diagnostic about many places.
pub(crate) const LABELS_MAX: usize = 8;
/// Rounds of following `$ref` and combinators when a schema is asked about one property.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 64;
