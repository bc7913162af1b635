//! One page of a list that a server gives: tools, resources, prompts. Every entry is read by itself, so that one that
//! cannot be read does not hide the others.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::ShapeError;
use crate::exact::Exact;
use crate::lenient::{read_leniently, read_unlooked};
use crate::limits::{ENTRY_NESTING_MAX, TOOL_NAME_MAX, TOOLS_MAX};
use crate::message::exceeds_depth;

/// Entries in their order, each with the fault that keeps it from being read.
#[derive(Debug)]
pub struct ListPage {
    pub entries: Vec<Result<Exact, ShapeError>>,
    /// An empty string is a valid cursor.
    pub next_cursor: Option<String>,
    pub ttl_ms: Option<u64>,
}

impl ListPage {
    /// The entries stand under `key`.
    pub fn from_raw(raw: &RawValue, key: &'static str) -> Result<Self, ShapeError> {
        let fields: BTreeMap<String, Box<RawValue>> = read_unlooked(raw.get()).unwrap_or_default();
        let field = |key: &str| -> Option<Value> { read_leniently(fields.get(key)?.get()).ok() };
        let listed = fields.get(key);
        let listed = listed.and_then(|listed| serde_json::from_str(listed.get()).ok());
        let Some(listed): Option<Vec<&RawValue>> = listed else {
            return Err(ShapeError::Wrong {
                what: format!("`{key}` of the list result"),
                wanted: "an array",
            });
        };
        if listed.len() > TOOLS_MAX {
            return Err(ShapeError::TooMany {
                what: key,
                limit: TOOLS_MAX,
            });
        }
        let entries = listed.into_iter().map(entry);
        let next_cursor = field("nextCursor");
        Ok(Self {
            entries: entries.collect(),
            next_cursor: next_cursor.and_then(|cursor| cursor.as_str().map(str::to_owned)),
            ttl_ms: field("ttlMs").as_ref().and_then(Value::as_u64),
        })
    }
}

/// One that is nested too deeply is told by its name.
fn entry(raw: &RawValue) -> Result<Exact, ShapeError> {
    if !exceeds_depth(raw.get(), ENTRY_NESTING_MAX) {
        return Exact::from_raw(raw);
    }
    let fields: BTreeMap<String, Box<RawValue>> = read_unlooked(raw.get()).unwrap_or_default();
    let name: Option<String> = fields
        .get("name")
        .and_then(|own| read_leniently(own.get()).ok());
    let name: String = name
        .unwrap_or_default()
        .chars()
        .take(TOOL_NAME_MAX)
        .collect();
    Err(ShapeError::Wrong {
        what: format!("the entry {name:?}"),
        wanted: "nested less deeply",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Result<ListPage, ShapeError> {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        ListPage::from_raw(&raw, "prompts")
    }

    #[test]
    fn every_entry_is_read_by_itself() {
        let text = r#"{"_meta":{"a":1e999},"prompts":[{"name":"a"},{"n":1e999},{"d":"\ud800"},7],"nextCursor":"","ttlMs":5}"#;
        let page = page(text).unwrap();
        let read = page.entries.iter();
        let read: Vec<String> = read
            .map(|entry| entry.as_ref().map_or("-", Exact::text).to_owned())
            .collect();
        let wanted = [
            r#"{"name":"a"}"#,
            r#"{"n":1e999}"#,
            r#"{"d":"\ufffd"}"#,
            "7",
        ];
        assert_eq!(read, wanted);
        assert_eq!(page.next_cursor.as_deref(), Some(""));
        assert_eq!(page.ttl_ms, Some(5));
    }

    #[test]
    fn an_entry_that_is_nested_too_deeply_is_told_by_its_name() {
        let nested = |depth: usize| {
            let (open, close) = (r#"{"x":"#.repeat(depth), "}".repeat(depth));
            format!(r#"{{"name":"a\"b","x":{open}1{close}}}"#)
        };
        let (fits, deep) = (nested(ENTRY_NESTING_MAX - 1), nested(ENTRY_NESTING_MAX));
        let endless = nested(200_000);
        let page = page(&format!(r#"{{"prompts":[{fits},{deep},{endless},7]}}"#)).unwrap();
        let told: Vec<String> = page
            .entries
            .iter()
            .map(|entry| {
                entry
                    .as_ref()
                    .map_or_else(ToString::to_string, |_| "ok".to_owned())
            })
            .collect();
        let fault = r#"the entry "a\"b" must be nested less deeply"#;
        assert_eq!(told, ["ok", fault, fault, "ok"]);
    }

    #[test]
    fn a_page_without_its_list_is_refused() {
        for text in ["[]", "7", "{}", r#"{"prompts":null}"#, r#"{"prompts":{}}"#] {
            let fault = page(text).unwrap_err().to_string();
            assert!(fault.contains("`prompts` of the list result"), "{fault}");
        }
    }
}
