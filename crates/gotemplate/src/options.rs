//! What a caller chooses about parsing and rendering.

use crate::limits::{ParseLimits, RenderLimits};

/// Which rules numbers follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Go's bytes: every JSON number is a float64.
    Go,
    /// JSON numbers print as JSON, compare by value, and whole ones serve as indexes.
    #[default]
    Workflow,
}

/// What reading a key that a map does not hold gives: Go's `missingkey` option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissingKey {
    /// No value (`missingkey=default` and `missingkey=invalid`).
    #[default]
    Default,
    /// The zero value of an interface, a null (`missingkey=zero`).
    Zero,
    /// An error (`missingkey=error`).
    Error,
}

/// Choices made when a template is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOptions<'a> {
    /// The template's name, as it stands in error texts.
    pub name: &'a str,
    /// Bounds on the source.
    pub limits: ParseLimits,
}

impl Default for ParseOptions<'_> {
    fn default() -> Self {
        Self {
            name: "expand",
            limits: ParseLimits::default(),
        }
    }
}

/// Choices made when a template is rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
    /// Which rules numbers follow.
    pub mode: Mode,
    /// What a missing key gives.
    pub missing_key: MissingKey,
    /// Bounds on the rendering.
    pub limits: RenderLimits,
}
