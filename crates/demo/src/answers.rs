//! Tools whose answers are given in a file: for trying a workflow before its backends exist.

use crate::server::lock;
use onecall_mcp::{CallOutput, Tool};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

/// What each tool answers.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    by_tool: Map<String, Value>,
    /// How often each tool with several answers was called.
    calls: Mutex<HashMap<String, usize>>,
}

impl Answers {
    pub(crate) fn new(by_tool: Map<String, Value>) -> Self {
        Self {
            by_tool,
            calls: Mutex::default(),
        }
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = Tool> {
        self.by_tool.keys().map(|name| {
            Tool::from_value(json!({
                "name": name,
                "description": "Answers what its file says.",
                "inputSchema": { "type": "object" },
                "annotations": { "readOnlyHint": true, "openWorldHint": false },
            }))
            .expect("a literal with name and schema")
        })
    }

    /// The result of a call. In a list each call has its own answer, and the last stands for all that follow.
    pub(crate) fn answer(&self, tool: &str) -> Option<Value> {
        let own = self.by_tool.get(tool)?;
        let Value::Array(answers) = own else {
            return Some(result(own));
        };
        let mut calls = lock(&self.calls);
        let made = calls.entry(tool.to_owned()).or_default();
        let answer = answers.get(*made).or(answers.last());
        *made += 1;
        answer.map(result)
    }
}

/// A tool result as it is, a text as text, anything else as structured content.
fn result(answer: &Value) -> Value {
    if let Value::String(text) = answer {
        return Value::Object(CallOutput::text(text, false).into_object());
    }
    let keys = ["content", "structuredContent", "isError"];
    if keys.iter().any(|key| answer.get(key).is_some()) {
        return answer.clone();
    }
    json!({
        "content": [{ "type": "text", "text": answer.to_string() }],
        "structuredContent": answer,
    })
}
