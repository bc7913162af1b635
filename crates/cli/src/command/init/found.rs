//! The servers that a client's file lists, as backends of an `onecall.yaml`.
//! Keys and tokens are not copied unless asked for: a variable is named for each.

use crate::client_file::ClientFile;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Words in the name of a variable or header whose value is nobody's business.
const SECRET_WORDS: [&str; 6] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "AUTHORIZATION",
    "CREDENTIAL",
];

#[derive(Debug)]
pub(super) struct Found {
    pub(super) from: Option<PathBuf>,
    servers: Map<String, Value>,
}

/// A variable that stands in a file in place of a secret, and whose place it takes.
pub(super) type Variable = (String, String);

impl Found {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let file = ClientFile::open(path)?;
        let mut servers = file.servers("mcpServers");
        servers.extend(file.servers("servers"));
        servers.retain(|_, entry| !is_ours(entry) && entry.get("disabled") != Some(&json!(true)));
        Ok(Self {
            from: Some(path.to_owned()),
            servers,
        })
    }

    pub(super) fn demo() -> Self {
        let demo = json!({ "command": "onecall", "args": ["demo"] });
        Self {
            from: None,
            servers: Map::from_iter([("demo".to_owned(), demo)]),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.servers.len()
    }

    /// The configuration, and what must be set before it works where secrets are only named.
    pub(super) fn to_yaml(&self, names_secrets: bool) -> (String, Vec<Variable>) {
        let mut text =
            String::from("# Backends: the MCP servers whose tools workflows call.\nbackends:\n");
        let mut variables = Vec::new();
        for (name, entry) in &self.servers {
            let _ = writeln!(text, "  {}:", json!(name));
            for key in ["command", "args", "cwd", "url"] {
                if let Some(value) = entry.get(key) {
                    let _ = writeln!(text, "    {key}: {}", with_our_variables(value));
                }
            }
            if entry.get("type") == Some(&json!("sse")) {
                text.push_str("    transport: sse\n");
            }
            for key in ["env", "headers"] {
                let Some(values) = entry.get(key).and_then(Value::as_object) else {
                    continue;
                };
                let _ = writeln!(text, "    {key}:");
                for (field, value) in values {
                    let value = with_our_variables(value);
                    let secret = variable(name, key, field).filter(|_| names_secrets);
                    let shown = match secret.filter(|_| !is_variable(&value)) {
                        Some(variable) => {
                            let shown = json!(format!("${{{variable}}}"));
                            variables.push((variable, format!("`{field}` of `{name}`")));
                            shown
                        }
                        None => value,
                    };
                    let _ = writeln!(text, "      {}: {shown}", json!(field));
                }
            }
        }
        text.push_str("\n# Files and folders with workflows.\nworkflows: [workflows]\n");
        (text, variables)
    }
}

/// An entry that starts this very program.
fn is_ours(entry: &Value) -> bool {
    let command = entry.get("command").and_then(Value::as_str);
    let is_onecall = command
        .map(Path::new)
        .and_then(Path::file_stem)
        .is_some_and(|stem| stem == "onecall");
    let serves = entry
        .get("args")
        .and_then(Value::as_array)
        .is_some_and(|args| args.first() == Some(&json!("serve")));
    is_onecall && serves
}

/// The variable that stands for a field whose name says that it is secret.
fn variable(backend: &str, key: &str, field: &str) -> Option<String> {
    let upper: String = field
        .chars()
        .map(|char| {
            if char.is_ascii_alphanumeric() {
                char.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    if !SECRET_WORDS.iter().any(|word| upper.contains(word)) {
        return None;
    }
    if key == "env" {
        return Some(field.to_owned());
    }
    let backend = backend
        .to_ascii_uppercase()
        .replace(|char: char| !char.is_ascii_alphanumeric(), "_");
    Some(format!("{backend}_{upper}"))
}

fn is_variable(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains("${"))
}

/// `${env:NAME}` and `${input:name}` of editors, in our spelling.
fn with_our_variables(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(rewritten(text)),
        Value::Array(items) => Value::Array(items.iter().map(with_our_variables).collect()),
        other => other.clone(),
    }
}

fn rewritten(text: &str) -> String {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push_str("${");
        if let Some(rest) = part.strip_prefix("env:") {
            whole.push_str(rest);
        } else if let Some((name, rest)) = part
            .strip_prefix("input:")
            .and_then(|part| part.split_once('}'))
        {
            let name = name.to_ascii_uppercase().replace('-', "_");
            let _ = write!(whole, "{name}}}{rest}");
        } else {
            whole.push_str(part);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_and_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        let text = r#"{ "servers": {
            "git hub": { "type": "http", "url": "https://example.com/mcp",
                         "headers": { "Authorization": "Bearer abc", "X-Plain": "1" } },
            "local": { "command": "node", "args": ["${env:HOME}/s.js"],
                       "env": { "API_KEY": "k3y", "OTHER_TOKEN": "${input:my-token}" } },
            "onecall": { "command": "/bin/onecall", "args": ["serve", "--stdio"] },
            "off": { "command": "x", "disabled": true } } }"#;
        std::fs::write(&path, text).unwrap();
        let found = Found::read(&path).unwrap();
        assert_eq!(found.len(), 2);
        let (yaml, variables) = found.to_yaml(true);
        assert!(!yaml.contains("abc") && !yaml.contains("k3y"), "{yaml}");
        assert!(
            yaml.contains("\"Authorization\": \"${GIT_HUB_AUTHORIZATION}\""),
            "{yaml}"
        );
        assert!(yaml.contains("args: [\"${HOME}/s.js\"]"), "{yaml}");
        assert!(yaml.contains("\"OTHER_TOKEN\": \"${MY_TOKEN}\""), "{yaml}");
        assert!(yaml.contains("\"X-Plain\": \"1\""), "{yaml}");
        let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["GIT_HUB_AUTHORIZATION", "API_KEY"]);
        assert!(found.to_yaml(false).0.contains("k3y"));
    }
}
