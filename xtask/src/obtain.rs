//! Folders of things obtained from a registry: made once for a list of packages, made anew when the list changes.

use crate::part::{root, say};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder `.cache/NAME` with these packages, filled by `fill` where it is not there yet.
pub(crate) fn folder(
    name: &str,
    packages: &[&str],
    fill: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let folder = root().join(".cache").join(name);
    let stamp = folder.join("packages.txt");
    let wanted = packages.join("\n");
    if is_stamped(&stamp, &wanted) {
        return Ok(folder);
    }
    say(&format!(
        "obtaining {} into {}",
        packages.join(", "),
        folder.display()
    ));
    fill(&folder)?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write the stamp: {error}"))?;
    Ok(folder)
}

/// Runs a command; where it fails, its last line is the reason.
pub(crate) fn quietly(command: &mut Command, name: &str) -> Result<(), String> {
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

/// The text of a file of at most so many bytes.
pub(crate) fn read(path: &Path, bytes_max: u64) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(bytes_max)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Whether the folder was made for exactly these packages.
fn is_stamped(stamp: &Path, wanted: &str) -> bool {
    read(stamp, wanted.len() as u64 + 1).is_ok_and(|present| present == wanted)
}
