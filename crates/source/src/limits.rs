//! Limits of this crate: everything a file's author controls is bounded here.

/// Longest source that is parsed, in bytes.
pub const SOURCE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Deepest nesting of mappings and sequences.
pub const DEPTH_MAX: usize = 128;

/// Most nodes of one source after aliases and merge keys are expanded.
pub const NODES_MAX: usize = 1_000_000;

/// Most diagnostics a [`crate::Diagnostics`] keeps; the rest is only counted.
pub const DIAGNOSTICS_MAX: usize = 1_000;

/// Most syntax faults looked for in one source, since each costs a new pass over the text.
pub(crate) const SYNTAX_FAULTS_MAX: usize = 8;

/// Longest piece of a user's text quoted inside a message, in characters.
pub(crate) const QUOTED_CHARACTERS_MAX: usize = 60;

/// Places of one file further apart than this are drawn as snippets of their own, so that drawing stays cheap.
pub(crate) const SNIPPET_LINES_MAX: usize = 200;

/// Lines longer than this are not drawn at all; the place is named.
pub(crate) const SNIPPET_BYTES_MAX: usize = 16 * 1024;
