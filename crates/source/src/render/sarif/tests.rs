//! The SARIF form, compared as a whole.

use super::{sarif, uri};
use crate::{Diagnostic, Diagnostics, Place, SourceMap, Span, codes};

#[test]
fn one_run() {
    let mut sources = SourceMap::new();
    let id = sources.add("my files/a.yaml", "a: 1\na: 2\n");
    let diagnostics: Diagnostics = [
        Diagnostic::error(codes::DUPLICATE_KEY, "twice")
            .label(Span::new(id, 5, 6), "again")
            .secondary(Span::new(id, 0, 1), "first")
            .help("keep one"),
        Diagnostic::warning(codes::SYNTAX, "odd").label(Place::path("MCPServer a", "spec"), ""),
    ]
    .into_iter()
    .collect();
    insta::assert_json_snapshot!(sarif(&diagnostics, &sources, "1.2.3"));
}

#[test]
fn names_become_uris() {
    assert_eq!(uri("a b/ü.yaml"), "a%20b/%C3%BC.yaml");
}
