//! For any text: reading ends, places lie inside the text, and parts of values are found where they stand.

use proptest::prelude::*;

use crate::{Node, NodeKind, Place, SourceMap, parse};

/// Every place of the tree is a range of characters of the text.
fn check_places(node: &Node, sources: &SourceMap, text: &str) {
    let check = |place: &Place| {
        let span = place.span().unwrap();
        assert!(text.get(span.range()).is_some(), "{span:?} in {text:?}");
        assert!(sources.position(span).line >= 1);
    };
    check(&node.place);
    match &node.kind {
        NodeKind::String(value) => {
            for (at, c) in value.char_indices() {
                check(&value.place_of(at..at + c.len_utf8()));
            }
            check(&value.place_of(0..value.len()));
        }
        NodeKind::Sequence(items) => {
            for item in items {
                check_places(item, sources, text);
            }
        }
        NodeKind::Mapping(entries) => {
            for entry in entries {
                check(entry.key.place());
                check_places(&entry.value, sources, text);
            }
        }
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => {}
    }
}

fn check(name: &str, text: &str) {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let (documents, diagnostics) = parse(&sources, id);
    for document in &documents {
        check_places(&document.root, &sources, text);
    }
    for item in &diagnostics {
        for label in &item.labels {
            let span = label.place.span().unwrap();
            assert!(text.get(span.range()).is_some(), "{item:?} in {text:?}");
        }
        let drawn = crate::render::text(item, &sources, crate::render::TextOptions::default());
        assert!(drawn.starts_with(item.severity.as_str()));
    }
    let incomplete = documents.iter().any(|document| !document.complete);
    assert!(!incomplete || diagnostics.has_errors(), "{text:?}");
}

/// Pieces that YAML and JSON give a meaning to, so that odd combinations come up.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b: ", "- ", "\n", "\n  ", "\n    ", "\t", "'", "\"", "\\", "\\n", "\\u00e9",
        "\\ud83d", "{", "}", "[", "]", ", ", ":", "#", " ", "|", ">", "|-", ">+", "|2", "&x ",
        "*x", "!!str ", "!t ", "<<: ", "---\n", "...\n", "? ", "%", "@", "`", "é", "名",
        "\u{feff}", "\r\n", "\r", "\0", "0755", "yes", "1e9", "{{ .x }}", "\u{85}", "\u{2028}",
        "//", "/*", "*/", "null",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// The value in one of the styles a scalar can be written in, as the only entry of a mapping.
fn written(value: &str, style: usize) -> String {
    match style {
        0 => format!("key: '{}'\n", value.replace('\'', "''")),
        1 => format!("key: {}\n", serde_json::to_string(value).unwrap()),
        2 => format!("key: |2-\n  {}\n", value.replace('\n', "\n  ")),
        _ => format!("key: |2-\r\n  {}\r\n", value.replace('\n', "\r\n  ")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        check("f.yaml", &text);
        check("f.json", &text);
    }

    #[test]
    fn any_mix_of_marks_is_read(text in pieces()) {
        check("f.yaml", &text);
        check("f.json", &text);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut sources = SourceMap::new();
        let (id, fault) = sources.add_bytes("f.yaml", bytes.clone());
        prop_assert_eq!(fault.is_some(), String::from_utf8(bytes).is_err());
        let text = sources.get(id).text().to_owned();
        if let Some(fault) = fault {
            let span = fault.place().unwrap().span().unwrap();
            prop_assert!(text.get(span.range()).is_some());
        }
        check("f.yaml", &text);
    }

    #[test]
    fn parts_are_found_where_they_stand(
        value in "[a-zé'\"{} .]{1,8}(\n[a-zé'\"{} .]{0,8}){0,3}[a-z]",
        style in 0_usize..4,
    ) {
        // A single-quoted scalar folds its lines; keep it to one.
        let value = if style == 0 { value.replace('\n', "x") } else { value };
        let text = written(&value, style);
        let mut sources = SourceMap::new();
        let id = sources.add("f.yaml", text.as_str());
        let (documents, diagnostics) = parse(&sources, id);
        prop_assert!(diagnostics.is_empty(), "{:?} in {:?}", diagnostics, text);
        let found = documents[0].root.get("key").unwrap().as_text().unwrap();
        prop_assert_eq!(found.as_str(), value.as_str());
        for (at, c) in value.char_indices() {
            let span = found.place_of(at..at + c.len_utf8()).span().unwrap();
            let slice = sources.slice(span);
            let expected = match (style, c) {
                (0, '\'') => "''".to_owned(),
                (1, '"') => "\\\"".to_owned(),
                (1, '\n') => "\\n".to_owned(),
                (3, '\n') => "\r\n".to_owned(),
                _ => c.to_string(),
            };
            prop_assert_eq!(slice, expected, "{} of {:?}", at, text);
        }
    }

    #[test]
    fn json_is_read_as_by_others(value in json_value()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        for name in ["f.json", "f.yaml"] {
            let mut sources = SourceMap::new();
            let id = sources.add(name, text.as_str());
            let (documents, diagnostics) = parse(&sources, id);
            prop_assert!(!diagnostics.has_errors(), "{:?}", diagnostics);
            prop_assert_eq!(documents[0].root.to_json(), value.clone());
        }
    }
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        (-1e9..1e9).prop_map(|number: f64| number.into()),
        "[ -~é名]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec(("[a-z \"]{1,6}", inner), 0..5)
                .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
        ]
    })
}
