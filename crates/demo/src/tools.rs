//! The tools that the demo lists. What they do is in `execute`.

use onecall_mcp::Tool;
use serde_json::{Value, json};

/// The tools in the order of the list.
pub fn tools() -> Vec<Tool> {
    list(false, false)
}

pub(crate) fn list(changing: bool, extra: bool) -> Vec<Tool> {
    let mut listed = vec![
        echo(),
        add(),
        search(),
        fetch(),
        slow(),
        flaky(),
        fail(),
        ask(),
        images(),
        append(),
        put(),
    ];
    if changing {
        let about = "Shows or hides the tool `extra` and tells listeners.";
        listed.push(tool("toggle", about, json!({}), &[], None, writes(false)));
    }
    if extra {
        let about = "Is listed only after `toggle`.";
        listed.push(tool("extra", about, json!({}), &[], None, reads()));
    }
    listed
}

fn tool(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    output: Option<Value>,
    annotations: Value,
) -> Tool {
    let mut object = json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {},
            "required": required,
            "additionalProperties": false
        }
    });
    object["inputSchema"]["properties"] = properties;
    if let Some(output) = output {
        object["outputSchema"] = output;
    }
    object["annotations"] = annotations;
    Tool::from_value(object).expect("a literal with name and schema")
}

fn reads() -> Value {
    json!({ "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false })
}

fn writes(idempotent: bool) -> Value {
    json!({
        "readOnlyHint": false, "destructiveHint": false,
        "idempotentHint": idempotent, "openWorldHint": false
    })
}

fn echo() -> Tool {
    let properties = json!({ "text": { "type": "string", "description": "What to say again." } });
    tool(
        "echo",
        "Returns the text it was given, as plain text.",
        properties,
        &["text"],
        None,
        reads(),
    )
}

fn add() -> Tool {
    let properties = json!({ "a": { "type": "number" }, "b": { "type": "number" } });
    let output = json!({
        "type": "object", "properties": { "sum": { "type": "number" } }, "required": ["sum"]
    });
    tool(
        "add",
        "Adds two numbers.",
        properties,
        &["a", "b"],
        Some(output),
        reads(),
    )
}

fn search() -> Tool {
    let properties = json!({
        "query": { "type": "string", "description": "Words to look for; empty finds everything." },
        "limit": { "type": "integer", "minimum": 1, "maximum": 50, "default": 10 }
    });
    let output = json!({
        "type": "object",
        "properties": {
            "results": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "id": { "type": "string" },
                    "title": { "type": "string" },
                    "url": { "type": "string" }
                },
                "required": ["id", "title", "url"]
            } },
            "total": { "type": "integer" }
        },
        "required": ["results", "total"]
    });
    tool(
        "search",
        "Finds notes by their words.",
        properties,
        &["query"],
        Some(output),
        reads(),
    )
}

fn fetch() -> Tool {
    let properties = json!({
        "id": { "type": "string", "description": "The id of a note, from `search`." },
        "region": { "type": "string", "description": "Where to read it.", "x-mcp-header": "Region" }
    });
    let about = "Reads one note. The result is JSON in a text block.";
    tool("fetch", about, properties, &["id"], None, reads())
}

fn slow() -> Tool {
    let properties = json!({
        "ms": { "type": "integer", "minimum": 0, "description": "How long to take, in milliseconds." },
        "text": { "type": "string", "default": "done" }
    });
    let output = json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, "ms": { "type": "integer" } },
        "required": ["text", "ms"]
    });
    let about = "Takes its time, reports progress, stops when cancelled.";
    tool("slow", about, properties, &["ms"], Some(output), reads())
}

fn flaky() -> Tool {
    let properties = json!({
        "key": { "type": "string", "description": "Calls are counted by this." },
        "fails": { "type": "integer", "minimum": 0, "default": 1 }
    });
    let output = json!({
        "type": "object",
        "properties": { "key": { "type": "string" }, "calls": { "type": "integer" } },
        "required": ["key", "calls"]
    });
    let about = "Fails the first `fails` calls of a key, then succeeds.";
    tool(
        "flaky",
        about,
        properties,
        &["key"],
        Some(output),
        writes(false),
    )
}

fn fail() -> Tool {
    let properties =
        json!({ "message": { "type": "string", "default": "this tool always fails" } });
    tool("fail", "Always fails.", properties, &[], None, reads())
}

fn ask() -> Tool {
    let properties = json!({
        "question": { "type": "string" },
        "mode": { "type": "string", "enum": ["form", "url"], "default": "form" }
    });
    let output = json!({
        "type": "object",
        "properties": { "action": { "type": "string" }, "content": { "type": "object" } },
        "required": ["action"]
    });
    let about = "Asks the caller's person and returns the answer.";
    tool(
        "ask",
        about,
        properties,
        &["question"],
        Some(output),
        writes(false),
    )
}

fn images() -> Tool {
    let about = "Returns one block of each kind: text, image, audio, resource, link.";
    tool("images", about, json!({}), &[], None, reads())
}

fn append() -> Tool {
    let properties = json!({
        "text": { "type": "string" },
        "before_ms": wait("before"),
        "after_ms": wait("after")
    });
    let output = json!({
        "type": "object", "properties": { "lines": { "type": "integer" } }, "required": ["lines"]
    });
    let about = "Appends a line; called twice it appends twice.";
    tool(
        "append",
        about,
        properties,
        &["text"],
        Some(output),
        writes(false),
    )
}

fn put() -> Tool {
    let properties = json!({
        "key": { "type": "string" },
        "value": {},
        "before_ms": wait("before"),
        "after_ms": wait("after")
    });
    let output = json!({
        "type": "object",
        "properties": { "key": { "type": "string" }, "value": {} },
        "required": ["key", "value"]
    });
    let about = "Keeps a value under a key; called twice it changes nothing more.";
    tool(
        "put",
        about,
        properties,
        &["key", "value"],
        Some(output),
        writes(true),
    )
}

fn wait(when: &str) -> Value {
    let description = format!("Milliseconds to wait {when} the effect.");
    json!({ "type": "integer", "minimum": 0, "default": 0, "description": description })
}
