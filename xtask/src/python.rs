//! Python packages for tests with real clients, obtained from the registry into a cache folder.

use crate::part::{root, say};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the tests with a real Python client need; pinned, so that a run today is a run tomorrow.
const PACKAGES: &[&str] = &["mcp==2.3.0"];

/// The Python of a virtual environment with the packages, or why there is none.
pub(crate) fn environment() -> Result<PathBuf, String> {
    let folder = root().join(".cache").join("python");
    let python = folder.join("bin").join("python");
    let stamp = folder.join("packages.txt");
    let wanted = PACKAGES.join("\n");
    if is_stamped(&stamp, &wanted) {
        return Ok(python);
    }
    say(&format!(
        "obtaining {} into {}",
        PACKAGES.join(", "),
        folder.display()
    ));
    quietly(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
        "python3 -m venv",
    )?;
    let mut install = Command::new(&python);
    install
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(PACKAGES);
    quietly(&mut install, "pip install")?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write the stamp: {error}"))?;
    Ok(python)
}

/// Whether the environment was made for exactly these packages.
fn is_stamped(stamp: &Path, wanted: &str) -> bool {
    let limit = wanted.len() as u64 + 1;
    let mut present = String::new();
    let read = File::open(stamp).and_then(|file| file.take(limit).read_to_string(&mut present));
    read.is_ok() && present == wanted
}

fn quietly(command: &mut Command, name: &str) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no output");
    Err(format!("{name}: {last}"))
}
