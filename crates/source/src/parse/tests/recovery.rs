//! After a syntax fault the rest is read: other faults and other documents are found in the same go.

use super::{json, yaml};
use crate::{Diagnostic, SourceMap, parse};

#[test]
fn two_faults_of_one_document() {
    assert_eq!(
        yaml("a: b: c\nd: 1\ne: @x\nf: 2\n"),
        "{\"d\":1,\"e\":null,\"f\":2} …\n\
         error WF002 f:1:5 a second `:` in a line, or a line indented too far\n\
         error WF002 f:3:4 a value cannot start with `@`"
    );
}

#[test]
fn other_documents_are_read() {
    assert_eq!(
        yaml("a: 1\n---\nx: [1\n---\nb: 2\n---\ny: *no\n---\nc: 3\n"),
        "{\"a\":1}\n{\"x\":[1]} …\n{\"b\":2}\n{\"y\":null} …\n{\"c\":3}\n\
         error WF002 f:4:1 a `[` or `{` is not closed, or its items are not separated\n\
         error WF013 f:7:4 no anchor is named `no`"
    );
}

#[test]
fn faults_of_shape_are_kept_beside_faults_of_syntax() {
    assert_eq!(
        yaml("a: 1\na: 2\nq: 'open\n"),
        "{\"a\":1,\"q\":null} …\n\
         error WF005 f:2:1 the key `a` is written twice\n\
         error WF002 f:3:4 a quoted text is not closed"
    );
}

#[test]
fn tabs_are_reported_once() {
    assert_eq!(
        yaml("a:\n\tb: 1\n\tc: 2\n"),
        "{\"a\":null} …\nerror WF003 f:2:1 a tab in the indentation"
    );
}

#[test]
fn a_template_with_text_after_it() {
    let shown = yaml("a: {{ .x }}/y\nb: 1\n");
    assert!(shown.contains("f:1:"), "{shown}");
}

#[test]
fn missing_colon() {
    assert_eq!(
        yaml("a: 1\nb\nc: 2\n"),
        "{\"a\":1,\"c\":2} …\nerror WF002 f:2:1 a line without `:` where a key is needed"
    );
}

#[test]
fn json_goes_on_after_a_fault() {
    assert_eq!(
        json("{\"a\" 1, \"b\": yes \"c\": 3, d: 4, \"e\": \"x\n}"),
        "{\"a\":1,\"b\":\"yes\",\"c\":3,\"d\":4,\"e\":\"x\"} …\n\
         error WF002 f.json:1:6 a key without `:`\n\
         error WF002 f.json:1:14 not a JSON value\n\
         error WF002 f.json:1:18 a missing comma\n\
         error WF002 f.json:1:26 a key that is no string\n\
         error WF002 f.json:1:37 a string is not closed"
    );
    assert_eq!(
        json("{\"a\": [1, 2}"),
        "{\"a\":[1,2]} …\n\
         error WF002 f.json:1:1 a bracket is not closed\n\
         error WF002 f.json:1:12 brackets that do not match"
    );
    assert_eq!(
        json("{} x"),
        "{} …\nerror WF002 f.json:1:4 text after the end of the JSON value"
    );
    assert_eq!(
        json("{\"a\":"),
        "null …\nerror WF002 f.json:1:5 the file ends where a value is due"
    );
}

#[test]
fn a_file_of_utf_16_has_one_fault_and_those_of_its_text() {
    let shown = |text: &str, unit: fn(u16) -> [u8; 2]| {
        let text = format!("\u{feff}{text}");
        let bytes = text.encode_utf16().flat_map(unit).collect();
        let mut sources = SourceMap::new();
        let (id, fault) = sources.add_bytes("f.yaml", bytes);
        let (documents, faults) = parse(&sources, id);
        let place = |item: &Diagnostic| {
            let place = item.place().map(|place| sources.describe(place));
            format!("{} {}", item.code, place.unwrap_or_default())
        };
        let all: Vec<String> = fault.iter().chain(&faults).map(place).collect();
        let roots = documents.iter().map(|document| document.root.to_json());
        let roots: Vec<String> = roots.map(|root| root.to_string()).collect();
        (all.join(", "), roots.join(" "))
    };
    for unit in [u16::to_le_bytes, u16::to_be_bytes] {
        let (faults, root) = shown("a: é\nb: '𝄞'\n", unit);
        assert_eq!(faults, "WF001 f.yaml:1:1");
        assert_eq!(root, r#"{"a":"é","b":"𝄞"}"#);
        let (faults, _) = shown("a: 1\na: 2\n", unit);
        assert_eq!(faults, "WF001 f.yaml:1:1, WF005 f.yaml:2:1");
    }
}
