//! JSON Schema for editors, made from the key table. It knows the shape of files; what they mean is for `check`.

use crate::key_table::{Key, MCP_SERVERS, Part, Shape, part};
use serde_json::{Map, Value, json};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Durations as both documents write them.
const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|μs|ms|s|m|h))+$";

/// Kinds of resources that act, and whose `spec` is described.
const KINDS: [(&str, &str); 8] = [
    ("VirtualMCPServer", "VirtualMCPServer"),
    ("VirtualMCPCompositeToolDefinition", "composite tool"),
    ("MCPGroup", "MCPGroup"),
    ("MCPServer", "MCPServer"),
    ("MCPRemoteProxy", "MCPRemoteProxy"),
    ("MCPServerEntry", "MCPServerEntry"),
    ("MCPToolConfig", "MCPToolConfig"),
    ("MCPExternalAuthConfig", "MCPExternalAuthConfig"),
];

/// `onecall.yaml`, `mcp.json`, ToolHive configurations and suites.
pub fn config() -> Value {
    let mut page = Page::default();
    let onecall = page.reference("onecall.yaml");
    let servers = page.reference(MCP_SERVERS);
    let toolhive = page.reference("ToolHive configuration");
    let suite = page.reference("suite");
    page.finish(
        "Configuration of onecall",
        json!({
            "if": { "required": ["mcpServers"] },
            "then": servers,
            "else": {
                "if": { "required": ["compositions"] },
                "then": suite,
                "else": { "anyOf": [onecall, { "allOf": [toolhive], "required": ["name"] }] },
            },
        }),
    )
}

/// Kubernetes resources of `toolhive.stacklok.dev`.
pub fn resources() -> Value {
    let mut page = Page::default();
    let metadata = page.reference("metadata");
    let status = page.reference("status");
    let mut rules = Vec::new();
    for (kind, name) in KINDS {
        let spec = page.reference(name);
        rules.push(json!({
            "if": { "properties": { "kind": { "const": kind } } },
            "then": { "properties": { "spec": spec } },
        }));
    }
    let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
    page.finish(
        "Resources of toolhive.stacklok.dev",
        json!({
            "type": "object",
            "required": ["apiVersion", "kind", "metadata"],
            "properties": {
                "apiVersion": { "enum": ["toolhive.stacklok.dev/v1beta1", "toolhive.stacklok.dev/v1alpha1"] },
                "kind": { "enum": kinds },
                "metadata": metadata,
                "spec": { "type": "object" },
                "status": status,
            },
            "additionalProperties": false,
            "allOf": rules,
        }),
    )
}

/// A schema in the making: parts that were referred to, each described once.
#[derive(Default)]
struct Page {
    definitions: Map<String, Value>,
}

impl Page {
    fn finish(self, title: &str, root: Value) -> Value {
        let mut schema = json!({ "$schema": DIALECT, "title": title });
        if let (Value::Object(schema), Value::Object(root)) = (&mut schema, root) {
            schema.extend(root);
            schema.insert("$defs".to_owned(), Value::Object(self.definitions));
        }
        schema
    }

    /// A reference to a part, which is described if it is not yet.
    fn reference(&mut self, name: &str) -> Value {
        if !self.definitions.contains_key(name)
            && let Some(found) = part(name)
        {
            // Parts may hold themselves, so the name is taken before its keys are looked at.
            self.definitions.insert(name.to_owned(), Value::Null);
            let described = self.mapping(found);
            self.definitions.insert(name.to_owned(), described);
        }
        json!({ "$ref": format!("#/$defs/{}", name.replace(' ', "%20")) })
    }

    fn mapping(&mut self, own: &Part) -> Value {
        let included = own.includes.iter().filter_map(|name| part(name));
        let keys: Vec<&Key> = own
            .keys
            .iter()
            .chain(included.flat_map(|part| part.keys))
            .collect();
        let mut properties = Map::new();
        for key in &keys {
            properties.insert(key.name.to_owned(), self.value(key));
        }
        let required: Vec<&str> = keys
            .iter()
            .filter(|key| key.required)
            .map(|key| key.name)
            .collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if !own.is_open {
            schema["additionalProperties"] = json!(false);
        }
        schema
    }

    /// What a key may hold, with what it does. An optional key may be null.
    fn value(&mut self, key: &Key) -> Value {
        let mut schema = self.shape(key.shape);
        if !key.required {
            schema = nullable(schema);
        }
        schema["description"] = json!(key.effect.as_str());
        schema
    }

    fn shape(&mut self, shape: Shape) -> Value {
        match shape {
            Shape::Text => json!({ "type": "string" }),
            Shape::Flag => json!({ "type": "boolean" }),
            Shape::Whole(least, i64::MAX) => json!({ "type": "integer", "minimum": least }),
            Shape::Whole(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Shape::Duration => json!({ "type": "string", "pattern": DURATION }),
            Shape::Choice(choices) => json!({ "enum": choices }),
            Shape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Shape::Pairs => {
                json!({ "type": "object", "additionalProperties": { "type": "string" } })
            }
            Shape::One(name) => self.reference(name),
            Shape::Many(name) => json!({ "type": "array", "items": self.reference(name) }),
            Shape::Named(name) => {
                json!({ "type": "object", "additionalProperties": self.reference(name) })
            }
            Shape::Reference => reference(),
            Shape::References => json!({ "type": "array", "items": reference() }),
            Shape::Mapping => json!({ "type": "object" }),
            Shape::Any => json!({}),
        }
    }
}

fn reference() -> Value {
    json!({ "anyOf": [
        { "type": "string" },
        {
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"],
            "additionalProperties": false,
        },
    ] })
}

fn nullable(schema: Value) -> Value {
    match schema.as_object() {
        Some(object) if object.is_empty() => schema,
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}
