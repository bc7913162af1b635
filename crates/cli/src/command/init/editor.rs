//! Variables as editors write them in the entry of a server (`${env:NAME}`, `${input:id}`, `${workspaceFolder}`), in the
//! spelling of an `onecall.yaml`. What an editor alone can fill in is told, and left as it stands.

use super::secrets::{self, Variable};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Folders in which editors keep the files of a project.
const PROJECT_FOLDERS: [&str; 2] = [".vscode", ".cursor"];

/// What an editor would fill in.
#[derive(Debug)]
pub(super) struct Editor {
    /// The folder that is open, where the file belongs to one.
    pub(super) workspace: Option<PathBuf>,
    pub(super) home: Option<PathBuf>,
}

/// How an entry is rewritten.
#[derive(Clone, Copy)]
pub(super) struct Rewriting<'a> {
    pub(super) backend: &'a str,
    pub(super) editor: &'a Editor,
    /// A variable that is not set is an empty text.
    pub(super) is_lenient: bool,
    /// The environment.
    pub(super) value: &'a dyn Fn(&str) -> Option<String>,
}

/// What must be known before the rewritten entries work.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Variables to set, with what each stands for.
    pub(super) variables: Vec<Variable>,
    /// Variables that nothing stands for, each with its place and what to do.
    pub(super) unknown: Vec<String>,
}

impl Editor {
    /// `file`: the one that lists the servers.
    pub(super) fn of(file: &Path, home: Option<PathBuf>) -> Self {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let folder = file.parent().filter(|folder| {
            let name = folder.file_name();
            name.is_some_and(|name| PROJECT_FOLDERS.iter().any(|own| name == *own))
        });
        let workspace = folder.and_then(Path::parent).map(Path::to_owned);
        // At home the file is for everything that is opened, and no folder in particular.
        let workspace = workspace.filter(|folder| home.as_ref() != Some(folder));
        Self { workspace, home }
    }

    /// What only an editor knows, and is the same whenever it is asked.
    fn fixed(&self, name: &str) -> Option<String> {
        let shown = |path: &Path| path.display().to_string();
        let workspace = self.workspace.as_deref();
        match name {
            "workspaceFolder" | "workspaceRoot" => workspace.map(shown),
            "workspaceFolderBasename" => Some(shown(Path::new(workspace?.file_name()?))),
            "userHome" => self.home.as_deref().map(shown),
            "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
            _ => None,
        }
    }
}

/// Rewrites whatever is read of an entry.
pub(super) fn rewrite(entry: &mut Value, with: Rewriting<'_>, needs: &mut Needs) {
    let Some(fields) = entry.as_object_mut() else {
        return;
    };
    for (key, value) in fields {
        // The configuration reads no variable there.
        let reads_none = matches!(key.as_str(), "command" | "cwd");
        if reads_none || matches!(key.as_str(), "args" | "env" | "headers" | "url") {
            let place = Place { key, reads_none };
            below(value, place, with, needs);
        }
    }
}

#[derive(Clone, Copy)]
struct Place<'a> {
    key: &'a str,
    reads_none: bool,
}

fn below(value: &mut Value, place: Place<'_>, with: Rewriting<'_>, needs: &mut Needs) {
    match value {
        Value::String(text) => {
            if text.contains("${") {
                *text = rewritten(text, place, with, needs);
            }
        }
        Value::Array(items) => {
            for item in items {
                below(item, place, with, needs);
            }
        }
        Value::Object(entries) => {
            for (_, own) in entries {
                below(own, place, with, needs);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn rewritten(text: &str, place: Place<'_>, with: Rewriting<'_>, needs: &mut Needs) -> String {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some((inside, rest)) => {
                let _ = write!(whole, "{}{rest}", replaced(inside, place, with, needs));
            }
            None => {
                let _ = write!(whole, "${{{part}");
            }
        }
    }
    whole
}

/// What stands in the place of `${inside}`.
fn replaced(inside: &str, place: Place<'_>, with: Rewriting<'_>, needs: &mut Needs) -> String {
    if let Some(fixed) = with.editor.fixed(inside) {
        return fixed;
    }
    let (name, instead) = match inside.split_once(":-") {
        Some((name, text)) => (name, Some(text)),
        None => (inside, None),
    };
    let input = name.strip_prefix("input:");
    let variable = match input {
        Some(input) => secrets::variable(input),
        None => name.strip_prefix("env:").unwrap_or(name).to_owned(),
    };
    let Rewriting { backend, .. } = with;
    let key = place.key;
    if !is_variable(&variable) {
        needs.lacks(format!(
            "`${{{inside}}}` in `{key}` of `{backend}` is filled in by an editor alone: write its value there"
        ));
    } else if place.reads_none {
        if let Some(value) = (with.value)(&variable).or(instead.map(str::to_owned)) {
            return value;
        }
        needs.lacks(format!(
            "`${{{inside}}}` in `{key}` of `{backend}` is not set, and no variable is read there: write its value"
        ));
        return format!("${{{inside}}}");
    } else if let Some(input) = input {
        needs.wants(variable.clone(), || {
            format!("the input `{input}` of `{backend}`")
        });
    } else if instead.is_none() && (with.value)(&variable).is_none() {
        needs.wants(variable.clone(), || {
            format!("a part of `{key}` of `{backend}`")
        });
    }
    match instead {
        Some(text) => format!("${{{variable}:-{text}}}"),
        None if with.is_lenient => format!("${{{variable}:-}}"),
        None => format!("${{{variable}}}"),
    }
}

/// Whether an environment can have it.
fn is_variable(name: &str) -> bool {
    // Of an editor, and known no better here.
    const OF_EDITORS: [&str; 10] = [
        "workspaceFolder",
        "workspaceRoot",
        "workspaceFolderBasename",
        "userHome",
        "cwd",
        "file",
        "fileBasename",
        "fileDirname",
        "relativeFile",
        "execPath",
    ];
    let letter = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let begins = name.starts_with(|char: char| !char.is_ascii_digit());
    begins && name.chars().all(letter) && !OF_EDITORS.contains(&name)
}

impl Needs {
    fn lacks(&mut self, line: String) {
        if !self.unknown.contains(&line) {
            self.unknown.push(line);
        }
    }

    fn wants(&mut self, variable: String, stands_for: impl FnOnce() -> String) {
        let mut known = self.variables.iter();
        if !known.any(|(own, _)| *own == variable) {
            self.variables.push((variable, stands_for()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rewrites(mut entry: Value, file: &str) -> (Value, Needs) {
        let editor = Editor::of(Path::new(file), Some(PathBuf::from("/home/ada")));
        let with = Rewriting {
            backend: "b",
            editor: &editor,
            is_lenient: false,
            value: &|name| (name == "BIN").then(|| "/opt/bin".to_owned()),
        };
        let mut needs = Needs::default();
        rewrite(&mut entry, with, &mut needs);
        (entry, needs)
    }

    #[test]
    fn variables_of_editors_become_ours() {
        let entry = json!({
            "command": "${env:BIN}/run",
            "cwd": "${workspaceFolder}",
            "args": ["${workspaceFolder}/a.js", "${userHome}${/}b", "${env:X:-1}", "${workspaceFolderBasename}"],
            "headers": { "Authorization": "Bearer ${env:TOKEN}", "X": "Bearer ${input:my-token} ${input:1}" },
        });
        let (read, needs) = rewrites(entry, "/srv/shop/.vscode/mcp.json");
        let expected = json!({
            "command": "/opt/bin/run",
            "cwd": "/srv/shop",
            "args": ["/srv/shop/a.js", "/home/ada/b", "${X:-1}", "shop"],
            "headers": { "Authorization": "Bearer ${TOKEN}", "X": "Bearer ${MY_TOKEN} ${_1}" },
        });
        assert_eq!(read, expected);
        assert!(needs.unknown.is_empty(), "{needs:?}");
        let place = "the input `my-token` of `b`".to_owned();
        assert_eq!(needs.variables[1], ("MY_TOKEN".to_owned(), place));
        let place = "a part of `headers` of `b`".to_owned();
        assert_eq!(needs.variables[0], ("TOKEN".to_owned(), place));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let entry = json!({
            "command": "${env:GONE}/run",
            "args": ["${config:a.b}", "${config:a.b}", "${command:pick}", "${workspaceFolder:other}", "${open"],
            "env": { "W": "${workspaceFolder}" },
        });
        // For everything that this user opens.
        let (read, needs) = rewrites(entry.clone(), "/home/ada/.cursor/mcp.json");
        assert_eq!(read, entry);
        let told = needs.unknown.join("\n");
        for name in [
            "env:GONE",
            "config:a.b",
            "command:pick",
            "workspaceFolder:other",
            "workspaceFolder",
        ] {
            assert!(
                told.contains(&format!("`${{{name}}}` in `")),
                "{name}: {told}"
            );
        }
        assert_eq!(needs.unknown.len(), 5, "{told}");
    }
}
