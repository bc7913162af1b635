//! Python packages for tests with real clients and servers, obtained from the registry into the cache.

use crate::obtain::{directory, quietly};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests with real Python programs need. Pinned, so that every run uses the same versions.
const PACKAGES: &[&str] = &[
    "mcp==2.3.0",
    "mcp-server-time==2026.10.19",
    "mcp-server-git==2026.10.19",
    "mcp-server-fetch==2026.10.24",
];

/// A client that needs another version of a package above, and so a separate environment.
const FASTMCP: &[&str] = &["fastmcp==4.1.2"];

/// The Python of a virtual environment with the packages, or why there is none. Their programs are next to it.
pub(crate) fn environment() -> Result<PathBuf, String> {
    virtual_environment("python", PACKAGES)
}

pub(crate) fn fastmcp() -> Result<PathBuf, String> {
    virtual_environment("fastmcp", FASTMCP)
}

fn virtual_environment(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let program = |directory: &Path| directory.join("bin").join("python");
    let directory = directory(name, packages, |directory| {
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(directory);
        quietly(&mut create, "python3 -m venv")?;
        let mut install = Command::new(program(directory));
        install
            .args(["-m", "pip", "install", "--quiet"])
            .arg("--disable-pip-version-check")
            .args(packages);
        quietly(&mut install, "pip install")
    })?;
    Ok(program(&directory))
}
