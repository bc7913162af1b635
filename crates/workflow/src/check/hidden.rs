//! Tools whose definition has characters that people do not see and models do.

use crate::catalog::{Catalog, CatalogTool};
use crate::limits::HIDDEN_LISTED_MAX;
use onecall_source::{Diagnostic, Diagnostics, Place, codes, hidden};
use serde_json::Value;
use std::collections::BTreeSet;

/// A warning for each tool with such characters.
pub fn hidden_characters(catalog: &Catalog) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    diagnostics.extend(catalog.tools.iter().filter_map(of_tool));
    diagnostics
}

fn of_tool(tool: &CatalogTool) -> Option<Diagnostic> {
    let mut fields = Vec::new();
    let mut found = BTreeSet::new();
    for (key, value) in tool.tool.object() {
        let mut own = hidden::find(key);
        add(value, &mut own);
        if !own.is_empty() {
            fields.push(format!("`{}`", hidden::strip(key)));
            found.extend(own);
        }
    }
    if found.is_empty() {
        return None;
    }
    let mut names: Vec<String> = found.into_iter().map(hidden::name).collect();
    let more = names.len().saturating_sub(HIDDEN_LISTED_MAX);
    names.truncate(HIDDEN_LISTED_MAX);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let name = format!("{}.{}", tool.backend, tool.original);
    let message = format!(
        "tool `{}` has hidden characters in {}: {}{more}",
        hidden::strip(&name),
        fields.join(", "),
        names.join(", ")
    );
    let place = Place::path(tool.backend.as_str(), tool.original.as_str());
    let warning = Diagnostic::warning(codes::HIDDEN_CHARACTERS, message)
        .label(place, "people do not see them, and models read them")
        .help("ask whoever runs the backend what they are for; `onecall tools PATHS --save FILE` saves the definition as it was sent");
    Some(warning)
}

fn add(value: &Value, to: &mut BTreeSet<char>) {
    match value {
        Value::String(text) => to.extend(hidden::find(text)),
        Value::Array(items) => items.iter().for_each(|item| add(item, to)),
        Value::Object(entries) => {
            for (key, value) in entries {
                to.extend(hidden::find(key));
                add(value, to);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::BackendName;
    use onecall_mcp::Tool;
    use serde_json::json;

    fn messages(tool: Value) -> Vec<String> {
        let catalog = Catalog {
            tools: vec![CatalogTool {
                name: None,
                backend: BackendName::new("b"),
                original: tool["name"].as_str().unwrap().to_owned(),
                listed: true,
                tool: Tool::from_value(tool).unwrap(),
            }],
            ..Catalog::default()
        };
        let all = hidden_characters(&catalog);
        all.iter().map(|own| own.message.clone()).collect()
    }

    #[test]
    fn each_tool_is_named_with_its_fields_and_characters() {
        let plain =
            json!({ "name": "t", "description": "two\r\nlines, 👩\u{200d}👧", "inputSchema": {} });
        assert!(messages(plain).is_empty());
        let tool = json!({ "name": "t\u{200b}", "description": "read\u{202e}me",
            "inputSchema": { "properties": { "a\u{e0041}": { "enum": ["\u{1b}[8m"] } } } });
        assert_eq!(
            messages(tool),
            [
                "tool `b.t` has hidden characters in `name`, `description`, `inputSchema`: U+001B, U+200B, U+202E, U+E0041"
            ]
        );
        let many: String = ('\u{e0041}'..'\u{e0061}').collect();
        let tool = json!({ "name": "t", "description": many });
        assert!(messages(tool)[0].ends_with(" and 24 more"));
    }
}
