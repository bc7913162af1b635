//! A bounded collection of diagnostics. Functions take it by `&mut` or return it beside their result.

use crate::limits::DIAGNOSTICS_MAX;
use crate::{Diagnostic, Severity};

/// Diagnostics in the order found, up to a limit; what comes after is only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    error_count: usize,
    warning_count: usize,
    omitted: usize,
}

impl Diagnostics {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        match diagnostic.severity {
            Severity::Error => self.error_count += 1,
            Severity::Warning => self.warning_count += 1,
            Severity::Note => {}
        }
        if self.items.len() < DIAGNOSTICS_MAX {
            self.items.push(diagnostic);
        } else {
            self.omitted += 1;
        }
    }

    pub fn has_errors(&self) -> bool {
        self.error_count > 0
    }

    /// Errors found, kept or not.
    pub fn error_count(&self) -> usize {
        self.error_count
    }

    /// Warnings found, kept or not.
    pub fn warning_count(&self) -> usize {
        self.warning_count
    }

    /// How many were found beyond the limit.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }

    /// Adds all of `other`, its counts of omitted ones included.
    pub fn append(&mut self, other: Self) {
        let kept_errors = other.items.iter().filter(|item| item.is_error()).count();
        let kept_warnings = other
            .items
            .iter()
            .filter(|item| item.severity == Severity::Warning)
            .count();
        self.error_count += other.error_count - kept_errors;
        self.warning_count += other.warning_count - kept_warnings;
        self.omitted += other.omitted;
        self.extend(other.items);
    }

    /// Widens spans to whole characters; all must be of this text.
    pub(crate) fn snap(&mut self, text: &str) {
        for label in self.items.iter_mut().flat_map(|item| &mut item.labels) {
            label.place.snap(text);
        }
    }

    /// Orders by place, then severity, then code; diagnostics without a place come first. Notes come after everything
    /// else, so that they do not hide an error.
    pub fn sort(&mut self) {
        let is_note = |own: &Diagnostic| own.severity == Severity::Note;
        self.items.sort_by(|a, b| {
            (is_note(a), a.place(), a.severity, a.code, &a.message).cmp(&(
                is_note(b),
                b.place(),
                b.severity,
                b.code,
                &b.message,
            ))
        });
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(items: I) -> Self {
        let mut all = Self::new();
        all.extend(items);
        all
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}
