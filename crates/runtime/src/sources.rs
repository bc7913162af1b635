//! Reading files and directories into texts. What they mean is for `config` and the dialects.

mod beside;

use crate::limits::{DEPTH_MAX, FILES_MAX};
use onecall_config::{CONFIGURATIONS, Input, references};
use onecall_source::{Diagnostic, Diagnostics, Place, SourceMap, codes, suggest};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Texts of all files, ready to be understood.
#[derive(Debug, Default)]
pub struct Collected {
    pub sources: SourceMap,
    pub inputs: Vec<Input>,
    pub diagnostics: Diagnostics,
    /// What was looked at, as it was then.
    pub stamp: Stamp,
    pub lock: Option<LockFile>,
    /// The folder of the first path, whichever way it was named.
    pub home: PathBuf,
}

/// Files and directories with what changes when they do. Taking it again is cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp(Vec<(PathBuf, Option<(SystemTime, u64)>)>);

impl Stamp {
    /// The same paths as they are now.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut fresh = Self::default();
        for (path, _) in &self.0 {
            fresh.add(path);
        }
        fresh
    }

    /// The paths that are not the same in both, or in one of them alone.
    pub fn differing(&self, other: &Self) -> Vec<PathBuf> {
        let is_in = |all: &Self, one| all.0.contains(one);
        let changed = other.0.iter().filter(|one| !is_in(self, one));
        let gone = self.0.iter().filter(|(path, _)| {
            let mut others = other.0.iter();
            others.all(|(other, _)| other != path)
        });
        changed.chain(gone).map(|(path, _)| path.clone()).collect()
    }

    /// A path to look at as well.
    pub fn add(&mut self, path: &Path) {
        let metadata = std::fs::metadata(path).ok();
        let mark = metadata.and_then(|found| Some((found.modified().ok()?, found.len())));
        self.0.push((path.to_owned(), mark));
    }
}

/// The lock file that stands beside the first path that has one.
#[derive(Clone, Debug)]
pub struct LockFile {
    pub path: PathBuf,
    pub text: String,
    /// The paths that were given, all of which it locks.
    pub locks: Vec<PathBuf>,
}

/// The name of the lock file, in the folder of what it locks.
const LOCK_NAME: &str = "onecall.lock";

#[derive(Debug, thiserror::Error)]
pub enum ReadSourcesError {
    #[error("cannot read `{path}`")]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("more than {FILES_MAX} files; name fewer paths")]
    TooMany,
}

/// Reads what the paths name. A directory gives its configuration and what that names, else what is recognised in it.
pub fn collect(paths: &[PathBuf]) -> Result<Collected, ReadSourcesError> {
    let mut reader = Reader::default();
    for path in paths {
        let read = if path.is_dir() {
            reader.given_directory(path)
        } else {
            reader.file(path, true)
        };
        // The other paths are read all the same: every fault is told at once.
        reader.or_tell(read, |path, cause| {
            Diagnostic::error(codes::UNRECOGNISED, cannot_be_read(path, cause))
                .label(Place::path(path.display().to_string(), ""), "named here")
                .help(lead(path))
        })?;
    }
    let lock = lock_path(paths);
    reader.collected.stamp.add(&lock);
    reader.collected.lock = lock_file(lock, paths)?;
    reader.collected.home = home(paths);
    Ok(reader.collected)
}

/// The configuration that a folder holds.
pub fn configuration_of(folder: &Path) -> Option<PathBuf> {
    let mut names = CONFIGURATIONS.iter().map(|name| folder.join(name));
    names.find(|path| path.is_file())
}

/// Where the lock file of these paths stands, or would stand.
pub fn lock_path(paths: &[PathBuf]) -> PathBuf {
    let places: Vec<PathBuf> = paths.iter().map(|path| beside(path)).collect();
    let existing = places.iter().find(|path| path.is_file());
    let chosen = existing.or(places.first());
    chosen.cloned().unwrap_or_else(|| PathBuf::from(LOCK_NAME))
}

fn home(paths: &[PathBuf]) -> PathBuf {
    let folder = match paths.first() {
        Some(path) if path.is_dir() => path.as_path(),
        Some(path) => path.parent().unwrap_or(Path::new("")),
        None => Path::new(""),
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

fn beside(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.join(LOCK_NAME);
    }
    path.with_file_name(LOCK_NAME)
}

fn lock_file(path: PathBuf, paths: &[PathBuf]) -> Result<Option<LockFile>, ReadSourcesError> {
    if !path.is_file() {
        return Ok(None);
    }
    let mut text = String::new();
    let limit = onecall_source::limits::SOURCE_BYTES_MAX as u64;
    let read = std::fs::File::open(&path);
    match read.and_then(|file| file.take(limit).read_to_string(&mut text)) {
        Ok(_) => Ok(Some(LockFile {
            path,
            text,
            locks: paths.to_vec(),
        })),
        Err(cause) => Err(ReadSourcesError::Read { path, cause }),
    }
}

#[derive(Default)]
struct Reader {
    collected: Collected,
    seen: BTreeSet<PathBuf>,
}

impl Reader {
    /// One that holds a configuration is a project: if that names its workflows, other files may be anybody's, and
    /// copies of what it says.
    fn given_directory(&mut self, path: &Path) -> Result<(), ReadSourcesError> {
        let Some(configuration) = configuration_of(path) else {
            return self.directory(path, 0);
        };
        self.collected.stamp.add(path);
        let read = self.collected.inputs.len();
        self.file(&configuration, true)?;
        let names_nothing = self.collected.inputs.len() == read + 1;
        if names_nothing {
            return self.directory(path, 0);
        }
        let note = beside::left_out(path, &configuration, &self.seen);
        self.collected.diagnostics.extend(note);
        Ok(())
    }

    fn directory(&mut self, path: &Path, depth: usize) -> Result<(), ReadSourcesError> {
        if depth > DEPTH_MAX {
            return Ok(());
        }
        let failed = |cause| ReadSourcesError::Read {
            path: path.to_owned(),
            cause,
        };
        self.collected.stamp.add(path);
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            entries.push(entry.map_err(failed)?.path());
            if entries.len() > FILES_MAX {
                return Err(ReadSourcesError::TooMany);
            }
        }
        entries.sort();
        for entry in entries {
            let name = entry
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if name.starts_with('.') {
                continue;
            }
            let read = if entry.is_dir() {
                self.directory(&entry, depth + 1)
            } else if is_document(&entry) {
                self.file(&entry, false)
            } else {
                Ok(())
            };
            self.or_tell(read, |path, cause| {
                Diagnostic::warning(codes::UNRECOGNISED, cannot_be_read(path, cause))
                    .label(Place::path(path.display().to_string(), ""), "found here")
                    .help("it is left out; name files instead of their directory to do without it")
            })?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, named: bool) -> Result<(), ReadSourcesError> {
        let failed = |cause| ReadSourcesError::Read {
            path: path.to_owned(),
            cause,
        };
        let whole = path.canonicalize().map_err(failed)?;
        if !self.seen.insert(whole) {
            return Ok(());
        }
        if self.seen.len() > FILES_MAX {
            return Err(ReadSourcesError::TooMany);
        }
        // One byte over the limit is enough for `source` to see that it is passed.
        let limit = onecall_source::limits::SOURCE_BYTES_MAX as u64 + 1;
        let mut bytes = Vec::new();
        self.collected.stamp.add(path);
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
        let name = path.display().to_string();
        let (source, fault) = self.collected.sources.add_bytes(name, bytes);
        self.collected.diagnostics.extend(fault);
        let input = Input { source, named };
        self.collected.inputs.push(input);
        for reference in references(&self.collected.sources, input) {
            let base = path.parent().unwrap_or(Path::new("."));
            let target = base.join(reference.as_str());
            let read = if target.is_dir() {
                self.directory(&target, 0)
            } else {
                self.file(&target, true)
            };
            self.or_tell(read, |path, cause| {
                Diagnostic::error(codes::UNRECOGNISED, cannot_be_read(path, cause))
                    .label(reference.place(), "named here")
                    .help("paths are relative to the file that names them")
            })?;
        }
        Ok(())
    }

    /// Turns what cannot be read into a diagnostic, and looks at it again whenever the others are looked at.
    fn or_tell(
        &mut self,
        read: Result<(), ReadSourcesError>,
        tell: impl FnOnce(&Path, &std::io::Error) -> Diagnostic,
    ) -> Result<(), ReadSourcesError> {
        match read {
            Err(ReadSourcesError::Read { path, cause }) => {
                self.collected.stamp.add(&path);
                self.collected.diagnostics.push(tell(&path, &cause));
                Ok(())
            }
            read => read,
        }
    }
}

fn cannot_be_read(path: &Path, cause: &std::io::Error) -> String {
    format!("`{}` cannot be read: {cause}", path.display())
}

/// What may have been meant by a path that leads to nothing.
fn lead(path: &Path) -> String {
    let word = path.display();
    if is_url_without_scheme(path) {
        return format!("a server is named by its URL, `http://{word}`");
    }
    let folder = path.parent().filter(|own| !own.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.take(FILES_MAX).map(|entry| entry.file_name());
    let names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    let name = path.file_name().and_then(|name| name.to_str());
    let near = name.and_then(|name| suggest(name, names.iter().map(String::as_str)));
    match near {
        Some(near) => format!("a file named `{near}` is there"),
        None => "give the path of a file or directory that is there".to_owned(),
    }
}

/// `localhost:4483/mcp`.
pub fn is_url_without_scheme(path: &Path) -> bool {
    let word = path.to_str().unwrap_or_default();
    let host = word.split('/').next().unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_named = extension.is_some_and(|own| matches!(own, "yaml" | "yml" | "json"));
    // Pipes and sockets are read only where they are named: nobody may ever write to them.
    is_named && std::fs::metadata(path).map_or(true, |found| found.is_file())
}
