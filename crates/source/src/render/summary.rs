//! The last line of a check: how many faults, in how many files.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::{Diagnostics, Place, Severity, counted};

/// `3 errors, 1 warning in 2 files`; `no faults` when there is nothing to count.
pub fn summary(diagnostics: &Diagnostics) -> String {
    let notes = diagnostics
        .iter()
        .filter(|item| item.severity == Severity::Note)
        .count();
    let counts: Vec<String> = [
        (diagnostics.error_count(), "error"),
        (diagnostics.warning_count(), "warning"),
        (notes, "note"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, noun)| counted(count, noun))
    .collect();
    if counts.is_empty() {
        return "no faults".to_owned();
    }
    let origins: BTreeSet<String> = diagnostics
        .iter()
        .filter_map(|item| item.place())
        .map(|place| match place {
            Place::Span(span) => format!("{:?}", span.source),
            Place::Path(path) => path.origin.to_string(),
        })
        .collect();
    let mut line = counts.join(", ");
    if !origins.is_empty() {
        line.push_str(" in ");
        line.push_str(&counted(origins.len(), "file"));
    }
    if diagnostics.omitted() > 0 {
        let _ = write!(line, " ({} not shown)", diagnostics.omitted());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::summary;
    use crate::{Diagnostic, Diagnostics, Place, SourceMap, Span, codes};

    #[test]
    fn counts_and_files() {
        let mut sources = SourceMap::new();
        let one = Span::new(sources.add("one", ""), 0, 0);
        let two = Span::new(sources.add("two", ""), 0, 0);
        let error = |place: Place| Diagnostic::error(codes::SYNTAX, "x").label(place, "");
        let mut all = Diagnostics::new();
        assert_eq!(summary(&all), "no faults");
        all.push(Diagnostic::warning(codes::SYNTAX, "x"));
        assert_eq!(summary(&all), "1 warning");
        all.push(error(one.into()));
        assert_eq!(summary(&all), "1 error, 1 warning in 1 file");
        all.extend([error(one.into()), error(two.into())]);
        assert_eq!(summary(&all), "3 errors, 1 warning in 2 files");
        all.extend((0..1000).map(|_| error(one.into())));
        assert_eq!(
            summary(&all),
            "1003 errors, 1 warning in 2 files (4 not shown)"
        );
    }
}
