//! Schemas as forms: each kind of field, what is shown in it, and what comes back of it.

use super::*;
use serde_json::json;

fn schema() -> Value {
    json!({ "type": "object", "required": ["name"], "properties": {
        "name": { "type": "string", "title": "<Name>", "default": "\"x\"", "minLength": 1 },
        "age": { "type": "integer", "minimum": 0 },
        "score": { "type": "number" },
        "ok": { "type": "boolean", "default": true },
        "one": { "type": "string", "oneOf": [{ "const": "a", "title": "A&B" }] },
        "many": { "type": "array", "items": { "type": "string", "enum": ["p", "q"] } } } })
}

fn entered(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    fields.iter().map(own).collect()
}

fn answer(schema: &Value, fields: &[(&str, &str)]) -> Result<Value, String> {
    read(Some(schema), Entered(&entered(fields)))
}

#[test]
fn nothing_of_a_schema_becomes_markup() {
    let text = fields(Some(&schema()), None);
    assert!(text.contains("&lt;Name&gt;") && !text.contains("<Name>"));
    assert!(text.contains("value=\"&quot;x&quot;\""));
    assert!(text.contains("<option value=\"a\">A&amp;B</option>"));
    assert!(text.contains("minlength=\"1\" value=") && text.contains("min=\"0\""));
}

#[test]
fn fields_come_back_with_their_types() {
    let filled = [
        ("f.name", "Ada"),
        ("f.age", "7"),
        ("f.score", "1.5"),
        ("f.many", "p"),
        ("f.many", "q"),
        ("f.one", ""),
        ("action", "accept"),
    ];
    let expected =
        json!({ "name": "Ada", "age": 7, "score": 1.5, "ok": false, "many": ["p", "q"] });
    assert_eq!(answer(&schema(), &filled), Ok(expected));
    let wrong = answer(&schema(), &[("f.age", "old")]);
    assert!(wrong.unwrap_err().contains("`age`"));
}

#[test]
fn objects_are_fieldsets_and_lists_are_lines() {
    let schema = json!({ "type": "object", "required": ["to"], "properties": {
        "to": { "$ref": "#/$defs/place" },
        "from": { "$ref": "#/$defs/place" },
        "tags": { "type": "array", "items": { "type": "string" }, "default": ["x", "y"] },
        "counts": { "type": "array", "items": { "type": "integer" } } },
        "$defs": { "place": { "type": "object", "title": "Place", "required": ["city"], "properties": {
            "city": { "type": "string" }, "a/b": { "type": ["integer", "null"] } } } } });
    let text = fields(Some(&schema), None);
    assert!(text.contains("<fieldset><legend>Place</legend>"), "{text}");
    assert!(
        text.contains("name=\"f.to/city\" required type=\"text\""),
        "{text}"
    );
    assert!(
        text.contains("name=\"f.to/a~1b\" type=\"number\""),
        "{text}"
    );
    // What an object requires is required only once the object is given.
    assert!(
        text.contains("name=\"f.from/city\" type=\"text\""),
        "{text}"
    );
    assert!(text.contains(">\nx\ny</textarea>"), "{text}");
    assert!(!text.contains("JSON"), "{text}");
    let filled = [
        ("f.to/city", "Bonn"),
        ("f.to/a~1b", "3"),
        ("f.from/city", ""),
        ("f.tags", "one\r\n\r\n two \r\n"),
        ("f.counts", ""),
    ];
    let expected = json!({ "to": { "city": "Bonn", "a/b": 3 }, "tags": ["one", "two"] });
    assert_eq!(answer(&schema, &filled), Ok(expected));
    let wrong = answer(&schema, &[("f.to/city", ""), ("f.counts", "1\nx")]);
    assert!(wrong.unwrap_err().contains("`counts` must be an integer"));
}

#[test]
fn what_must_be_decided_is_never_decided_by_silence() {
    let schema = json!({ "type": "object", "required": ["ok", "far"], "properties": {
        "ok": { "type": "boolean", "title": "Go?" },
        "far": { "type": "boolean", "default": false },
        "more": { "type": "object", "required": ["sure"], "properties": {
            "sure": { "type": "boolean" }, "note": { "type": "string" } } } } });
    let text = fields(Some(&schema), None);
    for part in [
        "<legend>Go?</legend>",
        "type=\"radio\" name=\"f.ok\" value=\"true\" required> Yes",
        "type=\"radio\" name=\"f.ok\" value=\"false\" required> No",
        "type=\"checkbox\" name=\"f.far\"",
        "type=\"radio\" name=\"f.more/sure\" value=\"true\"> Yes",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("checked"), "{text}");
    for silent in [&[][..], &[("f.ok", "")]] {
        assert_eq!(
            answer(&schema, silent),
            Err("choose yes or no for `ok`".to_owned())
        );
    }
    assert!(answer(&schema, &[("f.ok", "on")]).is_err());
    for (word, flag) in [("true", true), ("false", false)] {
        let expected = json!({ "ok": flag, "far": false });
        assert_eq!(answer(&schema, &[("f.ok", word)]), Ok(expected));
        let again = entered(&[("f.ok", word)]);
        let text = fields(Some(&schema), Some(Entered(&again)));
        let chosen = format!("value=\"{word}\" required checked");
        assert!(text.contains(&chosen), "{text}");
    }
    // An object that may be left out needs its decision once it is filled in, and a `no` is one.
    let begun = answer(&schema, &[("f.ok", "true"), ("f.more/note", "x")]);
    assert_eq!(begun, Err("choose yes or no for `sure`".to_owned()));
    let refused = answer(&schema, &[("f.ok", "true"), ("f.more/sure", "false")]);
    let expected = json!({ "ok": true, "far": false, "more": { "sure": false } });
    assert_eq!(refused, Ok(expected));
}

#[test]
fn an_answer_is_told_by_titles_and_without_secrets() {
    let schema = json!({ "type": "object", "properties": {
        "ok": { "type": "boolean", "title": "Go?" },
        "key": { "type": "string", "writeOnly": true },
        "to": { "type": "object", "title": "Place", "properties": { "city": { "type": "string" } } } } });
    let answer = json!({ "ok": false, "key": "hunter2", "to": { "city": "<Bonn>" } });
    let rows = told(Some(&schema), &answer);
    let shown: Vec<(&str, &str)> = rows
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let expected = [("Go?", "no"), ("key", "•••"), ("Place: city", "<Bonn>")];
    assert_eq!(shown, expected);
}

#[test]
fn choices_keep_their_types() {
    let schema = json!({ "type": "object", "required": ["n", "c"], "properties": {
        "n": { "enum": [1, 2.5, true, null, "t"], "default": 2.5 },
        "c": { "oneOf": [{ "const": 1, "title": "One" }, { "const": 2, "title": "Two" }] },
        "f": { "const": "fixed" } } });
    let text = fields(Some(&schema), None);
    assert!(
        text.contains("<option value=\"2.5\" selected>2.5</option>"),
        "{text}"
    );
    assert!(text.contains("<option value=\"2\">Two</option>"), "{text}");
    let filled = [("f.n", "true"), ("f.c", "2"), ("f.f", "fixed")];
    let expected = json!({ "n": true, "c": 2, "f": "fixed" });
    assert_eq!(answer(&schema, &filled), Ok(expected));
    assert!(
        answer(&schema, &[("f.n", "7")])
            .unwrap_err()
            .contains("one of the choices")
    );
}

#[test]
fn formats_have_fields_of_their_own() {
    let schema = json!({ "type": "object", "properties": {
        "mail": { "type": "string", "format": "email" },
        "page": { "type": "string", "format": "uri" },
        "day": { "type": "string", "format": "date" },
        "at": { "type": "string", "format": "date-time", "default": "2026-01-02T03:04:05Z" },
        "zoned": { "type": "string", "format": "date-time", "default": "2026-01-02T03:04:05+02:00" },
        "long": { "type": "string", "maxLength": 5000 } } });
    let text = fields(Some(&schema), None);
    for field in [
        "name=\"f.mail\" type=\"email\"",
        "name=\"f.page\" type=\"url\"",
        "name=\"f.day\" type=\"date\"",
        "type=\"datetime-local\" step=\"1\" value=\"2026-01-02T03:04:05\"",
        "type=\"text\" value=\"2026-01-02T03:04:05+02:00\"",
        "<textarea id=\"field-6\" name=\"f.long\" rows=\"6\" maxlength=\"5000\">",
    ] {
        assert!(text.contains(field), "{field} is not in {text}");
    }
    let filled = [
        ("f.at", "2026-01-02T03:04"),
        ("f.zoned", "2026-01-02T03:04:05+02:00"),
        ("f.long", "a\r\nb"),
    ];
    let expected = json!({ "at": "2026-01-02T03:04:00Z", "zoned": "2026-01-02T03:04:05+02:00",
        "long": "a\nb" });
    assert_eq!(answer(&schema, &filled), Ok(expected));
}

#[test]
fn secrets_are_not_shown_and_not_filled_in_again() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": "string", "format": "password", "default": "hidden" },
        "b": { "type": "string", "writeOnly": true },
        "c": { "type": "string", "x-sensitive": true } } });
    let before = entered(&[("f.a", "hunter2"), ("f.b", "hunter2"), ("f.c", "hunter2")]);
    for text in [
        fields(Some(&schema), None),
        fields(Some(&schema), Some(Entered(&before))),
    ] {
        assert_eq!(text.matches("type=\"password\"").count(), 3, "{text}");
        assert!(!text.contains("value=\"h"), "{text}");
    }
}

#[test]
fn what_was_entered_is_shown_again() {
    let before = entered(&[
        ("f.name", "Ada"),
        ("f.age", "-1"),
        ("f.one", "a"),
        ("f.many", "q"),
    ]);
    let text = fields(Some(&schema()), Some(Entered(&before)));
    assert!(
        text.contains("value=\"Ada\"") && text.contains("value=\"-1\""),
        "{text}"
    );
    assert!(text.contains("<option value=\"a\" selected>"), "{text}");
    assert!(text.contains("value=\"q\" checked"), "{text}");
    assert!(!text.contains("value=\"p\" checked") && !text.contains("value=\"true\" checked"));
}

#[test]
fn what_no_field_can_hold_is_written_as_json_beside_its_schema() {
    let schema = json!({ "type": "object", "required": ["name"], "properties": {
        "name": { "type": "string" },
        "free": { "type": "object", "additionalProperties": { "type": "integer" } },
        "either": { "anyOf": [{ "type": "string" }, { "type": "integer" }] } } });
    let text = fields(Some(&schema), None);
    assert_eq!(text.matches("<textarea").count(), 2, "{text}");
    assert!(
        text.contains("name=\"f.name\" required type=\"text\""),
        "{text}"
    );
    assert!(text.contains("additionalProperties"), "{text}");
    let filled = [("f.name", "x"), ("f.free", r#"{"a":1}"#), ("f.either", "")];
    let expected = json!({ "name": "x", "free": { "a": 1 } });
    assert_eq!(answer(&schema, &filled), Ok(expected));
    assert!(
        answer(&schema, &[("f.free", "{")])
            .unwrap_err()
            .contains("`free` is not JSON")
    );
    let whole = json!({ "oneOf": [{ "type": "object" }, { "type": "object" }] });
    assert!(fields(Some(&whole), None).contains("name=\"json\""));
    assert_eq!(
        answer(&whole, &[("json", r#"{"a":1}"#)]),
        Ok(json!({ "a": 1 }))
    );
}

#[test]
fn a_schema_that_holds_itself_gives_no_endless_form() {
    let schema = json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "properties": {
        "a": { "$ref": "#/$defs/node" }, "b": { "$ref": "#/$defs/node" },
        "c": { "$ref": "#/$defs/node" }, "d": { "$ref": "#/$defs/node" } } } } });
    assert!(fields(Some(&schema), None).len() < 1_000_000);
    let round = json!({ "$ref": "#" });
    assert!(fields(Some(&round), None).contains("name=\"json\""));
}
