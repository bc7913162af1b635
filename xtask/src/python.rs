//! Python packages for tests with real clients and servers, obtained from the registry into a cache folder.

use crate::obtain::{folder, quietly};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests with real Python programs need; pinned, so that a run today is a run tomorrow.
const PACKAGES: &[&str] = &[
    "mcp==2.3.0",
    "mcp-server-time==2026.10.19",
    "mcp-server-git==2026.10.19",
    "mcp-server-fetch==2026.10.24",
];

/// A client that wants another version of a package above, and so an environment of its own.
const FASTMCP: &[&str] = &["fastmcp==4.1.2"];

/// The Python of a virtual environment with the packages, or why there is none. Their programs stand beside it.
pub(crate) fn environment() -> Result<PathBuf, String> {
    virtual_environment("python", PACKAGES)
}

pub(crate) fn fastmcp() -> Result<PathBuf, String> {
    virtual_environment("fastmcp", FASTMCP)
}

fn virtual_environment(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let program = |folder: &Path| folder.join("bin").join("python");
    let folder = folder(name, packages, |folder| {
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(folder);
        quietly(&mut create, "python3 -m venv")?;
        let mut install = Command::new(program(folder));
        install
            .args(["-m", "pip", "install", "--quiet"])
            .arg("--disable-pip-version-check")
            .args(packages);
        quietly(&mut install, "pip install")
    })?;
    Ok(program(&folder))
}
