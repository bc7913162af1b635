//! The shape of the workspace as tests: who may know whom, where a dependency may be named, how files look.
//! What clippy can check (functions over 70 lines, `mod.rs`, panics) is left to clippy.

mod crates;
mod files;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_path_buf()
}

/// A file of the repository: its path from the root, with `/`, and its text.
struct File {
    path: String,
    text: String,
}

/// All text files below these folders, in order. Build output and binary files are left out.
fn files_below(folders: &[&str]) -> Vec<File> {
    let root = root();
    let mut found = Vec::new();
    for folder in folders {
        collect(&root, &root.join(folder), &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no files below {folders:?}");
    found
}

fn collect(root: &Path, at: &Path, found: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(at) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "target" || name == ".git" || name == "node_modules" {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root).unwrap().to_string_lossy();
            let path = path.replace('\\', "/");
            found.push(File { path, text });
        }
    }
}

/// All Rust files of the workspace.
fn rust_files() -> Vec<File> {
    let mut files = files_below(&["crates", "xtask"]);
    files.retain(|file| {
        Path::new(&file.path)
            .extension()
            .is_some_and(|ext| ext == "rs")
    });
    files
}

/// Fails with every fault at once.
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}
