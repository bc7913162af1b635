//! The two ways to fail, with Go's wording and a place in the source.

use crate::span::Span;

/// A source text that is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template: {name}:{line}: {message}")]
pub struct ParseError {
    /// The template's name.
    pub name: String,
    /// Line of the fault as Go counts it, from 1.
    pub line: usize,
    /// What is wrong, in Go's words, without name and line.
    pub message: String,
    /// Where, as bytes of the source.
    pub span: Span,
}

/// What kind of fault ended a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RenderErrorKind {
    /// The template asked for something its data or types do not allow.
    Execution,
    /// A key is missing and the option says that is an error.
    MissingKey,
    /// A bound of [`crate::RenderLimits`] was reached.
    Limit,
}

/// A rendering that failed. Whatever was written before is discarded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template: {location}: executing {template:?} at <{context}>: {message}")]
pub struct RenderError {
    /// What kind of fault it is.
    pub kind: RenderErrorKind,
    /// `name:line:column`, as Go writes it.
    pub location: String,
    /// The template that was executing.
    pub template: String,
    /// The expression at fault, as Go prints it.
    pub context: String,
    /// What is wrong, in Go's words, without the place.
    pub message: String,
    /// Where, as bytes of the source.
    pub span: Span,
}
