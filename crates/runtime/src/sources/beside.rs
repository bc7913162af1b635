//! Files beside a configuration that it does not name: they are not read, which has to be said.

use super::is_document;
use crate::limits::{BESIDE_BYTES_MAX, BESIDE_FILES_MAX, BESIDE_SHOWN_MAX};
use onecall_config::is_recognised;
use onecall_source::{Diagnostic, Place, SourceMap, codes};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The note about files of `folder` and the folders in it that would be read without its `configuration`.
pub(super) fn left_out(
    folder: &Path,
    configuration: &Path,
    read: &BTreeSet<PathBuf>,
) -> Option<Diagnostic> {
    let mut candidates = entries(folder);
    let folders = candidates.extract_if(.., |path| path.is_dir());
    let below: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
    candidates.extend(below);
    let is_read = |path: &Path| path.canonicalize().is_ok_and(|whole| read.contains(&whole));
    let found: Vec<PathBuf> = candidates
        .into_iter()
        .filter(|path| is_document(path) && !is_read(path))
        .take(BESIDE_FILES_MAX)
        .filter(|path| is_ours(path))
        .collect();
    if found.is_empty() {
        return None;
    }
    let shown = found.iter().take(BESIDE_SHOWN_MAX).map(|path| {
        let inside = path.strip_prefix(folder).unwrap_or(path);
        format!("`{}`", inside.display())
    });
    let mut shown = shown.collect::<Vec<_>>().join(", ");
    if found.len() > BESIDE_SHOWN_MAX {
        shown = format!("{shown} and {} more", found.len() - BESIDE_SHOWN_MAX);
    }
    let (are, them) = match found.len() {
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    let name = configuration.file_name().unwrap_or_default().display();
    let message = format!("{shown} {are} not read: `{name}` beside {them} does not name {them}");
    let whole = Place::path(configuration.display().to_string(), "");
    Some(
        Diagnostic::remark(codes::UNREFERENCED, message)
            .label(whole, "read alone, with what it names")
            .help(format!(
                "name workflows under `workflows:`, or give {them} as further paths"
            )),
    )
}

/// What stands in a folder, in order, without hidden files; nothing where it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let shown = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut paths: Vec<PathBuf> = shown.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Whether a directory would give this file.
fn is_ours(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path);
    let read = opened.and_then(|file| file.take(BESIDE_BYTES_MAX + 1).read_to_end(&mut bytes));
    let is_whole = read.is_ok_and(|length| length as u64 <= BESIDE_BYTES_MAX);
    if !is_whole {
        return false;
    }
    let mut sources = SourceMap::new();
    let (source, _) = sources.add_bytes(path.display().to_string(), bytes);
    is_recognised(&sources, source)
}
