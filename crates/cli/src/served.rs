//! What the entry of a desktop client leads to, and whether that is the files at hand: entries of other projects are
//! left to them.

use crate::own::is_this_program;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Flags of `serve` that have no value behind them.
const BARE_FLAGS: [&str; 4] = ["--stdio", "--demo", "--ephemeral", "--allow-anonymous"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Serves {
    /// The files at hand, or others of their folder.
    These,
    /// Files of another folder, which are named.
    Others(String),
    /// Nothing that could be told apart: no files, or none that are there.
    Unknown,
}

/// What an entry that starts this program serves, held against these paths.
pub(crate) fn compare(entry: &Value, paths: &[PathBuf]) -> Serves {
    let served = paths_of(entry);
    let there: Vec<PathBuf> = served.iter().filter_map(|own| whole(own)).collect();
    let these: Vec<PathBuf> = paths.iter().filter_map(|own| whole(own)).collect();
    if there.is_empty() || these.is_empty() {
        return Serves::Unknown;
    }
    let is_same = |own: &PathBuf, other: &PathBuf| {
        // A folder holds its files, so either may lie in the other.
        own.starts_with(other) || other.starts_with(own) || folder(own) == folder(other)
    };
    if there
        .iter()
        .any(|own| these.iter().any(|other| is_same(own, other)))
    {
        return Serves::These;
    }
    Serves::Others(shown(&served))
}

/// What an entry leads to, in words that follow its name; `None` where it may be replaced: it leads to the same files
/// (`paths`) or the same server (`url`), or to nothing that is there.
pub(crate) fn of_others(entry: &Value, paths: &[PathBuf], url: Option<&str>) -> Option<String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    if let Some(command) = text("command") {
        if !is_this_program(command) {
            return Some(format!("starts `{command}`"));
        }
        let served = paths_of(entry);
        return match compare(entry, paths) {
            Serves::Others(files) => Some(format!("serves {files}")),
            Serves::Unknown if url.is_some() && served.iter().any(|own| own.exists()) => {
                Some(format!("serves {}", shown(&served)))
            }
            Serves::These | Serves::Unknown => None,
        };
    }
    let known = text("url").filter(|known| url != Some(known))?;
    Some(format!("leads to `{known}`"))
}

/// The files that an entry names, as far as they do not depend on where it is started.
pub(crate) fn paths_of(entry: &Value) -> Vec<PathBuf> {
    let words = entry.get("args").and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    let mut paths = Vec::new();
    let mut is_value = false;
    for word in words {
        let is_path = !is_value && Path::new(word).is_absolute();
        is_value = word.starts_with("--") && !word.contains('=') && !BARE_FLAGS.contains(&word);
        if is_path {
            paths.push(PathBuf::from(word));
        }
    }
    paths
}

/// Paths in a sentence.
pub(crate) fn shown(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|own| format!("`{}`", own.display()))
        .collect();
    paths.join(", ")
}

fn folder(path: &Path) -> Option<&Path> {
    if path.is_dir() {
        return Some(path);
    }
    path.parent()
}

fn whole(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn other_projects_are_told_from_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for file in ["a/onecall.yaml", "a/other.yaml", "b/onecall.yaml"] {
            std::fs::create_dir_all(path(file).parent().unwrap()).unwrap();
            std::fs::write(path(file), "").unwrap();
        }
        let entry = |words: &[&str]| {
            let paths = words.iter().map(|word| match word.strip_prefix('@') {
                Some(name) => path(name).display().to_string(),
                None => (*word).to_owned(),
            });
            let args: Vec<String> = ["serve", "--stdio"]
                .map(str::to_owned)
                .into_iter()
                .chain(paths)
                .collect();
            json!({ "command": "onecall", "args": args })
        };
        let these = [path("a/onecall.yaml")];
        let others = Serves::Others(format!("`{}`", path("b/onecall.yaml").display()));
        for (words, told) in [
            (&["@a/onecall.yaml"][..], Serves::These),
            (&["@a"], Serves::These),
            (&["@a/other.yaml"], Serves::These),
            (&["@b/onecall.yaml"], others),
            (&["@gone/onecall.yaml"], Serves::Unknown),
            (&["--store", "@b/onecall.yaml"], Serves::Unknown),
            (&["--demo"], Serves::Unknown),
        ] {
            assert_eq!(compare(&entry(words), &these), told, "{words:?}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_not_replaced() {
        let url = json!({ "url": "http://127.0.0.1:1/mcp" });
        let program = json!({ "command": "uvx", "args": ["time"] });
        let these = [PathBuf::from("/")];
        assert_eq!(of_others(&url, &[], Some("http://127.0.0.1:1/mcp")), None);
        assert!(of_others(&url, &[], Some("http://127.0.0.1:2/mcp")).is_some());
        assert!(of_others(&url, &these, None).is_some());
        assert_eq!(
            of_others(&program, &these, None),
            Some("starts `uvx`".to_owned())
        );
        assert_eq!(of_others(&json!({}), &these, None), None);
    }
}
