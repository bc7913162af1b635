//! Locks as data: what counts as a change, and how it is told.

use super::*;
use crate::catalog::Knowledge;
use crate::name::{BackendName, ToolName};
use onecall_mcp::{Exact, Tool};
use serde_json::json;

fn catalog(tool: Value) -> Catalog {
    let tool = Tool::from_value(tool).unwrap();
    let backend = BackendName::new("gh");
    Catalog {
        tools: vec![CatalogTool {
            name: Some(ToolName::new("gh_get")),
            backend: backend.clone(),
            original: "get".to_owned(),
            listed: true,
            tool,
        }],
        backends: BTreeMap::from([(backend, Knowledge::Live)]),
        prefixes: BTreeMap::new(),
        unusable_accepted: BTreeSet::new(),
    }
}

fn locked(tool: Value) -> Lock {
    let catalog = catalog(tool);
    let tool = &catalog.tools[0];
    Lock {
        version: VERSION,
        tools: BTreeMap::from([(key(tool), Locked::of(tool))]),
        ..Lock::default()
    }
}

fn get(description: &str, schema: &Value) -> Value {
    json!({ "name": "gh_get", "icons": [1], "description": description, "inputSchema": schema })
}

#[test]
fn the_order_of_keys_does_not_count_and_every_field_does() {
    let one = locked(get("d", &json!({ "type": "object", "required": ["a"] })));
    let other = get("d", &json!({ "required": ["a"], "type": "object" }));
    assert_eq!(one, locked(other.clone()));
    for (field, value, line) in [
        ("icons", json!([2]), "icons is [2], was [1]"),
        ("_meta", json!({ "a": 1 }), "_meta is new: {\"a\":1}"),
        ("execution", json!({}), "execution is new: {}"),
        ("unheard-of", json!(1), "unheard-of is new: 1"),
    ] {
        let mut changed = other.clone();
        changed[field] = value;
        let catalog = catalog(changed);
        let fault = one.check_tool(&catalog.tools[0]).unwrap();
        assert!(fault.message.ends_with(line), "{}", fault.message);
    }
    assert_eq!(Lock::parse(&one.to_text()).unwrap(), one);
}

#[test]
fn digits_that_no_value_holds_count() {
    let locked = |number: &str| {
        let tool = format!(r#"{{"name":"get","inputSchema":{{"maximum":{number}}}}}"#);
        let raw = serde_json::value::RawValue::from_string(tool).unwrap();
        let tool = Tool::from_exact(Exact::from_raw(&raw).unwrap()).unwrap();
        let mut catalog = catalog(get("d", &json!({})));
        catalog.tools[0].tool = tool;
        Locked::of(&catalog.tools[0])
    };
    let long = "123456789012345678901234567890";
    assert_eq!(locked(long).differs(&locked(long)), None);
    for other in [
        "123456789012345678901234567891",
        "1.2345678901234568e29",
        "123456789012345678901234567890.5",
    ] {
        let lines = locked(long).differs(&locked(other)).unwrap();
        assert!(lines[0].starts_with("a number changed"), "{lines:?}");
    }
    assert!(locked("1e400").differs(&locked("9e999")).is_some());
}

#[test]
fn every_place_that_differs_is_told() {
    let then = get(
        "d",
        &json!({ "properties": { "a": { "type": "string" }, "b": {} } }),
    );
    let mut now = get(
        "D",
        &json!({ "properties": { "a": { "type": "integer" }, "c": {} } }),
    );
    now["annotations"] = json!({ "readOnlyHint": true });
    let differences = locked(then).differences(&locked(now));
    let [Difference::Changed { tool, lines }] = &differences[..] else {
        panic!("{differences:?}")
    };
    assert_eq!(tool, "gh.get");
    let expected = [
        r#"annotations is new: {"readOnlyHint":true}"#,
        r#"description is "D", was "d""#,
        r#"inputSchema.properties.a.type is "integer", was "string""#,
        "inputSchema.properties.b is gone, was {}",
        "inputSchema.properties.c is new: {}",
    ];
    assert_eq!(lines[..], expected);
}

#[test]
fn tools_that_come_and_go_are_told() {
    let one = locked(get("d", &json!({})));
    let none = Lock::default();
    let tool = || "gh.get".to_owned();
    assert_eq!(none.differences(&one), [Difference::Added { tool: tool() }]);
    assert_eq!(
        one.differences(&none),
        [Difference::Removed { tool: tool() }]
    );
}

#[test]
fn what_cannot_be_read_is_said() {
    assert!(
        Lock::parse("[]")
            .unwrap_err()
            .to_string()
            .starts_with("it is not a lock file")
    );
    let newer = Lock::parse(r#"{"version": 2, "tools": {}}"#).unwrap_err();
    assert_eq!(
        newer.to_string(),
        "it has form 2, and this version reads up to 1"
    );
}
