//! Words that must not stand in the repository: paths of somebody's machine, package mirrors, how it was made.

use super::{File, files_below, none, root};
use std::fs;

/// Written in pieces, so that this file does not hold them.
const WORDS: &[(&str, &str)] = &[
    ("/wo", "rk/"),
    ("/ro", "ot/"),
    ("/home/", "user"),
    ("static.crat", "es.io"),
    ("index.crat", "es.io"),
    ("registry.npm", "js.org"),
    ("pythonho", "sted.org"),
    ("artifact", "ory"),
    ("co-authored", "-by"),
    ("language ", "model wrote"),
];

fn all_files() -> Vec<File> {
    let mut files = files_below(&[
        "bench",
        "changelog.d",
        "crates",
        "docs",
        "examples",
        "fuzz",
        "tests",
        "xtask",
    ]);
    for entry in fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_file()
            && name != "Cargo.lock"
            && name != ".git"
            && let Ok(text) = fs::read_to_string(&path)
        {
            files.push(File { path: name, text });
        }
    }
    files
}

#[test]
fn the_project_speaks_of_itself_alone() {
    let words: Vec<String> = WORDS.iter().map(|(a, b)| format!("{a}{b}")).collect();
    let mut faults = Vec::new();
    for file in all_files() {
        let text = file.text.to_lowercase();
        for word in &words {
            for (at, _) in text.match_indices(word.as_str()) {
                if is_inside_a_longer_path(&text[..at], word) {
                    continue;
                }
                let line = text[..at].lines().count().max(1);
                faults.push(format!("{}:{line} holds `{word}`", file.path));
            }
        }
    }
    none(&faults);
}

/// Deeper in a path the word is a folder of something else.
fn is_inside_a_longer_path(before: &str, word: &str) -> bool {
    word.starts_with('/')
        && before
            .chars()
            .next_back()
            .is_some_and(|last| last.is_alphanumeric() || matches!(last, '.' | '_' | '-'))
}
