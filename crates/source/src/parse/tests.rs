//! What is read, and what is reported, of YAML and JSON texts.

mod properties;
mod recovery;

use std::fmt::Write as _;

use crate::{Document, Place, SourceMap, parse};

/// Each document as JSON, `…` after those that are not complete; then each fault as one line.
fn show(name: &str, text: &str) -> String {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let (documents, diagnostics) = parse(&sources, id);
    let mut lines: Vec<String> = documents
        .iter()
        .map(|document| {
            let rest = if document.complete { "" } else { " …" };
            format!("{}{rest}", document.root.to_json())
        })
        .collect();
    for item in &diagnostics {
        let severity = item.severity.as_str();
        let place = item.place().map(|place| sources.describe(place));
        let place = place.unwrap_or_default();
        lines.push(format!("{severity} {} {place} {}", item.code, item.message));
    }
    lines.join("\n")
}

fn yaml(text: &str) -> String {
    show("f", text)
}

fn json(text: &str) -> String {
    show("f.json", text)
}

fn document(text: &str) -> (SourceMap, Document) {
    let mut sources = SourceMap::new();
    let id = sources.add("f.yaml", text);
    let (mut documents, diagnostics) = parse(&sources, id);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    (sources, documents.remove(0))
}

#[test]
fn yaml_values_keep_their_types_and_order() {
    let text = "b: 1\na: 1.0\nbig: 18446744073709551615\nt: true\nn:\nq: '1'\nl: [x, {y: z}]\ns:\n- 1\n-\n";
    assert_eq!(
        yaml(text),
        r#"{"b":1,"a":1.0,"big":18446744073709551615,"t":true,"n":null,"q":"1","l":["x",{"y":"z"}],"s":[1,null]}"#
    );
}

#[test]
fn several_documents_and_empty_ones() {
    assert_eq!(
        yaml("---\na: 1\n---\n# nothing\n---\nb: 2\n...\n"),
        "{\"a\":1}\n{\"b\":2}"
    );
    assert_eq!(yaml(""), "");
    assert_eq!(yaml("# only a comment\n"), "");
    assert_eq!(yaml("null\n"), "null");
}

#[test]
fn scalars_of_yaml_1_1_warn() {
    assert_eq!(
        yaml("a: yes\nb: 0755\nc: 'no'\non: 1\n"),
        "{\"a\":\"yes\",\"b\":755,\"c\":\"no\",\"on\":1}\n\
         warning WF009 f:1:4 `yes` is text in YAML 1.2, and was a boolean in YAML 1.1\n\
         warning WF010 f:2:4 `0755` is the decimal number 755 in YAML 1.2, and was octal in YAML 1.1"
    );
}

#[test]
fn numbers_json_cannot_hold_warn() {
    assert_eq!(
        yaml("a: 123456789012345678901\nb: .inf\n"),
        "{\"a\":1.2345678901234568e+20,\"b\":\".inf\"}\n\
         warning WF011 f:1:4 `123456789012345678901` has more digits than a number keeps\n\
         warning WF011 f:2:4 `.inf` is a number that JSON data cannot hold"
    );
}

#[test]
fn keys_are_text() {
    assert_eq!(
        yaml("1: a\ntrue: b\n[x]: c\n"),
        "{\"1\":\"a\",\"true\":\"b\"}\n\
         warning WF006 f:1:1 the key `1` is a number, taken as text\n\
         warning WF006 f:2:1 the key `true` is a boolean, taken as text\n\
         error WF007 f:3:1 a sequence cannot be a key"
    );
}

#[test]
fn duplicate_keys_keep_the_first() {
    let expected = "{\"a\":1,\"b\":2}\nerror WF005 f:3:1 the key `a` is written twice";
    assert_eq!(yaml("a: 1\nb: 2\na: 3\n"), expected);
    let expected = "{\"a\":1}\nerror WF005 f.json:1:9 the key `a` is written twice";
    assert_eq!(json(r#"{"a":1, "a":2}"#), expected);
}

#[test]
fn templates_without_quotes_are_read_as_text() {
    assert_eq!(
        yaml("a: {{ .x }}\nb: {{ .y | default \"z\" }}\nc: {d: 1}\n"),
        "{\"a\":\"{{ .x }}\",\"b\":\"{{ .y | default \\\"z\\\" }}\",\"c\":{\"d\":1}}\n\
         error WF008 f:1:4 a value that starts with `{{` must be quoted\n\
         error WF008 f:2:4 a value that starts with `{{` must be quoted"
    );
}

#[test]
fn aliases_and_merge_keys() {
    assert_eq!(
        yaml(
            "base: &b {x: 1, y: 2}\na: *b\nm:\n  <<: *b\n  y: 3\n  z: 4\nl:\n  <<: [*b, {x: 9, w: 0}]\nq: {'<<': 1}\n"
        ),
        r#"{"base":{"x":1,"y":2},"a":{"x":1,"y":2},"m":{"x":1,"y":3,"z":4},"l":{"x":1,"y":2,"w":0},"q":{"<<":1}}"#
    );
    assert_eq!(
        yaml("a: &a [*a]\nb:\n  <<: 3\n"),
        "{\"a\":[null],\"b\":{}}\n\
         error WF013 f:1:8 an alias inside the value it stands for\n\
         error WF013 f:3:7 the merge key `<<` needs a mapping or a sequence of mappings, but has a number"
    );
}

#[test]
fn tags() {
    assert_eq!(
        yaml("a: !!str 12\nb: !!int '7'\nc: !!int x\nd: !mine 3\ne: !!map {}\nf: ! 12\n"),
        "{\"a\":\"12\",\"b\":7,\"c\":\"x\",\"d\":3,\"e\":{},\"f\":\"12\"}\n\
         error WF012 f:3:10 the value does not fit its tag `!!int`\n\
         warning WF012 f:4:10 the tag `!mine` has no meaning here"
    );
}

#[test]
fn expansion_is_bounded() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let item = format!("*a{}, ", level - 1).repeat(10);
        let item = item.trim_end_matches(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{item}]");
    }
    assert!(yaml(&bomb).contains("WF004"), "nodes");
    assert!(yaml(&"[".repeat(200)).contains("WF0"), "flow depth");
    assert!(
        yaml(&"- ".repeat(200)).contains("nested deeper than 128"),
        "block depth"
    );
    assert!(
        json(&"[".repeat(100_000)).contains("nested deeper than 128"),
        "JSON depth"
    );
    assert!(
        yaml(&" ".repeat(crate::SOURCE_BYTES_MAX + 1)).contains("WF004"),
        "bytes"
    );
}

#[test]
fn json_is_exact() {
    assert_eq!(
        json(
            "\u{feff}{\n\t\"a\": 18446744073709551615, \"b\": -0.0, \"c\": \"\\ud83d\\ude00\\/\", \"d\": 1e2, \"e\": [], \"y\": \"yes\"\n}"
        ),
        r#"{"a":18446744073709551615,"b":-0.0,"c":"😀/","d":100.0,"e":[],"y":"yes"}"#
    );
    assert_eq!(
        json("{\"a\": 123456789012345678901}"),
        "{\"a\":1.2345678901234568e+20}\nwarning WF011 f.json:1:7 `123456789012345678901` has more digits than a number keeps"
    );
}

#[test]
fn settings_files_with_comments_and_trailing_commas() {
    assert_eq!(
        json("{ // why\n \"a\": [1, 2,],\n /* b */ }"),
        "{\"a\":[1,2]}\n\
         warning WF016 f.json:1:3 a comment is not standard JSON\n\
         warning WF016 f.json:2:12 a trailing comma is not standard JSON\n\
         warning WF016 f.json:2:14 a trailing comma is not standard JSON\n\
         warning WF016 f.json:3:2 a comment is not standard JSON"
    );
}

#[test]
fn places_of_parts_of_texts() {
    let text = "p: see {{ .x }}\ns: 'it''s {{ .x }}'\nd: \"\\t\\u00e9 {{ .x }}\"\nl: |\n\n  one\n    {{ .x }}\n  é {{ .x }}\nf: >\n  fold\n  {{ .x }}\n\n  {{ .x }}\nm: two\n  lines {{ .x }}\na: &anchor |-\n   {{ .x }}\nq: \"fold\n\n  {{ .x }}\"\n";
    let (sources, document) = document(text);
    let mut seen = 0;
    for entry in document.root.as_mapping().unwrap() {
        let value = entry.value.as_text().unwrap();
        for (at, found) in value.match_indices("{{ .x }}") {
            let place = value.place_of(at..at + found.len());
            let Place::Span(span) = place else {
                panic!("a path")
            };
            assert_eq!(sources.slice(span), found, "{} at {at}", entry.key);
            seen += 1;
        }
    }
    assert_eq!(seen, 10);
}

#[test]
fn an_escape_is_one_place() {
    let (sources, document) = document("d: \"a\\u00e9b\"\n");
    let value = document.root.get("d").unwrap().as_text().unwrap();
    let slice = |range| sources.slice(value.place_of(range).span().unwrap());
    assert_eq!(slice(1..3), "\\u00e9");
    assert_eq!(slice(3..4), "b");
    assert_eq!(slice(0..4), "a\\u00e9b");
    assert_eq!(slice(4..4), "");
    assert_eq!(slice(9..90), "");
}

#[test]
fn nodes_have_their_own_text() {
    let text = "a: &x  'one'  # c\nb: !!str  two\nc: |\n  three\n\nd: [1, {e: 2}]\nf:\n  g: 1\n  h: *x\ni:\n";
    let (sources, document) = document(text);
    let slice = |path: &[&str]| {
        let node = path
            .iter()
            .fold(&document.root, |node, key| node.get(key).unwrap());
        sources.slice(node.place.span().unwrap())
    };
    assert_eq!(slice(&["a"]), "'one'");
    assert_eq!(slice(&["b"]), "two");
    assert_eq!(slice(&["c"]), "three");
    assert_eq!(slice(&["d"]), "[1, {e: 2}]");
    assert_eq!(slice(&["f"]), "g: 1\n  h: *x");
    assert_eq!(slice(&["i"]), "");
    let root = document.root.place.span().unwrap();
    assert_eq!(sources.slice(root), text.trim_end_matches(":\n"));
}

/// The blocks of a diagnostics page: the example, then the fix. The whole file below them is checked by `config`.
fn blocks(page: &str) -> Vec<&str> {
    let page = page.split("\n## In a file").next().unwrap_or(page);
    page.split("\n```")
        .filter_map(|part| {
            part.strip_prefix("yaml\n")
                .or_else(|| part.strip_prefix("json\n"))
        })
        .collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the pages are files")]
fn pages_show_what_they_say() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics");
    let raised_here = [
        "WF002", "WF003", "WF005", "WF006", "WF007", "WF008", "WF009", "WF010", "WF011", "WF012",
        "WF013", "WF016",
    ];
    for code in raised_here {
        let page = std::fs::read_to_string(folder.join(format!("{code}.md"))).unwrap();
        let name = if page.contains("```json") {
            "f.json"
        } else {
            "f"
        };
        let [bad, good] = blocks(&page)[..] else {
            panic!("{code}: an example and its fix")
        };
        assert!(
            show(name, bad).contains(code),
            "{code}: {}",
            show(name, bad)
        );
        let fixed = show(name, good);
        assert!(!fixed.contains("WF"), "{code}: {fixed}");
    }
}
