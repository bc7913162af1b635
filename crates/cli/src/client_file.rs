//! The file in which a desktop client lists MCP servers: JSON with comments, changed in place.
//! What the user wrote around the one entry, comments and layout included, stays as it was.

use crate::input::read_text;
use crate::limits::CLIENT_FILE_BYTES_MAX;
use anyhow::{Context, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions, Permissions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The byte order mark.
const MARK: char = '\u{feff}';

#[derive(Debug)]
pub(crate) struct ClientFile {
    path: PathBuf,
    text: String,
    root: CstRootNode,
}

/// What setting an entry came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    Added,
    Replaced,
}

/// Who may read a file that was not there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Whoever may read what this user makes.
    Usual,
    /// This user alone: a value stands in it.
    User,
}

impl ClientFile {
    /// Reads the file; one that does not exist is an empty one.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let text = if path.exists() {
            read_text(path, CLIENT_FILE_BYTES_MAX)?
        } else {
            String::new()
        };
        // Editors of Windows begin a file with a mark, which is kept and is no part of the JSON.
        let json = text.strip_prefix(MARK).unwrap_or(&text);
        let root = CstRootNode::parse(json, &ParseOptions::default())
            .with_context(|| format!("`{}` is not JSON", path.display()))?;
        if root.value().is_some() && root.object_value().is_none() {
            bail!("`{}` does not hold a JSON object", path.display());
        }
        let path = path.to_owned();
        Ok(Self { path, text, root })
    }

    /// The servers it lists, by name.
    pub(crate) fn servers(&self, key: &str) -> Map<String, Value> {
        let value = self
            .root
            .object_value()
            .and_then(|root| root.get(key))
            .and_then(|servers| servers.to_serde_value());
        match value {
            Some(Value::Object(servers)) => servers,
            _ => Map::new(),
        }
    }

    /// The servers that it lists for one folder alone, as Claude Code keeps them.
    pub(crate) fn servers_of_project(&self, folder: &Path) -> Map<String, Value> {
        let projects = self
            .root
            .object_value()
            .and_then(|root| root.get("projects"))
            .and_then(|projects| projects.to_serde_value());
        let folder = folder.display().to_string();
        let own = projects.and_then(|projects| {
            let own = projects.get(&folder)?.get("mcpServers")?;
            own.as_object().cloned()
        });
        own.unwrap_or_default()
    }

    /// Puts an entry under this name.
    pub(crate) fn set(&self, key: &str, name: &str, entry: &Value) -> anyhow::Result<Change> {
        let known = self.servers(key);
        if known.get(name) == Some(entry) {
            return Ok(Change::None);
        }
        let root = self.root.object_value_or_set();
        let Some(servers) = root.object_value_or_create(key) else {
            bail!("`{key}` in `{}` is not an object", self.path.display());
        };
        put(&servers, name, input(entry));
        Ok(if known.contains_key(name) {
            Change::Replaced
        } else {
            Change::Added
        })
    }

    /// The file as it would be written.
    pub(crate) fn to_text(&self) -> String {
        let mark = if self.text.starts_with(MARK) {
            MARK.to_string()
        } else {
            String::new()
        };
        let mut text = mark + &self.root.to_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// Writes the file whole, after keeping what was there. Returns where that is kept.
    pub(crate) fn write(&self, stamp: &str, readers: Readers) -> anyhow::Result<Option<PathBuf>> {
        // Where the file is a link, what it leads to is changed, and the link stays.
        let target = self.path.canonicalize();
        let target = target.unwrap_or_else(|_| self.path.clone());
        let shown = self.path.display();
        let folder = target
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        }
        let beside = |ending: &str| {
            let mut name = target.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        // Such files hold keys: neither the new one nor the backup may be readable by more people, at no time.
        let known = std::fs::metadata(&self.path).ok();
        let permissions = known.map(|known| known.permissions());
        let backup = permissions
            .is_some()
            .then(|| beside(&format!(".{stamp}.bak")));
        if let Some(backup) = &backup {
            make(backup, &self.text, readers, permissions.as_ref())
                .with_context(|| format!("cannot keep `{shown}` as `{}`", backup.display()))?;
        }
        let fresh = beside(".new");
        make(&fresh, &self.to_text(), readers, permissions.as_ref())
            .with_context(|| format!("cannot write `{}`", fresh.display()))?;
        std::fs::rename(&fresh, &target).with_context(|| format!("cannot write `{shown}`"))?;
        Ok(backup)
    }
}

/// Makes a file anew, and settles who may read it before anything stands in it. `permissions`: as another has them.
fn make(
    path: &Path,
    text: &str,
    readers: Readers,
    permissions: Option<&Permissions>,
) -> std::io::Result<()> {
    // One that an earlier attempt left may be open to others.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Err(_) | Ok(()) => {}
    }
    let is_private = readers == Readers::User || permissions.is_some();
    let mut file = open_new(path, is_private)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions.clone())?;
    }
    file.write_all(text.as_bytes())
}

#[cfg(unix)]
fn open_new(path: &Path, is_private: bool) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mode = if is_private { 0o600 } else { 0o666 };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn open_new(path: &Path, _: bool) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn put(servers: &CstObject, name: &str, entry: CstInputValue) {
    match servers.get(name) {
        Some(known) => known.set_value(entry),
        None => {
            servers.append(name, entry);
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(entries) => CstInputValue::Object(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), input(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const WRITTEN: &str = "{\n  // mine\n  \"mcpServers\": {\n    \"time\": { \"command\": \"uvx\" }, // clock\n  },\n  \"theme\": \"dark\"\n}\n";

    #[test]
    fn an_entry_is_added_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        std::fs::write(&path, WRITTEN).unwrap();
        let file = ClientFile::open(&path).unwrap();
        let entry = json!({ "command": "onecall", "args": ["serve"] });
        assert_eq!(
            file.set("mcpServers", "onecall", &entry).unwrap(),
            Change::Added
        );
        let backup = file.write("then", Readers::Usual).unwrap().unwrap();
        assert_eq!(ClientFile::open(&backup).unwrap().text, WRITTEN);

        let again = ClientFile::open(&path).unwrap();
        assert_eq!(again.servers("mcpServers")["onecall"], entry);
        assert_eq!(again.servers("mcpServers")["time"]["command"], "uvx");
        for kept in ["// mine", "// clock", "\"theme\": \"dark\""] {
            assert!(again.text.contains(kept), "{}", again.text);
        }
        assert_eq!(
            again.set("mcpServers", "onecall", &entry).unwrap(),
            Change::None
        );
        let other = json!({ "url": "http://127.0.0.1:4483/mcp" });
        assert_eq!(
            again.set("mcpServers", "onecall", &other).unwrap(),
            Change::Replaced
        );
    }

    #[test]
    fn a_mark_at_the_beginning_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        std::fs::write(&path, format!("{MARK}{WRITTEN}")).unwrap();
        let file = ClientFile::open(&path).unwrap();
        file.set("mcpServers", "onecall", &json!({})).unwrap();
        file.write("then", Readers::Usual).unwrap();
        let text = ClientFile::open(&path).unwrap().text;
        assert!(text.starts_with(MARK) && text.contains("onecall"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (
            folder.path().join("real.json"),
            folder.path().join("mcp.json"),
        );
        std::fs::write(&real, WRITTEN).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let file = ClientFile::open(&link).unwrap();
        file.set("mcpServers", "onecall", &json!({})).unwrap();
        file.write("then", Readers::Usual).unwrap();
        assert!(link.is_symlink());
        let text = ClientFile::open(&real).unwrap().text;
        assert!(text.contains("onecall"), "{text}");
    }

    #[test]
    fn a_file_that_is_not_there_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/mcp.json");
        let file = ClientFile::open(&path).unwrap();
        file.set("servers", "onecall", &json!({ "type": "stdio" }))
            .unwrap();
        assert_eq!(file.write("then", Readers::Usual).unwrap(), None);
        let made = ClientFile::open(&path).unwrap().servers("servers");
        assert_eq!(made["onecall"], json!({ "type": "stdio" }));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_may_read_more_than_before() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let written = |name: &str, readers: Readers| {
            let path = folder.path().join(name);
            let file = ClientFile::open(&path).unwrap();
            file.set("mcpServers", "onecall", &json!({})).unwrap();
            (file.write("then", readers).unwrap(), path)
        };
        assert_eq!(mode(&written("private.json", Readers::User).1), 0o600);
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        assert_eq!(mode(&written("usual.json", Readers::Usual).1), mode(&plain));

        let kept = folder.path().join("kept.json");
        std::fs::write(&kept, WRITTEN).unwrap();
        std::fs::set_permissions(&kept, Permissions::from_mode(0o640)).unwrap();
        // What an earlier attempt left, for all to read.
        std::fs::write(folder.path().join("kept.json.new"), "old").unwrap();
        let (backup, path) = written("kept.json", Readers::User);
        assert_eq!((mode(&path), mode(&backup.unwrap())), (0o640, 0o640));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        for broken in ["[1]", "{", "{\"mcpServers\": }"] {
            std::fs::write(&path, broken).unwrap();
            assert!(ClientFile::open(&path).is_err(), "{broken}");
        }
        std::fs::write(&path, "{\"mcpServers\": 3}").unwrap();
        let file = ClientFile::open(&path).unwrap();
        assert!(file.set("mcpServers", "a", &json!({})).is_err());
    }
}
