//! A tool as a server lists it. The JSON object is kept whole and as it was written; getters read what we need.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::ShapeError;
use crate::exact::Exact;
use crate::fields::Fields;
use crate::limits::{TOOL_NAME_MAX, TOOLS_MAX};
use crate::page::ListPage;

/// One entry of `tools/list`. Cheap to clone.
#[derive(Clone, PartialEq)]
pub struct Tool {
    /// Invariant: an object.
    exact: Exact,
}

/// Annotation hints with the protocol's defaults. From an untrusted server they are untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent hints of the protocol"
)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

impl Tool {
    pub fn from_value(value: Value) -> Result<Self, ShapeError> {
        Self::from_exact(Exact::from(value))
    }

    pub fn from_exact(exact: Exact) -> Result<Self, ShapeError> {
        let Value::Object(object) = exact.value() else {
            return Err(ShapeError::Wrong {
                what: "a tool".to_owned(),
                wanted: "an object",
            });
        };
        match object.get("name") {
            Some(Value::String(name)) if !name.is_empty() => {}
            _ => {
                let what = "`name` of a tool".to_owned();
                return Err(ShapeError::Wrong {
                    what,
                    wanted: "a string that is not empty",
                });
            }
        }
        if !object.get("inputSchema").is_none_or(Value::is_object) {
            let what = format!(
                "`inputSchema` of tool `{}`",
                text(object, "name").unwrap_or("")
            );
            return Err(ShapeError::Wrong {
                what,
                wanted: "an object",
            });
        }
        Ok(Self { exact })
    }

    pub fn name(&self) -> &str {
        text(self.object(), "name").unwrap_or_default()
    }

    /// `title`, else `annotations.title`.
    pub fn title(&self) -> Option<&str> {
        text(self.object(), "title")
            .or_else(|| self.object().get("annotations")?.get("title")?.as_str())
    }

    pub fn description(&self) -> Option<&str> {
        text(self.object(), "description")
    }

    /// Absent where the server left it out; then nothing is known of the arguments.
    pub fn input_schema(&self) -> Option<&Value> {
        self.object().get("inputSchema")
    }

    pub fn output_schema(&self) -> Option<&Value> {
        self.object()
            .get("outputSchema")
            .filter(|schema| !schema.is_null())
    }

    pub fn annotations(&self) -> Option<&Map<String, Value>> {
        self.object().get("annotations")?.as_object()
    }

    /// A server of 2025-11-25 takes calls of this tool as tasks only.
    pub fn is_task_only(&self) -> bool {
        let support = self
            .object()
            .get("execution")
            .and_then(|execution| execution.get("taskSupport"));
        support.and_then(Value::as_str) == Some("required")
    }

    pub fn hints(&self) -> Hints {
        let hint = |key: &str, default: bool| {
            let value = self
                .annotations()
                .and_then(|annotations| annotations.get(key));
            value.and_then(Value::as_bool).unwrap_or(default)
        };
        Hints {
            read_only: hint("readOnlyHint", false),
            destructive: hint("destructiveHint", true),
            idempotent: hint("idempotentHint", false),
            open_world: hint("openWorldHint", true),
        }
    }

    /// Everything the server sent, in its order, as far as it can be read.
    pub fn object(&self) -> &Map<String, Value> {
        self.exact.value().as_object().expect("a tool is an object")
    }

    pub fn to_value(&self) -> Value {
        self.exact.value().clone()
    }

    /// Everything the server sent, as it was written.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// The same tool under another name.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Self {
        self.with("name", Value::String(name.to_owned()))
    }

    /// The same tool with one field set, in its old place where it had one.
    #[must_use]
    pub fn with(&self, key: &str, value: Value) -> Self {
        if self.object().get(key) == Some(&value) {
            return self.clone();
        }
        Self {
            exact: self.exact.with(key, &Exact::from(value)),
        }
    }

    /// The same tool with these annotations set among its own.
    #[must_use]
    pub fn annotated(&self, set: &Map<String, Value>) -> Self {
        let own = self.exact.fields();
        let own = own.get("annotations").map(RawValue::get);
        let own = own.and_then(|own| Fields::read(own, "`annotations`").ok());
        let mut own = own.unwrap_or_default();
        for (key, value) in set {
            own.set(key, value);
        }
        let annotations = Exact::from_raw(&own.to_raw());
        let annotations = annotations.unwrap_or_else(|_| Value::Object(set.clone()).into());
        Self {
            exact: self.exact.with("annotations", &annotations),
        }
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Tool")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Hints {
    /// A call with unknown outcome may be repeated.
    pub fn may_repeat(self) -> bool {
        self.read_only || self.idempotent
    }
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// Whether clients take a tool of this name. Colons are outside the protocol's set too, but hosts take them, and servers
/// such as this one give them.
pub fn is_tool_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    (1..=TOOL_NAME_MAX).contains(&name.len()) && name.chars().all(fits)
}

/// One page of `tools/list`. Entries that are no tools are listed with their fault: one bad entry
/// must not hide the others.
#[derive(Debug)]
pub struct ToolPage {
    pub tools: Vec<Tool>,
    pub refused: Vec<ShapeError>,
    pub next_cursor: Option<String>,
    pub ttl_ms: Option<u64>,
}

impl ToolPage {
    /// As a server sends it.
    pub fn from_raw(raw: &RawValue) -> Result<Self, ShapeError> {
        Ok(Self::from_page(ListPage::from_raw(raw, "tools")?))
    }

    /// As it is kept.
    pub fn from_value(mut value: Value) -> Result<Self, ShapeError> {
        let Some(Value::Array(entries)) = value.get_mut("tools").map(Value::take) else {
            let what = "`tools` of the list result".to_owned();
            return Err(ShapeError::Wrong {
                what,
                wanted: "an array",
            });
        };
        if entries.len() > TOOLS_MAX {
            return Err(ShapeError::TooMany {
                what: "tools",
                limit: TOOLS_MAX,
            });
        }
        Ok(Self::from_page(ListPage {
            entries: entries.into_iter().map(|entry| Ok(entry.into())).collect(),
            next_cursor: None,
            ttl_ms: None,
        }))
    }

    fn from_page(page: ListPage) -> Self {
        let mut own = Self {
            tools: Vec::with_capacity(page.entries.len()),
            refused: Vec::new(),
            next_cursor: page.next_cursor,
            ttl_ms: page.ttl_ms,
        };
        for entry in page.entries {
            match entry.and_then(Tool::from_exact) {
                Ok(tool) => own.tools.push(tool),
                Err(fault) => own.refused.push(fault),
            }
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_lists_is_kept_whole_and_in_order() {
        let text = r#"{"zeta":1,"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"},"icons":[{"src":"data:x"}],"_meta":{"v":[1]}}"#;
        let tool = Tool::from_value(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(tool.to_value().to_string(), text);
        assert_eq!(
            tool.renamed("b").to_value().to_string(),
            text.replace("\"a\"", "\"b\"")
        );
    }

    #[test]
    fn what_is_changed_leaves_the_rest_as_it_was_written() {
        let text = r#"{"n":1.10,"name":"a","annotations":{"v":1e400,"title":"T"}}"#;
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let tool = Tool::from_exact(Exact::from_raw(&raw).unwrap()).unwrap();
        let set = json!({ "title": "U", "readOnlyHint": true });
        let changed = tool.renamed("b").annotated(set.as_object().unwrap());
        assert_eq!(
            changed.exact().text(),
            r#"{"n":1.10,"name":"b","annotations":{"v":1e400,"title":"U","readOnlyHint":true}}"#
        );
        assert!(changed.hints().read_only);
    }

    #[test]
    fn hints_have_the_defaults_of_the_protocol() {
        let bare = Tool::from_value(json!({ "name": "a" })).unwrap();
        let expected = Hints {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
        };
        assert_eq!(bare.hints(), expected);
        assert!(!bare.hints().may_repeat());
        let safe = json!({ "name": "a", "annotations": { "readOnlyHint": true, "title": "T" } });
        let safe = Tool::from_value(safe).unwrap();
        assert!(safe.hints().may_repeat());
        assert_eq!(safe.title(), Some("T"));
    }

    #[test]
    fn one_bad_entry_does_not_hide_the_others() {
        let page = r#"{"tools":[{"name":"a"},{"name":1},7,{"name":"c","n":1e999},{"name":"b"}],"nextCursor":""}"#;
        let page = RawValue::from_string(page.to_owned()).unwrap();
        let page = ToolPage::from_raw(&page).unwrap();
        let names: Vec<_> = page.tools.iter().map(Tool::name).collect();
        assert_eq!((names, page.refused.len()), (vec!["a", "c", "b"], 2));
        assert_eq!(page.next_cursor.as_deref(), Some(""));
        assert!(ToolPage::from_value(json!({ "tools": null })).is_err());
    }
}
