//! Paths found from places, and documents without text.

use serde_json::json;

use crate::{Document, Place, SourceMap, Span, parse};

#[test]
fn the_path_of_a_span() {
    let text = "compositeTools:\n  - name: a\n    steps:\n      - id: one\n      - id: two\n        tool: x.y\nlabels:\n  a b: 1\n  c.d/e: 2\n";
    let mut sources = SourceMap::new();
    let id = sources.add("f.yaml", text);
    let (documents, _) = parse(&sources, id);
    let path = |needle: &str| {
        let at = text.find(needle).unwrap();
        let place = Place::Span(Span::new(id, at, at + needle.len()));
        documents[0].path_at(&place).unwrap()
    };
    assert_eq!(path("x.y"), "compositeTools[0].steps[1].tool");
    assert_eq!(path("tool"), "compositeTools[0].steps[1].tool");
    assert_eq!(path("id: two"), "compositeTools[0].steps[1]");
    assert_eq!(path("a b"), "labels[\"a b\"]");
    assert_eq!(path("c.d/e"), "labels[\"c.d/e\"]");
    assert_eq!(path(text.trim_end()), "");
    let elsewhere = sources.add("g.yaml", text);
    assert_eq!(
        documents[0].path_at(&Span::new(elsewhere, 0, 1).into()),
        None
    );
}

#[test]
fn resources_without_text_have_paths() {
    let value = json!({"spec": {"steps": [{"tool": "t"}]}});
    let document = Document::from_json("VirtualMCPServer default/a", &value);
    let tool = document.root.get("spec").unwrap().get("steps").unwrap();
    let tool = tool.as_sequence().unwrap()[0].get("tool").unwrap();
    assert_eq!(
        tool.place,
        Place::path("VirtualMCPServer default/a", "spec.steps[0].tool")
    );
    assert_eq!(tool.as_text().unwrap().place_of(0..1), tool.place);
    assert_eq!(document.path_at(&tool.place).unwrap(), "spec.steps[0].tool");
    assert_eq!(document.root.to_json(), value);
}
