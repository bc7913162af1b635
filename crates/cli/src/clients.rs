//! Desktop clients: where each keeps its list of MCP servers, and what an entry of that list looks like.
//! Reading and changing such a file is in `client_file`.

use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Desktop
    Claude,
    ClaudeCode,
    Cursor,
    Vscode,
}

impl Client {
    pub(crate) const ALL: [Self; 4] = [Self::ClaudeCode, Self::Cursor, Self::Vscode, Self::Claude];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
        }
    }

    /// The key of the file that holds servers by name.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Claude | Self::ClaudeCode | Self::Cursor => "mcpServers",
        }
    }

    /// The file for one project, where the client has one.
    pub(crate) fn project_file(self, folder: &Path) -> Option<PathBuf> {
        match self {
            Self::Claude => None,
            Self::ClaudeCode => Some(folder.join(".mcp.json")),
            Self::Cursor => Some(folder.join(".cursor/mcp.json")),
            Self::Vscode => Some(folder.join(".vscode/mcp.json")),
        }
    }

    /// The file for everything this user opens.
    pub(crate) fn user_file(self, folders: &Folders) -> Option<PathBuf> {
        let home = folders.home.as_deref();
        let settings = folders.settings.as_deref();
        match self {
            Self::Claude => Some(settings?.join("Claude/claude_desktop_config.json")),
            Self::ClaudeCode => Some(home?.join(".claude.json")),
            Self::Cursor => Some(home?.join(".cursor/mcp.json")),
            Self::Vscode => Some(settings?.join("Code/User/mcp.json")),
        }
    }

    /// How an entry names a variable of the client's own environment; `None` where it can hold values only. Files of
    /// projects are made to be checked in, so a value must not stand in one that could name it.
    pub(crate) fn named(self, variable: &str) -> Option<String> {
        match self {
            Self::Claude => None,
            Self::ClaudeCode => Some(format!("${{{variable}}}")),
            Self::Cursor | Self::Vscode => Some(format!("${{env:{variable}}}")),
        }
    }

    /// An entry that starts this program as a child of the client. `env`: what the child is given, as a client starts
    /// without what a shell sets.
    pub(crate) fn stdio_entry(self, command: &Path, args: &[String], env: &[Variable]) -> Value {
        let mut entry = json!({ "command": command.display().to_string(), "args": args });
        for Variable { name, value } in env {
            let value = || value.clone().unwrap_or_default();
            entry["env"][name] = Value::from(self.named(name).unwrap_or_else(value));
        }
        if self == Self::Vscode {
            entry["type"] = Value::from("stdio");
        }
        entry
    }

    /// An entry that reaches a server which runs already; `None` where the client starts servers itself only.
    /// `token`: the variable that holds what the server is shown, which the client reads itself.
    pub(crate) fn url_entry(self, url: &str, token: Option<&str>) -> Option<Value> {
        let mut entry = match self {
            Self::Claude => return None,
            Self::ClaudeCode | Self::Vscode => json!({ "type": "http", "url": url }),
            Self::Cursor => json!({ "url": url }),
        };
        if let Some(named) = token.and_then(|variable| self.named(variable)) {
            entry["headers"] = json!({ "Authorization": format!("Bearer {named}") });
        }
        Some(entry)
    }
}

/// A variable that the files name, and its value where it is set.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

/// The folders of the user that clients keep their files in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folders {
    pub(crate) home: Option<PathBuf>,
    /// Where programs of this operating system keep settings.
    pub(crate) settings: Option<PathBuf>,
}

impl Folders {
    pub(crate) fn of_this_user() -> Self {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let home = variable("HOME").or_else(|| variable("USERPROFILE"));
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let settings = match std::env::consts::OS {
            "macos" => below_home("Library/Application Support"),
            "windows" => variable("APPDATA"),
            _ => variable("XDG_CONFIG_HOME")
                .filter(|folder| folder.is_absolute())
                .or_else(|| below_home(".config")),
        };
        Self { home, settings }
    }
}

/// Every file of a client that exists: those of the project first.
pub(crate) fn existing(project: &Path, folders: &Folders) -> Vec<(Client, PathBuf)> {
    let of_project = Client::ALL.map(|client| (client, client.project_file(project)));
    let of_user = Client::ALL.map(|client| (client, client.user_file(folders)));
    let mut found: Vec<(Client, PathBuf)> = Vec::new();
    for (client, path) in of_project.into_iter().chain(of_user) {
        let path = path.filter(|path| path.is_file());
        // The project may be the home folder, where both files are one.
        let path = path.filter(|path| found.iter().all(|(_, known)| known != path));
        found.extend(path.map(|path| (client, path)));
    }
    found
}
