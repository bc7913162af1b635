//! The JSON form, compared as a whole.

use super::json;
use crate::{Diagnostic, Place, SourceMap, Span, codes};

#[test]
fn spans_and_paths() {
    let mut sources = SourceMap::new();
    let id = sources.add("release.yaml", "ü: 1\nü: 2\n");
    let diagnostic = Diagnostic::error(codes::DUPLICATE_KEY, "the key `ü` is written twice")
        .label(Span::new(id, 6, 8), "again")
        .secondary(Place::path("MCPServer a", "spec.x"), "first")
        .help("keep one");
    insta::assert_json_snapshot!(json(&diagnostic, &sources), @r#"
    {
      "code": "WF005",
      "severity": "error",
      "message": "the key `ü` is written twice",
      "file": "release.yaml",
      "line": 2,
      "column": 1,
      "end_line": 2,
      "end_column": 2,
      "labels": [
        {
          "primary": true,
          "text": "again",
          "file": "release.yaml",
          "line": 2,
          "column": 1,
          "end_line": 2,
          "end_column": 2
        },
        {
          "primary": false,
          "text": "first",
          "origin": "MCPServer a",
          "path": "spec.x"
        }
      ],
      "help": [
        "keep one"
      ],
      "notes": []
    }
    "#);
}
