//! A string from a document together with the way back: which source bytes each byte of the value came from.
//! The mapping itself is found by `parse::align`; here it is only kept and looked up.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::place::offset;
use crate::{Place, Span};

/// A string value and its place. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Text {
    value: Arc<str>,
    place: Place,
    offsets: Offsets,
}

/// How an offset in the value becomes an offset in the source.
#[derive(Clone, Debug)]
pub(crate) enum Offsets {
    /// Nothing is known: every part is the whole.
    Whole,
    /// The value stands in the source as it is, from this byte on.
    Linear(u32),
    /// Ordered by `value`.
    Segments(Arc<[Segment]>),
}

/// A run of the value, up to the next segment, and the source bytes it was decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) value: u32,
    pub(crate) source: u32,
    pub(crate) source_len: u32,
    /// The source bytes are the value's own bytes; otherwise the run is one escape or fold.
    pub(crate) verbatim: bool,
}

impl Text {
    /// A text whose parts cannot be told apart: a resource without text, or a value that was computed.
    pub fn new(value: impl Into<Arc<str>>, place: impl Into<Place>) -> Self {
        Self {
            value: value.into(),
            place: place.into(),
            offsets: Offsets::Whole,
        }
    }

    pub(crate) fn with_offsets(value: Arc<str>, span: Span, offsets: Offsets) -> Self {
        Self {
            value,
            place: Place::Span(span),
            offsets,
        }
    }

    /// Widens the place to whole characters of the source, and forgets parts that are not what they claim.
    pub(crate) fn snap(&mut self, source: &str) {
        self.place.snap(source);
        let is_verbatim = |value: u32, at: u32, len: u32| {
            part_of(&self.value, value, len) == part_of(source, at, len)
        };
        let fits = match &self.offsets {
            Offsets::Whole => true,
            Offsets::Linear(base) => {
                source.is_char_boundary(*base as usize)
                    && is_verbatim(0, *base, offset(self.value.len()))
            }
            Offsets::Segments(segments) => segments.iter().all(|part| {
                source.is_char_boundary(part.source as usize)
                    && source.is_char_boundary((part.source + part.source_len) as usize)
                    && (!part.verbatim || is_verbatim(part.value, part.source, part.source_len))
            }),
        };
        if !fits {
            self.offsets = Offsets::Whole;
        }
    }

    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// A part of the value as a text of its own. A range that is no part of it gives an empty text.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Self {
        let value: Arc<str> = self.value.get(range.clone()).unwrap_or_default().into();
        let start = offset(range.start.min(self.value.len()));
        let offsets = match &self.offsets {
            Offsets::Whole => Offsets::Whole,
            Offsets::Linear(base) => Offsets::Linear(base + start),
            Offsets::Segments(segments) => Offsets::Segments(segments_from(segments, start)),
        };
        Self {
            place: self.place_of(range),
            value,
            offsets,
        }
    }

    pub fn to_arc(&self) -> Arc<str> {
        Arc::clone(&self.value)
    }

    /// The place of the whole text, quotes included.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The place of a byte range of the *value*: exact where the source allows it, else the whole text.
    pub fn place_of(&self, range: Range<usize>) -> Place {
        let Place::Span(whole) = self.place else {
            return self.place.clone();
        };
        let start = range.start.min(self.value.len());
        let end = range.end.clamp(start, self.value.len());
        let (start, end) = match &self.offsets {
            Offsets::Whole => return self.place.clone(),
            Offsets::Linear(base) => (base + offset(start), base + offset(end)),
            Offsets::Segments(segments) => source_range(segments, offset(start), offset(end)),
        };
        Place::Span(Span {
            source: whole.source,
            start,
            end: end.max(start),
        })
    }
}

/// The segments from this byte of the value on, counted from there.
fn segments_from(segments: &[Segment], start: u32) -> Arc<[Segment]> {
    let first = segments
        .partition_point(|segment| segment.value <= start)
        .saturating_sub(1);
    let moved = segments.get(first..).unwrap_or_default().iter().map(|own| {
        let before = start.saturating_sub(own.value);
        let cut = if own.verbatim {
            before.min(own.source_len)
        } else {
            0
        };
        Segment {
            value: own.value.saturating_sub(start),
            source: own.source + cut,
            source_len: own.source_len - cut,
            verbatim: own.verbatim,
        }
    });
    moved.collect()
}

fn part_of(text: &str, start: u32, len: u32) -> Option<&str> {
    text.get(start as usize..(start + len) as usize)
}

fn source_range(segments: &[Segment], start: u32, end: u32) -> (u32, u32) {
    let source_start = match segment_at(segments, start) {
        Some(segment) if segment.verbatim => {
            segment.source + (start - segment.value).min(segment.source_len)
        }
        Some(segment) => segment.source,
        None => 0,
    };
    if start == end {
        return (source_start, source_start);
    }
    let source_end = match segment_at(segments, end - 1) {
        Some(segment) if segment.verbatim => {
            segment.source + (end - segment.value).min(segment.source_len)
        }
        Some(segment) => segment.source + segment.source_len,
        None => source_start,
    };
    (source_start, source_end)
}

/// The segment that holds this byte of the value; the last one for the end of the value.
fn segment_at(segments: &[Segment], value: u32) -> Option<Segment> {
    let after = segments.partition_point(|segment| segment.value <= value);
    segments.get(after.saturating_sub(1)).copied()
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.value
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value)
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
