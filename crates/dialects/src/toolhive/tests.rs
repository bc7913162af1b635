//! Templates become programs, durations become times.

use super::expressions::Reader;
use super::parse_duration;
use onecall_source::{Diagnostics, Place, Text};
use onecall_workflow::expression::{GoOptions, Program};
use std::time::Duration;

/// How a value in an argument is understood: `path …`, `go`, `text`, or the message of its fault.
fn understood(text: &str) -> String {
    let mut diagnostics = Diagnostics::new();
    let reader = Reader {
        go: GoOptions::default(),
    };
    let text = Text::new(text, Place::path("test", ""));
    let expression = reader.value(&text, "it", &mut diagnostics);
    if let Some(fault) = diagnostics.iter().find(|found| found.is_error()) {
        return fault.message.clone();
    }
    match expression.program {
        Program::Path(path) => format!("path {path}"),
        Program::Go(_) => "go".to_owned(),
        Program::Text(_) => "text".to_owned(),
        Program::Jq(_) | Program::Mixed(_) => "jq".to_owned(),
    }
}

#[test]
fn bare_paths_are_paths() {
    let cases = [
        ("{{.params.a}}", "path input.a"),
        ("{{ .params.a.b_c }}", "path input.a.b_c"),
        ("{{- .params.a -}}", "path input.a"),
        (" {{- .params.a -}} ", "path input.a"),
        ("{{.params}}", "path input"),
        ("{{.steps.s.output}}", "path steps.s.output"),
        ("{{.steps.s.output.a.b}}", "path steps.s.output.a.b"),
        ("{{.steps.s.status}}", "path steps.s.status"),
        ("{{.forEach.item.x}}", "path item.item.x"),
        ("{{.forEach.index}}", "path item.index"),
        ("{{.workflow.id}}", "path run.id"),
    ];
    for (text, expected) in cases {
        assert_eq!(understood(text), expected, "{text}");
    }
}

#[test]
fn everything_else_is_a_program_or_text() {
    let programs = [
        " {{.params.a}}",
        "{{.params.a}}{{.params.b}}",
        "x {{.params.a}}",
        "{{json .params.a}}",
        "{{.params.a | json}}",
        "{{index .params \"a\"}}",
        "{{.steps.s}}",
        "{{.vars.x}}",
        "{{.}}",
        "{{$.params.a}}",
        "{{/* note */}}",
    ];
    for text in programs {
        assert_eq!(understood(text), "go", "{text}");
    }
    for text in ["", "plain", "{ {", "}}", "$VAR"] {
        assert_eq!(understood(text), "text", "{text}");
    }
}

#[test]
fn faults_of_templates_are_told() {
    assert!(understood("{{.params.a").contains("cannot be parsed"));
    assert!(understood("{{.params.a \"b").contains("cannot be parsed"));
    assert!(understood("{{toYaml .params.a}}").contains("calls `toYaml`"));
    assert!(understood("{{.params.1x}}").contains("cannot be parsed"));
}

#[test]
fn the_functions_listed_are_those_that_templates_have() {
    for name in super::FUNCTIONS {
        let found = understood(&format!("{{{{{name} .params.a .params.b}}}}"));
        assert!(!found.contains("does not exist"), "{name}: {found}");
    }
}

#[test]
fn durations_of_both_documents() {
    let millis = |text: &str| parse_duration(text).map(|duration| duration.as_millis());
    assert_eq!(millis("30s"), Some(30_000));
    assert_eq!(millis("5m"), Some(300_000));
    assert_eq!(millis("1h30m"), Some(5_400_000));
    assert_eq!(millis("1.5h"), Some(5_400_000));
    assert_eq!(millis("500ms"), Some(500));
    assert_eq!(millis("1500us"), Some(1));
    assert_eq!(millis("10ns"), Some(1));
    assert_eq!(millis("20\u{b5}s"), Some(1));
    assert_eq!(parse_duration("0s"), Some(Duration::ZERO));
    for text in [
        "",
        "10",
        "1d",
        "-5s",
        "s",
        "1.s",
        ".5s",
        "1 s",
        "1h 2m",
        "1..5s",
        "99999999h",
    ] {
        assert_eq!(parse_duration(text), None, "{text}");
    }
}
