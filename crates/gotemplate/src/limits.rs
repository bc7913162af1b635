//! Every bound of the crate, with its default. All are deterministic: no clock is read.

/// Bounds on a template's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLimits {
    /// Bytes of source text.
    pub source_bytes_max: usize,
    /// Blocks (`if`, `with`, `range`, `define`, `block`) open at once.
    pub block_depth_max: usize,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self {
            source_bytes_max: 8 << 20,
            block_depth_max: 20_000,
        }
    }
}

/// Bounds on one rendering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// Operations of the compiled program, loop rounds and visited values included.
    pub operations_max: u64,
    /// Bytes of the text that is returned.
    pub output_bytes_max: usize,
    /// Bytes of all strings and values made on the way.
    pub produced_bytes_max: usize,
    /// Templates that call each other and are open at once.
    pub template_depth_max: usize,
}

impl Default for RenderLimits {
    fn default() -> Self {
        Self {
            operations_max: 1_000_000,
            output_bytes_max: 10 << 20,
            produced_bytes_max: 16 << 20,
            template_depth_max: 100_000,
        }
    }
}

/// Parentheses open at once in one expression; Go refuses the same number.
pub(crate) const PAREN_DEPTH_MAX: usize = 10_000;
/// Nesting of JSON that `fromJson` reads; Go refuses the same number.
pub(crate) const JSON_DEPTH_MAX: usize = 10_000;
/// Nesting of a value that is handed out; dropping a JSON value goes as deep as it is nested.
pub(crate) const VALUE_DEPTH_MAX: usize = 500;

/// How often one definition is looked at, with different arguments.
pub(crate) const VISITS_MAX: usize = 64;

/// Paths longer than this are treated as unknown.
pub(crate) const PATH_SEGMENTS_MAX: usize = 64;

/// Fixed notation has no nonzero digit beyond this many places; what is asked beyond is zeros.
pub(crate) const NUMBER_PLACES_MAX: usize = 1_100;

/// Spans kept per rendering.
pub(crate) const MISSING_MAX: usize = 1_000;

/// Maps up to this size are searched in order; hashing a key costs more than comparing a few.
pub(crate) const SCANNED_ENTRIES_MAX: usize = 8;
