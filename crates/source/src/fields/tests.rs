//! What each reader returns and reports.

use super::Fields;
use crate::render::{TextOptions, report};
use crate::{Diagnostics, SourceMap, parse};

fn read(text: &str, read: impl FnOnce(&mut Fields<'_>, &mut Diagnostics)) -> String {
    let mut sources = SourceMap::new();
    let id = sources.add("f.yaml", text);
    let (documents, mut diagnostics) = parse(&sources, id);
    if let Some(mut fields) = Fields::read(&documents[0].root, "a step", &mut diagnostics) {
        read(&mut fields, &mut diagnostics);
        fields.finish(&mut diagnostics);
    }
    diagnostics.sort();
    report(&diagnostics, &sources, TextOptions::default())
}

#[test]
fn what_fits_is_returned() {
    let text = "id: a\nsecret: true\nretries: 3\nratio: 0.5\nmode: abort\nneeds: [x, y]\nwith: {k: v}\nnothing:\n";
    let shown = read(text, |fields, diagnostics| {
        assert_eq!(*fields.required_string("id", diagnostics).unwrap(), "a");
        assert!(fields.optional_bool("secret", diagnostics).unwrap().value);
        let retries = fields.optional_integer("retries", 0..=10, diagnostics);
        assert_eq!(retries.unwrap().value, 3);
        let ratio = fields.optional_amount("ratio", diagnostics);
        assert_eq!(ratio.map(|ratio| ratio.value), Some(0.5));
        let mode = fields.optional_choice("mode", &["abort", "continue"], diagnostics);
        assert_eq!(mode.unwrap().value, "abort");
        assert_eq!(fields.string_sequence("needs", diagnostics).len(), 2);
        assert_eq!(*fields.mapping("with", diagnostics)[0].key, *"k");
        assert!(fields.optional_string("nothing", diagnostics).is_none());
        assert!(fields.optional_fields("absent", diagnostics).is_none());
        assert!(fields.sequence("absent", diagnostics).is_empty());
    });
    assert_eq!(shown, "no faults\n");
}

#[test]
fn what_does_not_fit_is_reported() {
    let text = "version: 1.0\nsecret: yes please\nretries: 11\nmode: aborted\nneeds: x\ntool:\ndepends_on: []\n";
    let shown = read(text, |fields, diagnostics| {
        fields.required_string("id", diagnostics);
        fields.required_string("tool", diagnostics);
        fields.optional_string("version", diagnostics);
        fields.optional_bool("secret", diagnostics);
        fields.optional_integer("retries", 0..=10, diagnostics);
        fields.optional_choice("mode", &["abort", "continue"], diagnostics);
        fields.string_sequence("needs", diagnostics);
        fields.string_sequence("dependsOn", diagnostics);
    });
    insta::assert_snapshot!(shown, @r#"
    error[WF021]: a step has no `id`
     --> f.yaml:1:1
      |
    1 | version: 1.0
      | ^^^^^^^ `id` is missing here
      |
      = help: add `id:`

    error[WF022]: `version` must be a string, but is a number
     --> f.yaml:1:10
      |
    1 | version: 1.0
      |          ^^^ expected a string
      |
      = help: write it in quotes: `"1.0"`

    error[WF022]: `secret` must be a boolean, but is a string
     --> f.yaml:2:9
      |
    2 | secret: yes please
      |         ^^^^^^^^^^ expected a boolean
      |
      = help: write `true` or `false`

    error[WF025]: `retries` cannot be 11
     --> f.yaml:3:10
      |
    3 | retries: 11
      |          ^^ out of range
      |
      = help: use a number from 0 to 10

    error[WF024]: `mode` cannot be `aborted`
     --> f.yaml:4:7
      |
    4 | mode: aborted
      |       ^^^^^^^ unknown value
      |
      = help: did you mean `abort`?
      = help: use one of `abort`, `continue`

    error[WF022]: `needs` must be a sequence, but is a string
     --> f.yaml:5:8
      |
    5 | needs: x
      |        ^ expected a sequence
      |
      = help: write it as a list, each item after `- `

    error[WF023]: `tool` has no value
     --> f.yaml:6:1
      |
    6 | tool:
      | ^^^^ a value is needed

    error[WF020]: a step has no key named `depends_on`
     --> f.yaml:7:1
      |
    7 | depends_on: []
      | ^^^^^^^^^^ unknown key
      |
      = help: a key named `dependsOn` exists

    8 errors in 1 file
    "#);
}

#[test]
fn a_key_that_is_asked_for_twice_is_named_once() {
    let shown = read("other: 1\n", |fields, diagnostics| {
        fields.optional_string("tool", diagnostics);
        fields.entry("tool");
    });
    assert!(shown.contains("known keys: `tool`\n"), "{shown}");
}

#[test]
fn not_a_mapping() {
    insta::assert_snapshot!(read("- 1\n- 2\n", |_, _| {}), @r"
    error[WF022]: a step must be a mapping, but is a sequence
     --> f.yaml:1:1
      |
    1 | - 1
      | ^^^ expected a mapping
      |
      = help: write it without `- `, each entry as `name: value`

    1 error in 1 file
    ");
}

#[test]
fn missing_keys_are_not_claimed_after_a_syntax_fault() {
    let shown = read("a: 1\nb: c: d\n", |fields, diagnostics| {
        assert!(fields.required("id", diagnostics).is_none());
        fields.optional("a");
    });
    assert!(!shown.contains("WF021"), "{shown}");
    assert!(shown.contains("1 error in 1 file"), "{shown}");
}

#[test]
fn the_rest_is_taken_on_request() {
    let shown = read("id: a\nx: 1\ny: 2\n", |fields, diagnostics| {
        fields.required_string("id", diagnostics);
        let keys: Vec<&str> = fields
            .rest()
            .iter()
            .map(|entry| entry.key.as_str())
            .collect();
        assert_eq!(keys, ["x", "y"]);
    });
    assert_eq!(shown, "no faults\n");
}
