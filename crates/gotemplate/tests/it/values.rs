//! Whole values keep their types, and what is missing is reported with its place.

use std::borrow::Cow;

use gotemplate::{
    Evaluated, List, MissingKey, Node, Object, ParseOptions, RenderErrorKind, RenderOptions,
    Template, parse,
};
use serde_json::{Value, json};

fn template(source: &str) -> Template {
    parse(source, &ParseOptions::default()).unwrap()
}

#[test]
fn whole_values_are_recognised() {
    for source in [
        "{{ .a }}",
        "{{- .a -}}",
        "{{index .l 0}}",
        "{{or .a .b}}",
        "{{len .x}}",
        "{{/* c */}}{{.a}}",
        "{{.a | json}}",
        " {{- .a -}} \n",
    ] {
        assert!(template(source).is_whole_value(), "{source}");
    }
    for source in [
        "",
        "x",
        " {{.a}}",
        "{{.a}}\n",
        "{{.a}}{{.b}}",
        "{{if .a}}x{{end}}",
        "{{$x := 1}}",
        "{{with .a}}{{.}}{{end}}",
        "{{define \"a\"}}{{end}}{{.a}}",
        "{{template \"x\"}}",
    ] {
        assert!(!template_or_text(source), "{source}");
    }
    assert!(template("plain {text}").is_constant());
    assert!(!template("{{.a}}").is_constant());
}

fn template_or_text(source: &str) -> bool {
    parse(source, &ParseOptions::default()).is_ok_and(|template| template.is_whole_value())
}

#[test]
fn values_keep_their_types_and_are_borrowed() {
    let data = json!({"a": {"b": [1, 2.5, null]}, "n": null, "s": "text", "t": "{\"k\": [1, {\"d\": 12345678901}]}"});
    let value = |source: &str| match template(source)
        .value(&data, &RenderOptions::default())
        .unwrap()
    {
        Evaluated::Value(value) => value.into_owned(),
        Evaluated::Missing(span) => json!(["missing", &source[span.range()]]),
    };
    assert_eq!(value("{{.a}}"), data["a"]);
    assert_eq!(value("{{.n}}"), Value::Null);
    assert_eq!(value("{{(.n)}}"), Value::Null);
    assert_eq!(value("{{index .a.b 1}}"), json!(2.5));
    assert_eq!(value("{{len .a.b}}"), json!(3));
    assert_eq!(value("{{eq .s \"text\"}}"), json!(true));
    assert_eq!(value("{{json .a}}"), json!("{\"b\":[1,2.5,null]}"));
    assert_eq!(
        value("{{(fromJson .t).k}}"),
        json!([1, {"d": 12_345_678_901_i64}])
    );
    assert_eq!(
        value("{{fromJson .t}}"),
        json!({"k": [1, {"d": 12_345_678_901_i64}]})
    );
    assert_eq!(value("{{or .nope .s}}"), json!("text"));
    assert_eq!(value("{{.a.nope}}"), json!(["missing", ".a.nope"]));
    assert_eq!(
        value("{{index .a \"nope\"}}"),
        json!(["missing", "index .a \"nope\""])
    );
    assert_eq!(value("{{print .nope}}"), json!(["missing", ".nope"]));
    assert_eq!(value("x{{.s}}"), json!("xtext"));
    let borrowed = template("{{ .a.b }}");
    let evaluated = borrowed.value(&data, &RenderOptions::default()).unwrap();
    assert!(
        matches!(evaluated, Evaluated::Value(Cow::Borrowed(value)) if std::ptr::eq(value, &raw const data["a"]["b"]))
    );
}

#[test]
fn missing_spans_are_reported_once_each() {
    let source = "{{.a}} {{.b.c}} {{range .l}}{{.x}}{{end}} {{$v := .z}}{{$v}} {{printf \"%v\" .q}} {{.n}} {{if .nope}}{{end}}";
    let data = json!({"a": 1, "l": [{}, {}], "n": null});
    let rendered = template(source)
        .render(&data, &RenderOptions::default())
        .unwrap();
    let shown: Vec<&str> = rendered
        .missing
        .iter()
        .map(|span| &source[span.range()])
        .collect();
    assert_eq!(shown, [".b.c", ".x", "$v", ".q"]);
    let strict = RenderOptions {
        missing_key: MissingKey::Error,
        ..RenderOptions::default()
    };
    let error = template(source).render(&data, &strict).unwrap_err();
    assert_eq!(error.kind, RenderErrorKind::MissingKey);
    assert_eq!(
        error.to_string(),
        "template: expand:1:11: executing \"expand\" at <.b.c>: map has no entry for key \"b\""
    );
    assert_eq!(&source[error.span.range()], ".b.c");
}

/// An object whose fields are found when they are read.
struct Lazy(Value);

impl Object for Lazy {
    fn get(&self, key: &str) -> Option<Node<'_>> {
        match key {
            "output" => Some(Node::Json(&self.0)),
            "status" => Some(Node::Str("completed")),
            "count" => Some(Node::Int(2)),
            "self" => Some(Node::Object(self)),
            "list" => Some(Node::List(self)),
            "none" => Some(Node::NilMap),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<Cow<'_, str>> {
        ["status", "output", "count"].map(Cow::Borrowed).to_vec()
    }
}

impl List for Lazy {
    fn get(&self, index: usize) -> Option<Node<'_>> {
        (index < 3).then_some(Node::Int(7))
    }

    fn len(&self) -> usize {
        3
    }
}

#[test]
fn objects_of_the_caller_look_like_maps() {
    let lazy = Lazy(json!({"x": 1}));
    let render = |source: &str| {
        template(source)
            .render(Node::Object(&lazy), &RenderOptions::default())
            .unwrap()
            .into_string()
    };
    assert_eq!(
        render("{{.status}} {{.output.x}} {{.self.self.count}}"),
        "completed 1 2"
    );
    assert_eq!(
        render("{{.}}"),
        "map[count:2 output:map[x:1] status:completed]"
    );
    assert_eq!(
        render("{{json .}}"),
        r#"{"count":2,"output":{"x":1},"status":"completed"}"#
    );
    assert_eq!(
        render("{{range $k, $v := .}}{{$k}} {{end}}{{len .}}"),
        "count output status 3"
    );
    assert_eq!(
        render("{{.list}} {{slice .list 1}} {{index .list 2}} {{len .list}}"),
        "[7 7 7] [7 7] 7 3"
    );
    assert_eq!(
        render("{{.none}} {{json .none}} {{eq .none nil}} {{.none.x}}"),
        "map[] null true <no value>"
    );
    let value = template("{{.self}}")
        .value(Node::Object(&lazy), &RenderOptions::default())
        .unwrap();
    assert_eq!(
        value,
        Evaluated::Value(Cow::Owned(
            json!({"count": 2, "output": {"x": 1}, "status": "completed"})
        ))
    );
}
