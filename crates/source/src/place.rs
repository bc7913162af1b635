//! Where something stands: a byte range of a source, or a path in a resource that has no text.
//! Lines and columns are computed by `SourceMap`, only when something is shown.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::SourceId;

/// A byte range of one source. Invariant: `start <= end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub source: SourceId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// A span; an end before the start gives an empty span at the start.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        let start = offset(start);
        Self {
            source,
            start,
            end: offset(end).max(start),
        }
    }

    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `other` lies within this span.
    pub fn contains(self, other: Self) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }

    /// The smallest span over both; `self` alone when they are of different sources.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.source != other.source {
            return self;
        }
        Self {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A place in a resource without text, such as `spec.steps[2].tool` of `VirtualMCPServer default/tools`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathPlace {
    /// What the path starts from, as a user would name it.
    pub origin: Arc<str>,
    /// Empty for the whole resource.
    pub path: String,
}

/// Where something stands. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    Span(Span),
    Path(Arc<PathPlace>),
}

impl Place {
    pub fn path(origin: impl Into<Arc<str>>, path: impl Into<String>) -> Self {
        Self::Path(Arc::new(PathPlace {
            origin: origin.into(),
            path: path.into(),
        }))
    }

    pub fn span(&self) -> Option<Span> {
        match self {
            Self::Span(span) => Some(*span),
            Self::Path(_) => None,
        }
    }

    /// Widens a span to whole characters of its text.
    pub(crate) fn snap(&mut self, text: &str) {
        if let Self::Span(span) = self {
            let start = text.floor_char_boundary(span.start as usize);
            let end = text.ceil_char_boundary(span.end as usize).max(start);
            *span = Span::new(span.source, start, end);
        }
    }

    /// The place of an entry of the mapping at this place. A span stays as it is.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        match self {
            Self::Span(_) => self.clone(),
            Self::Path(place) => {
                let mut path = place.path.clone();
                push_key(&mut path, key);
                Self::path(Arc::clone(&place.origin), path)
            }
        }
    }

    /// The place of an item of the sequence at this place. A span stays as it is.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        match self {
            Self::Span(_) => self.clone(),
            Self::Path(place) => Self::path(
                Arc::clone(&place.origin),
                format!("{}[{index}]", place.path),
            ),
        }
    }
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self::Span(span)
    }
}

impl From<&Place> for Place {
    fn from(place: &Place) -> Self {
        place.clone()
    }
}

impl fmt::Display for PathPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.origin.is_empty(), self.path.is_empty()) {
            (_, true) => f.write_str(&self.origin),
            (true, false) => f.write_str(&self.path),
            (false, false) => write!(f, "{}: {}", self.origin, self.path),
        }
    }
}

/// Appends a key to a path: `.name`, or `["a b"]` where the key would not read back.
pub(crate) fn push_key(path: &mut String, key: &str) {
    let plain = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '$'));
    if !plain {
        let _ = write!(path, "[{key:?}]");
        return;
    }
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

/// A byte offset as it is stored. Sources above 4 MiB are refused by `parse`, so saturation is never seen.
pub(crate) fn offset(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
