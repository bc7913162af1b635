//! The servers that a client's file lists, as backends of an `onecall.yaml`.
//! Keys and tokens are not copied unless asked for: a variable is named for each (`secrets`).

use super::editor::{self, Editor, Needs, Rewriting};
use super::secrets;
use super::uninherited;
use crate::client_file::ClientFile;
use crate::clients::Folders;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Found {
    pub(super) from: Option<PathBuf>,
    /// By the name of the backend.
    servers: Map<String, Value>,
    /// Names as the client has them, and as they are here, where these differ.
    renamed: Vec<(String, String)>,
    editor: Editor,
}

/// What becomes of keys and tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrets {
    /// A variable stands for each.
    Named,
    Copied,
    /// They are copied, and a variable that is not set is an empty text: for looking at the backends.
    Tried,
}

impl Found {
    /// `folder`: where Claude Code may list servers for alone.
    pub(super) fn read(path: &Path, folder: &Path) -> anyhow::Result<Self> {
        let file = ClientFile::open(path)?;
        let mut listed = file.servers("mcpServers");
        listed.extend(file.servers("servers"));
        listed.extend(file.servers_of_project(folder));
        listed.retain(|_, entry| !is_ours(entry) && entry.get("disabled") != Some(&json!(true)));
        let mut servers = Map::new();
        let mut renamed = Vec::new();
        for (name, entry) in listed {
            let ours = fitting(&name, &servers);
            if ours != name {
                renamed.push((name, ours.clone()));
            }
            servers.insert(ours, entry);
        }
        Ok(Self {
            from: Some(path.to_owned()),
            servers,
            renamed,
            editor: Editor::of(path, Folders::of_this_user().home),
        })
    }

    pub(super) fn demo() -> Self {
        let demo = json!({ "command": "onecall", "args": ["demo"] });
        Self {
            from: None,
            servers: Map::from_iter([("demo".to_owned(), demo)]),
            renamed: Vec::new(),
            editor: Editor {
                workspace: None,
                home: None,
            },
        }
    }

    pub(super) fn len(&self) -> usize {
        self.servers.len()
    }

    pub(super) fn renamed(&self) -> &[(String, String)] {
        &self.renamed
    }

    /// Backends whose variables the client reads from a file, with that file.
    pub(super) fn variable_files(&self) -> impl Iterator<Item = (&String, &str)> {
        let files = self.servers.iter();
        files.filter_map(|(name, entry)| Some((name, entry.get("envFile")?.as_str()?)))
    }

    /// Variables that entries read from the environment of the client, and that a child process does not inherit here.
    pub(super) fn uninherited(&self) -> impl Iterator<Item = (&String, String)> {
        self.servers.iter().flat_map(|(name, entry)| {
            let variables = uninherited::of(entry).into_iter();
            variables.map(move |variable| (name, variable))
        })
    }

    /// The configuration, and what must be set before it works.
    pub(super) fn to_yaml(&self, secrets: Secrets) -> (String, Needs) {
        let mut text =
            String::from("# Backends: the MCP servers whose tools workflows call.\nbackends:\n");
        let mut needs = Needs::default();
        for (name, entry) in &self.servers {
            let mut entry = entry.clone();
            if secrets == Secrets::Named {
                needs.variables.extend(secrets::name(name, &mut entry));
            }
            let with = Rewriting {
                backend: name,
                editor: &self.editor,
                is_lenient: secrets == Secrets::Tried,
                value: &|name| std::env::var(name).ok(),
            };
            editor::rewrite(&mut entry, with, &mut needs);
            let _ = writeln!(text, "  {}:", json!(name));
            for key in ["command", "args", "cwd", "url"] {
                if let Some(value) = entry.get(key) {
                    let _ = writeln!(text, "    {key}: {value}");
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
                    let _ = writeln!(text, "      {}: {value}", json!(field));
                }
            }
        }
        text.push_str("\n# Files and folders with workflows.\nworkflows: [workflows]\n");
        text.push_str(
            "\n# Some hosts refuse the default prefix, `workflow:`.\nnames: {prefix: workflow_}\n",
        );
        (text, needs)
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

/// The name as one that tools can be called by: its letters and digits, the rest as `-`.
fn fitting(name: &str, taken: &Map<String, Value>) -> String {
    let letter = |char: char| {
        let fits = char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        if fits { char } else { '-' }
    };
    let letters: String = name.chars().map(letter).collect();
    let parts = letters.split('-').filter(|part| !part.is_empty());
    let mut ours = if letters == name {
        letters.clone()
    } else {
        parts.collect::<Vec<_>>().join("-")
    };
    if ours.is_empty() {
        ours.push_str("backend");
    }
    let mut number = 2;
    let base = ours.clone();
    while taken.contains_key(&ours) {
        ours = format!("{base}-{number}");
        number += 1;
    }
    ours
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
            "local": { "command": "node", "args": ["${env:HOME}/s.js", "--token", "sk-1234567890"],
                       "env": { "API_KEY": "k3y", "OTHER_TOKEN": "${input:my-token}" } },
            "onecall": { "command": "/bin/onecall", "args": ["serve", "--stdio"] },
            "off": { "command": "x", "disabled": true } } }"#;
        std::fs::write(&path, text).unwrap();
        let found = Found::read(&path, folder.path()).unwrap();
        assert_eq!(found.len(), 2);
        let (yaml, needs) = found.to_yaml(Secrets::Named);
        for secret in ["abc", "k3y", "sk-1"] {
            assert!(!yaml.contains(secret), "{yaml}");
        }
        for line in [
            "\"Authorization\": \"${GIT_HUB_AUTHORIZATION}\"",
            "args: [\"${HOME}/s.js\",\"--token\",\"${LOCAL_TOKEN}\"]",
            "\"OTHER_TOKEN\": \"${MY_TOKEN}\"",
            "\"X-Plain\": \"1\"",
        ] {
            assert!(yaml.contains(line), "{line} is not in {yaml}");
        }
        let variables = needs.variables.iter();
        let mut names: Vec<&str> = variables.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let expected = [
            "API_KEY",
            "GIT_HUB_AUTHORIZATION",
            "LOCAL_TOKEN",
            "MY_TOKEN",
        ];
        assert_eq!(names, expected);
        assert!(found.to_yaml(Secrets::Copied).0.contains("k3y"));
        let tried = found.to_yaml(Secrets::Tried).0;
        assert!(tried.contains("${MY_TOKEN:-}"), "{tried}");
    }

    #[test]
    fn secrets_inside_urls_are_named_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        let text = r#"{ "mcpServers": {
            "web": { "url": "http://h/s/sk-ak-12345/sk-more/mcp?api_key=sk-topsecret123&mode=read" },
            "db": { "command": "node",
                    "args": ["postgres://u:pw12@h/db", "--url=postgres://u:pw34@h/db", "https://h/?token=t0p"],
                    "env": { "GITHUB_PAT": "p4t", "DB_PASS": "p4ss", "DATABASE_URL": "postgres://u:pw56@h/db",
                             "SENTRY_DSN": "d5n", "PATH": "/bin", "COMPASS": "north",
                             "HOME_URL": "https://example.com/home" } } } }"#;
        std::fs::write(&path, text).unwrap();
        let (yaml, needs) = Found::read(&path, folder.path())
            .unwrap()
            .to_yaml(Secrets::Named);
        for secret in ["sk-", "pw", "t0p", "p4t", "p4ss", "d5n"] {
            assert!(!yaml.contains(secret), "{yaml}");
        }
        for line in [
            "url: \"http://h/s/${WEB_URL_KEY}/${WEB_URL_KEY_2}/mcp?api_key=${WEB_API_KEY}&mode=read\"",
            "args: [\"postgres://u:${DB_PASSWORD}@h/db\",\"--url=${DB_URL}\",\"https://h/?token=${DB_TOKEN}\"]",
            "\"DATABASE_URL\": \"${DATABASE_URL}\"",
            "\"PATH\": \"/bin\"",
            "\"COMPASS\": \"north\"",
            "\"HOME_URL\": \"https://example.com/home\"",
        ] {
            assert!(yaml.contains(line), "{line} is not in {yaml}");
        }
        let place = |name: &str| {
            let found = needs.variables.iter().find(|(own, _)| own == name);
            found.map(|(_, place)| place.as_str())
        };
        assert_eq!(place("WEB_API_KEY"), Some("`api_key` in the URL of `web`"));
        assert_eq!(place("GITHUB_PAT"), Some("`GITHUB_PAT` of `db`"));
    }

    #[test]
    fn names_become_fitting_and_stay_apart() {
        let mut taken = Map::new();
        for (name, ours) in [
            ("plain_1", "plain_1"),
            ("weird name!", "weird-name"),
            ("weird/name", "weird-name-2"),
            ("io.github.x/y", "io-github-x-y"),
            ("!", "backend"),
        ] {
            assert_eq!(fitting(name, &taken), ours);
            taken.insert(ours.to_owned(), Value::Null);
        }
    }
}
