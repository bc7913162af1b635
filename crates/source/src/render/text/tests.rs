//! Rendered text, compared as a whole.

use super::{TextOptions, report, text};
use crate::{Diagnostic, Place, SourceMap, Span, codes, parse};

fn check(source: &str) -> String {
    let mut sources = SourceMap::new();
    let id = sources.add("release.yaml", source);
    let (_, diagnostics) = parse(&sources, id);
    report(&diagnostics, &sources, TextOptions::default())
}

#[test]
fn duplicate_key_shows_both_places() {
    insta::assert_snapshot!(check("name: a\nsteps: []\nname: b\n"), @r"
    error[WF005]: the key `name` is written twice
     --> release.yaml:3:1
      |
    1 | name: a
      | ---- first written here
    2 | steps: []
    3 | name: b
      | ^^^^ written again here
      |
      = help: keep one of the two

    1 error in 1 file
    ");
}

#[test]
fn wide_characters_and_a_byte_order_mark_keep_the_column() {
    insta::assert_snapshot!(check("\u{feff}名: 'x'\nü: yes\n"), @r#"
    warning[WF009]: `yes` is text in YAML 1.2, and was a boolean in YAML 1.1
     --> release.yaml:2:4
      |
    2 | ü: yes
      |    ^^^ taken as text
      |
      = help: write `"yes"` for the text or `true` for the boolean

    1 warning in 1 file
    "#);
}

#[test]
fn template_without_quotes() {
    insta::assert_snapshot!(check("user: {{ .steps.fetch.output }}\n"), @r#"
    error[WF008]: a value that starts with `{{` must be quoted
     --> release.yaml:1:7
      |
    1 | user: {{ .steps.fetch.output }}
      |       ^^^^^^^^^^^^^^^^^^^^^^^^^ YAML reads this as a mapping
      |
      = help: write `"{{ .steps.fetch.output }}"`

    1 error in 1 file
    "#);
}

#[test]
fn several_syntax_faults_in_one_go() {
    insta::assert_snapshot!(check("a: b: c\nd: 1\ne: @x\nf: 2\ng: 3\n---\nx: [1\n---\ny: *no\n"), @r"
    error[WF002]: a second `:` in a line, or a line indented too far
     --> release.yaml:1:5
      |
    1 | a: b: c
      |     ^ no value can start here
      |
      = help: quote the text if the `:` belongs to it, or correct the indentation

    error[WF002]: a value cannot start with `@`
     --> release.yaml:3:4
      |
    3 | e: @x
      |    ^ not allowed here
      |
      = help: write the value in quotes

    error[WF002]: a `[` or `{` is not closed, or its items are not separated
     --> release.yaml:8:1
      |
    7 | x: [1
      |    - opened here
    8 | ---
      | ^ found here
      |
      = help: add the missing `]`, `}` or `,`, or quote the text

    error[WF013]: no anchor is named `no`
     --> release.yaml:9:4
      |
    9 | y: *no
      |    ^^^ an alias to nothing
      |
      = help: quote the value if it is text, or write `&no` before the value meant, further up

    4 errors in 1 file
    ");
}

#[test]
fn place_without_text() {
    let diagnostic = Diagnostic::error(codes::WRONG_TYPE, "`tool` must be a string")
        .label(
            Place::path("VirtualMCPServer default/tools", "spec.steps[2].tool"),
            "expected a string",
        )
        .help("write a string");
    insta::assert_snapshot!(text(&diagnostic, &SourceMap::new(), TextOptions::default()), @r"
    error[WF022]: `tool` must be a string
    --> VirtualMCPServer default/tools: spec.steps[2].tool
     = note: expected a string
     = help: write a string
    ");
}

#[test]
fn two_files_and_far_lines() {
    let mut sources = SourceMap::new();
    let long = "x\n".repeat(1000);
    let one = sources.add("one.yaml", long.as_str());
    let two = sources.add("two.yaml", "y\n");
    let diagnostic = Diagnostic::warning(codes::DUPLICATE_KEY, "twice")
        .label(Span::new(one, 1998, 1999), "again")
        .secondary(Span::new(one, 0, 1), "first")
        .secondary(Span::new(two, 0, 1), "and here");
    insta::assert_snapshot!(text(&diagnostic, &sources, TextOptions::default()), @r"
    warning[WF005]: twice
        --> one.yaml:1000:1
         |
    1000 | x
         | ^ again
         |
        ::: one.yaml:1:1
         |
       1 | x
         | - first
         |
        ::: two.yaml:1:1
         |
       1 | y
         | - and here
    ");
}

#[test]
fn control_characters_are_not_passed_on() {
    let mut sources = SourceMap::new();
    let id = sources.add("a\u{1b}[31m.yaml", "x\u{1b}[31m: 1\n");
    let diagnostic = Diagnostic::error(codes::SYNTAX, "bad \u{1b}[31m name")
        .label(Span::new(id, 0, 1), "see \u{1b}[31m")
        .help("do \u{1b}[31m")
        .note("more \u{1b}[31m");
    let drawn = text(&diagnostic, &sources, TextOptions::default());
    assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
}

#[test]
fn colour_and_box_drawing_on_request() {
    let mut sources = SourceMap::new();
    let id = sources.add("a.yaml", "x: 1\n");
    let diagnostic = Diagnostic::error(codes::SYNTAX, "bad").label(Span::new(id, 0, 1), "here");
    let options = TextOptions {
        color: true,
        unicode: true,
        ..TextOptions::default()
    };
    let drawn = text(&diagnostic, &sources, options);
    assert!(drawn.contains('\u{1b}') && drawn.contains('│'), "{drawn}");
}

#[test]
fn a_very_long_line_is_not_drawn() {
    let mut sources = SourceMap::new();
    let id = sources.add("a.yaml", "x".repeat(100_000));
    let diagnostic =
        Diagnostic::error(codes::SYNTAX, "bad").label(Span::new(id, 50_000, 50_001), "here");
    let drawn = text(&diagnostic, &sources, TextOptions::default());
    insta::assert_snapshot!(drawn, @r"
    error[WF002]: bad
    --> a.yaml:1:50001
     = note: here
    ");
}
