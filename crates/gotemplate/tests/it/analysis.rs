//! What a template reads and calls.

use gotemplate::{Key, ParseOptions, parse};

/// Reads as text: where from the root if that is known, flags, and the source they stand in.
fn reads(source: &str) -> Vec<String> {
    let analysis = parse(source, &ParseOptions::default()).unwrap().analysis();
    let show = |read: &gotemplate::Read| {
        let segments = read.rooted.as_ref().unwrap_or(&read.segments).iter();
        let path: Vec<String> = segments
            .map(|segment| match &segment.key {
                Key::Name(name) => name.clone(),
                Key::Index(index) => index.to_string(),
                Key::Any => "*".to_owned(),
            })
            .collect();
        let known = if read.rooted.is_some() { "" } else { "?" };
        let dynamic = if read.dynamic { "!" } else { "" };
        format!(
            "{known}{}{dynamic} <{}>",
            path.join("."),
            &source[read.span.range()]
        )
    };
    analysis.reads.iter().map(show).collect()
}

#[test]
fn paths_are_followed_to_the_root() {
    for (source, want) in [
        (
            "{{.steps.a.output.x}}",
            &["steps.a.output.x <.steps.a.output.x>"] as &[&str],
        ),
        (
            "{{index .steps \"a\" \"output\" 0}}",
            &["steps.a.output.0 <index .steps \"a\" \"output\" 0>"],
        ),
        (
            "{{(index .steps \"a\").output.x}}",
            &["steps.a.output.x <(index .steps \"a\").output.x>"],
        ),
        (
            "{{index .steps .params.w \"z\"}}",
            &[
                "steps! <index .steps .params.w \"z\">",
                "params.w <.params.w>",
            ],
        ),
        ("{{.steps}}", &["steps <.steps>"]),
        (
            "{{range .l}}{{.x}}{{$.y}}{{end}}",
            &["l <.l>", "l.*.x <.x>", "y <$.y>"],
        ),
        (
            "{{range $i, $e := .l}}{{$i}}{{$e.x}}{{end}}",
            &["l <.l>", "? <$i>", "l.*.x <$e.x>"],
        ),
        (
            "{{with .a.b}}{{.c}}{{else}}{{.d}}{{end}}",
            &["a.b <.a.b>", "a.b.c <.c>", "d <.d>"],
        ),
        ("{{$v := .a}}{{$v.b}}", &["a <.a>", "a.b <$v.b>"]),
        (
            "{{$v := .a}}{{$v = .c}}{{$v.b}}",
            &["a <.a>", "c <.c>", "?b <$v.b>"],
        ),
        (
            "{{define \"t\"}}{{.x}}{{$.y}}{{end}}{{template \"t\" .p}}",
            &["p.x <.x>", "p.y <$.y>", "p <.p>"],
        ),
        ("{{define \"t\"}}{{.x}}{{end}}", &["?x <.x>"]),
        ("{{(fromJson .t).k}}", &["?k <(fromJson .t).k>", "t <.t>"]),
        ("{{if and (eq .a \"x\") .b}}{{end}}", &["a <.a>", "b <.b>"]),
        ("{{.a | printf \"%v\" .b}}", &["a <.a>", "b <.b>"]),
    ] {
        assert_eq!(reads(source), want, "{source}");
    }
}

#[test]
fn functions_have_places() {
    let source = "{{len (index .a 0)}}{{.b | json}}";
    let functions = parse(source, &ParseOptions::default())
        .unwrap()
        .analysis()
        .functions;
    let shown: Vec<(&str, &str)> = functions
        .iter()
        .map(|one| (one.name.as_str(), &source[one.span.range()]))
        .collect();
    assert_eq!(
        shown,
        [("len", "len"), ("index", "index"), ("json", "json")]
    );
}

#[test]
fn faults_have_go_s_words_and_a_place() {
    for (source, want) in [
        (
            "{{nope}}",
            "template: expand:1: function \"nope\" not defined",
        ),
        ("a\n{{.x", "template: expand:2: unclosed action"),
        ("{{if .x}}", "template: expand:1: unexpected EOF"),
        ("{{end}}", "template: expand:1: unexpected {{end}}"),
        ("{{\"\\u12\"}}", "template: expand:1: invalid syntax"),
        (
            "{{break}}",
            "template: expand:1: {{break}} outside {{range}}",
        ),
        (
            "{{1 | 2}}",
            "template: expand:1: non executable command in pipeline stage 2",
        ),
        ("{{$x}}", "template: expand:1: undefined variable \"$x\""),
    ] {
        let error = parse(source, &ParseOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), want);
        assert!(source.get(error.span.range()).is_some());
    }
}
