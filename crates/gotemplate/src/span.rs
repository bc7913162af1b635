//! A byte range of a template's source.

use std::ops::Range;

/// A byte range of a template's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The same bytes as a standard range.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}
