//! Collects the pages of the diagnostic codes, so that `onecall explain` needs no file at run time.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let pages = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"))
        .join("../../docs/diagnostics");
    println!("cargo::rerun-if-changed={}", pages.display());
    let mut names: Vec<_> = fs::read_dir(&pages)
        .expect("docs/diagnostics is part of the repository")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    names.sort();
    let mut code = String::from("pub(crate) const PAGES: &[(&str, &str)] = &[\n");
    for path in names {
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .expect("pages have plain names");
        let full = path.canonicalize().expect("the page exists");
        writeln!(
            code,
            "    ({stem:?}, include_str!({:?})),",
            full.display().to_string()
        )
        .expect("writing to a string");
    }
    code.push_str("];\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("pages.rs");
    fs::write(out, code).expect("the output folder is writable");
}
